// A host with its own caf::actor_system. One of its actors handles the jobs of type send_email, another
// enqueues them by message and is told how each ended; Sluice's supervisors live in the same system.
//
//   embed [STORE]          sqlite:embed.db unless said
#include <cstdio>
#include <string>

#include <caf/all.hpp>

#include <sluice/actors.hpp>
#include <sluice/json.hpp>

// What a job carries and what the mailer is sent: one struct, a JSON document in the store and a message here.
struct send_email {
  std::string to;
  std::string subject;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(send_email, to, subject)
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, send_email& m) {
  return f(caf::meta::type_name("send_email"), m.to, m.subject);
}

namespace {

using namespace std::chrono_literals;

struct host_settings : caf::actor_system_config {
  host_settings() {
    // What docs/embedding.md advises, and why.
    set("scheduler.policy", caf::atom("sharing"));
    set("scheduler.max-throughput", std::size_t{100});
  }
};

// The handler: an ordinary actor with state of its own. An error is a failed run, which is tried again.
struct mailer_state {
  static inline const char* name = "mailer";
  int sent = 0;
  bool connected = false;
};
caf::behavior mailer(caf::stateful_actor<mailer_state>* self) {
  return {[self](const send_email& m) -> caf::result<std::string> {
    auto& s = self->state;
    if (!std::exchange(s.connected, true)) return sluice::to_caf({sluice::errc::io_error, "the relay was asleep"});
    return "mail " + std::to_string(++s.sent) + " to " + m.to + ": " + m.subject;
  }};
}

// The producer: enqueues by message, and ends when it was told of the last outcome.
struct shop_state {
  static inline const char* name = "shop";
  int open = 0;
};
caf::behavior shop(caf::stateful_actor<shop_state>* self, const sluice::server_actor& jobs) {
  for (const auto* customer : {"ada@example.org", "grace@example.org", "edsger@example.org"}) {
    ++self->state.open;
    auto job = sluice::make_job("send_email", send_email{customer, "your order"});
    job.headers["order"] = std::to_string(1000 + self->state.open);
    self->request(jobs, caf::infinite, sluice::enqueue_atom::value, std::move(job), caf::actor(self))
        .then([](const sluice::job_id&) {},
              [self](caf::error& e) {
                std::printf("not stored: %s\n", sluice::to_string(sluice::error_of(e)).c_str());
                self->quit();
              });
  }
  return {[self](const sluice::job_ended& end) {
    std::printf("order %s: %s after run %u: %s\n", end.about.headers.at("order").c_str(),
                std::string(name_of(end.about.state)).c_str(), end.about.attempt, end.about.result.c_str());
    if (--self->state.open == 0) self->quit();
  }};
}

}  // namespace

int main(int argc, char** argv) {
  host_settings settings;
  caf::actor_system system(settings);
  const auto post = system.spawn(mailer);

  sluice::server_options options;
  if (argc > 1 && std::string_view(argv[1]) == "--help")
    return std::puts("usage: embed [STORE, as sqlite:embed.db]"), 0;
  options.storage = argc > 1 ? argv[1] : "sqlite:embed.db";
  options.queues["default"].workers = 2;  // so many mails at a time, whoever sends them
  options.jobs["send_email"].retry.delay = 100ms;

  sluice::handler_registry handlers;
  sluice::handle_by_actor<send_email>(handlers, "send_email", post);
  auto server = sluice::spawn_server(system, options, handlers);
  if (!server) return std::fprintf(stderr, "embed: %s\n", sluice::to_string(server.error()).c_str()), 1;

  caf::scoped_actor self(system);
  self->wait_for(system.spawn(shop, server->handle()));
  server->stop();  // before the system ends; running jobs get the grace time
  caf::anon_send_exit(post, caf::exit_reason::user_shutdown);
  return 0;
}
