// flow_host STORE: a host whose own actors do by message all that jobs may have to do with others and with time, and
// whose desk, an actor, handles the jobs. It ends with 0 when each answer was right and each job that can end has. All
// has ids, so that a second life does the same again and goes on where the first was killed: jobs of type `holds` end
// only when a run of theirs was lost. tests/system/flow_messages_test.cpp knows how each job has to end.
#include <cstdio>
#include <set>
#include <stdexcept>

#include <sluice/actors.hpp>
#include <sluice/job_graph.hpp>

namespace {

using namespace sluice;
using namespace std::chrono_literals;

new_job job_of(const std::string& type, const std::string& id) {
  new_job made;
  made.type = job_type(type);
  made.id = job_id(id);
  return made;
}

struct desk_state {
  std::set<job_id> has_failed;
  std::vector<caf::response_promise> held;
};
caf::behavior desk(caf::stateful_actor<desk_state>* self) {
  return {[self](const run_job& run) {
    auto& s = self->state;
    auto answer = self->make_response_promise();
    const auto& type = run.about().type.value;
    if (type == "holds" && run.about().losses == 0) s.held.push_back(answer);
    else if (type == "fails") answer.deliver(outcome::failed("as ever"));
    else if (type == "flaky" && s.has_failed.insert(run.id()).second) answer.deliver(outcome::failed("the first time"));
    else if (type == "carries") answer.deliver(outcome::succeeded().then(job_of("works", "carried")));
    else answer.deliver(outcome::succeeded());
    return answer;
  }};
}

void must(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

// An actor that asks the server, one thing after the other.
class planner {
public:
  planner(caf::actor_system& system, server_actor server) : self_(system), server_(std::move(server)) {}

  void run() {
    parents();
    group();
    cancelled_group();
    unique_keys();
    cancels();
    times();
    all_or_none();
    wait_for_ends();
  }

private:
  template <class Answer, class... Words>
  result<Answer> ask(Words... words) {
    result<Answer> came = error{errc::timed_out, "no answer"};
    self_->request(server_, 20s, std::move(words)...)
        .receive([&](const Answer& answer) { came = answer; }, [&](caf::error& e) { came = error_of(e); });
    return came;
  }

  void enqueue(new_job job) {
    const auto id = job.id;
    const auto came = ask<job_id>(enqueue_atom::value, std::move(job));
    must(came.ok(), came ? "" : to_string(came.error()));
    must(*came == id, id.value + " is " + came->value);
    all_.insert(id);
  }
  void enqueue_after(const std::string& id, run_after after) {
    auto job = job_of("works", id);
    job.after = std::move(after);
    enqueue(std::move(job));
  }
  void enqueue_member(const std::string& type, const std::string& id, const std::string& group, duration delay = 0s) {
    auto job = job_of(type, id);
    job.group = group_name(group);
    job.delay = delay;
    enqueue(std::move(job));
  }
  void cancel(const job_id& id) {
    const auto came = ask<job_id>(cancel_atom::value, id);
    must(came && *came == id, id.value + " was not cancelled");
  }
  group_status look(const std::string& group) {
    return ask<group_status>(group_atom::value, group_name(group)).value();
  }

  // By another actor's answer, which comes in its time.
  template <class True>
  void wait_until(const std::string& what, const True& true_now) {
    for (const auto end = std::chrono::steady_clock::now() + 60s; !true_now();) {
      must(std::chrono::steady_clock::now() < end, "in vain waited until " + what);
      self_->receive(caf::after(20ms) >> [] {});
    }
  }

  void parents() {
    enqueue(job_of("works", "works"));
    enqueue(job_of("holds", "holds"));
    enqueue(job_of("carries", "carries"));
    all_.insert("carried"_id);
    all_.insert("fails"_id);
    const auto failing = ask<job_id>(enqueue_atom::value, job_of("fails", "fails"), caf::actor(self_));
    must(failing && *failing == "fails"_id, "fails is not stored");
    enqueue_after("if-failed", {.parents = {"fails"_id}, .on = parent_end::failed});
    enqueue_after("if-succeeded", {.parents = {"fails"_id}});
    enqueue_after("run-anyway", {.parents = {"fails"_id}, .unless = when_unmet::run});
    enqueue_after("kept", {.parents = {"fails"_id}, .unless = when_unmet::keep});
    enqueue_after("two-of-three", {.parents = {"works"_id, "fails"_id, "holds"_id}, .need = 2});
    enqueue_after("if-missing", {.parents = {"nobody"_id}, .missing = when_missing::met});
    auto lost = job_of("works", "refused");
    lost.after.parents = {"nobody"_id};
    must(ask<job_id>(enqueue_atom::value, lost).error().code == errc::not_found, "a job without its parent was stored");
    // The observer is told of an end; kept waits for ever then, until it is cancelled.
    self_->receive([](const job_ended& end) { must(end.about.id == "fails"_id, "the end of another was told"); },
                   caf::after(60s) >> [] { must(false, "the end of fails was not told"); });
    const auto kept = ask<job>(find_atom::value, "kept"_id).value().state;
    must(kept == job_state::awaiting || kept == job_state::deleted, "kept was not kept");
    cancel("kept"_id);
  }

  void group() {
    must(ask<group_status>(group_atom::value, new_group{.name = "pages"}).ok(), "pages was not made");
    enqueue_after("told-of-pages", {.on = parent_end::finished, .groups = {"pages"}});
    enqueue_member("works", "page-1", "pages");
    enqueue_member("flaky", "page-2", "pages");
    enqueue_member("holds", "page-3", "pages");
    must(ask<group_status>(seal_group_atom::value, group_name("pages")).value().sealed, "pages is not sealed");
    const auto late = ask<job_id>(enqueue_atom::value, new_job{.type = "works", .id = "page-4", .group = "pages"});
    must(late.error().code == errc::group_closed, "a sealed group took a job");
    wait_until("a page has failed, or did once", [&] {
      const auto pages = look("pages");
      return pages.failed == 1 || pages.succeeded >= 2;
    });
    const auto failed = look("pages").failed;
    must(ask<std::uint64_t>(requeue_failed_atom::value, group_name("pages")).value() == failed,
         "not all were requeued");
  }

  void cancelled_group() {
    must(ask<group_status>(group_atom::value, new_group{.name = "doomed"}).ok(), "doomed was not made");
    enqueue_after("told-of-doomed", {.on = parent_end::deleted, .groups = {"doomed"}});
    all_.insert({"doomed-1"_id, "doomed-2"_id});
    if (look("doomed").cancelled) return;  // in an earlier life
    enqueue_member("holds", "doomed-1", "doomed");
    enqueue_member("works", "doomed-2", "doomed", 1h);
    wait_until_begun("doomed-1");
    must(ask<group_status>(seal_group_atom::value, group_name("doomed")).ok(), "doomed was not sealed");
    must(ask<group_status>(cancel_group_atom::value, group_name("doomed")).value().cancelled, "it was not cancelled");
  }

  void wait_until_begun(const std::string& id) {
    wait_until(id + " has begun",
               [&] { return ask<job>(find_atom::value, job_id(id)).value().state >= job_state::processing; });
  }

  result<enqueue_report> mail(const std::string& id, when_taken then, duration delay = 1h) {
    auto job = job_of("works", id);
    job.delay = delay;
    job.unique = unique_rule{.then = then};
    return ask<enqueue_report>(enqueue_reporting_atom::value, std::move(job));
  }

  // Who has the key was stored in an earlier life, or is now.
  void unique_keys() {
    const auto first = mail("mail", when_taken::skip).value();
    must(first.id == "mail"_id, "mail is another");
    const auto twin = mail("mail-twin", when_taken::skip).value();
    must(twin.what == enqueue_result::duplicate, "a twin was stored");
    must(mail("mail-later", when_taken::extend, 2h).value().what == enqueue_result::extended, "mail was not extended");
    must(mail("mail-refused", when_taken::refuse).error().code == errc::unique_conflict, "a twin was not refused");
    const auto other = mail("mail-instead", when_taken::replace).value();
    must(other.what == enqueue_result::same || other.replaced == "mail"_id, "mail was not replaced");
    all_.insert("mail"_id);
  }

  void cancels() {
    const std::vector<job_id> some{"late-1"_id, "late-2"_id, "late-3"_id};
    for (const auto& id : some) {
      auto job = job_of("works", id.value);
      job.delay = 1h;
      enqueue(std::move(job));
    }
    for (const auto& id : some)  // all are asked before any is answered
      self_->send(server_, cancel_atom::value, id);
    std::set<job_id> open(some.begin(), some.end());
    self_->receive_while([&] { return !open.empty(); })(
        [&](const job_id& id) { must(open.erase(id) == 1, id.value + " was not to be cancelled"); },
        [](const caf::error& e) { must(false, to_string(error_of(e))); },
        caf::after(20s) >> [] { must(false, "late jobs were not cancelled"); });
    must(ask<job_id>(cancel_atom::value, "fails"_id).error().code == errc::illegal_transition, "an end was cancelled");
    enqueue(job_of("holds", "asked-to-stop"));
    wait_until_begun("asked-to-stop");
    cancel("asked-to-stop"_id);
  }

  void times() {
    auto late = job_of("nobody_handles_it", "not-begun");
    late.start_within = 100ms;
    enqueue(std::move(late));
    auto slow = job_of("holds", "not-over");
    slow.finish_within = 500ms;
    enqueue(std::move(slow));
  }

  void all_or_none() {
    job_graph good;
    const auto fetch = good.add(job_of("works", "fetch"));
    const auto parse = good.add(job_of("works", "parse"), {fetch});
    const auto publish = good.add(job_of("works", "publish"), {parse, "holds"_id});
    const std::vector<job_id> ids{fetch, parse, publish};
    must(ask<std::vector<job_id>>(enqueue_all_atom::value, good.jobs()).value() == ids, "the graph has other ids");
    all_.insert(ids.begin(), ids.end());
    job_graph bad;
    bad.add(job_of("works", "bad-1"));
    bad.add(job_of("works", "bad-2"), {"nobody"_id});
    const auto refused = ask<std::vector<job_id>>(enqueue_all_atom::value, bad.jobs());
    must(refused.error().code == errc::not_found, "half a graph was taken");
    must(refused.error().message.starts_with("job bad-2 was not stored"), refused.error().message);
  }

  void wait_for_ends() {
    for (const auto& id : all_)
      caf::anon_send(server_, watch_atom::value, id, caf::actor(self_));
    self_->receive_while([&] { return !all_.empty(); })(
        [&](const job_ended& end) {
          must(end.known, end.about.id.value + " is not there");
          all_.erase(end.about.id);
        },
        caf::after(100s) >> [&] { must(false, all_.begin()->value + " does not end"); });
  }

  caf::scoped_actor self_;
  const server_actor server_;
  std::set<job_id> all_;  // that can end
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "flow_host STORE\n"), 2;
  caf::actor_system_config settings;
  caf::actor_system system(settings);
  const auto handler = system.spawn(desk);

  server_options options;
  options.storage = argv[1];
  options.lease = 2s;
  options.sweep_interval = 500ms;
  options.retry.attempts = 0;
  options.queues["default"].workers = 8;
  handler_registry handlers;
  for (const auto* type : {"works", "holds", "fails", "flaky", "carries"})
    handle_by_actor(handlers, type, handler);
  auto server = spawn_server(system, options, handlers);
  if (!server) return std::fprintf(stderr, "flow_host: %s\n", to_string(server.error()).c_str()), 1;
  int code = 0;
  try {
    planner(system, server->handle()).run();
  } catch (const std::exception& e) {
    code = 1;
    std::fprintf(stderr, "flow_host: %s\n", e.what());
  }
  server->stop();
  caf::anon_send_exit(handler, caf::exit_reason::user_shutdown);
  return code;
}
