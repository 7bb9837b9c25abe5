// A server as it runs in production: options from a file, filters, a dashboard, and an end in order. It ends too when
// its store is lost; the exit code is 1 then, so that a supervisor starts it again.
//
//   service CONFIG
#include <cstdio>
#include <optional>

#include <sluice/dashboard.hpp>
#include <sluice/sluice.hpp>

namespace {

struct invoice {
  std::string order;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(invoice, order)

// Every job says for which tenant it is; those of schedules need not.
class needs_tenant final : public sluice::filter {
public:
  sluice::result<void> on_enqueue(sluice::new_job& job) override {
    if (job.headers.contains("tenant") || job.headers.contains("recurring")) return {};
    return sluice::error{sluice::errc::refused, "a job needs the header 'tenant'"};
  }
};

// A line for each run, however it ended.
class log_runs final : public sluice::filter {
public:
  sluice::outcome around(sluice::job_context& job,
                         const std::function<sluice::outcome(sluice::job_context&)>& next) override {
    auto how = next(job);
    std::printf("job %s: %s\n", job.id().value.c_str(), std::string(name_of(how.what)).c_str());
    return how;
  }
};

// A customer who is gone stays so: such a run is not tried again.
class gone_customers_are_final final : public sluice::filter {
public:
  void elect(sluice::election& e) override {
    const bool is_gone = e.chosen.text.starts_with("no such customer");
    if (e.chosen.what == sluice::run_end::failed && is_gone) e.chosen.what = sluice::run_end::given_up;
  }
};

// Tells somebody of each job that has failed for good.
class tell_of_failures final : public sluice::filter {
public:
  void applied(const sluice::job& about, const sluice::outcome& stored) override {
    if (stored.what == sluice::run_end::given_up || stored.what == sluice::run_end::failed)
      std::fprintf(stderr, "job %s has failed: %s\n", about.id.value.c_str(), stored.text.c_str());
  }
};

int cannot(const sluice::error& why) { return std::fprintf(stderr, "%s\n", sluice::to_string(why).c_str()), 1; }

}  // namespace

int main(int argc, char** argv) {
  sluice::catch_stop_signals();  // before anything else, so that none is missed
  if (argc > 1 && std::string_view(argv[1]) == "--help") return std::puts("usage: service [FILE, as service.json]"), 0;
  const auto options = sluice::load_options(argc > 1 ? argv[1] : "service.json");
  if (!options) return cannot(options.error());

  const sluice::filter_list filters{
      {std::make_shared<needs_tenant>(), 0},
      {std::make_shared<log_runs>(), 0},
      {std::make_shared<gone_customers_are_final>(), 10, sluice::job_type("invoice")},
      {std::make_shared<tell_of_failures>(), 30},
  };
  sluice::server server(*options, {}, filters);  // its schedules pass `on_enqueue` too
  server.handle<invoice>("invoice", [](const invoice& args) { return "sent for " + args.order; });
  if (const auto up = server.start(); !up) return cannot(up.error());

  auto store = sluice::client_of(*options);
  store.filters = filters;  // what the dashboard enqueues
  const auto is_ready = [] { return !sluice::wait_for_stop_signal(sluice::duration::zero()); };
  std::optional<sluice::dashboard> page;  // listens where the configuration says so
  if (options->dashboard) {
    auto started = sluice::dashboard::start(store, *options->dashboard, is_ready);
    if (!started) return cannot(started.error());
    page.emplace(std::move(*started));
  }

  return sluice::run(server);  // until it is told to stop, or its store is lost
}
