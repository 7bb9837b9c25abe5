#include "core/unresolved.hpp"

#include "core/queues.hpp"
#include "support/catch.hpp"

namespace sluice::test {

TEST_CASE("what a server's options say of types without effect is told") {
  server_options options;
  options.queues = {{"fast", {}}, {"tenant-*", {}}};
  const std::set<std::string, std::less<>> types{"thumbnail", "mail"};
  CHECK(doubts_of(options, types).empty());

  options.jobs["thumbnail"].queue = queue_name("tenant-a");
  options.jobs["mail"].timeout = std::chrono::seconds(3);
  CHECK(doubts_of(options, types).empty());

  options.jobs["thumbnial"].timeout = std::chrono::seconds(3);
  options.jobs["mail"].queue = queue_name("fastt");
  options.jobs["invoice"].timeout = std::chrono::seconds(3);
  options.jobs["reminder"].timeout = std::chrono::seconds(3);
  CHECK(doubts_of(options, types) ==
        std::vector<std::string>{
            "jobs.mail.queue is fastt, which this server does not serve: its jobs wait until another does; did you "
            "mean 'fast'?",
            "jobs.thumbnial is of a type that this server has no handler of; did you mean 'thumbnail'?",
            "jobs.invoice and jobs.reminder are of types that this server has no handler of: their timeouts, retries "
            "and throttlers count where one has"});
}

TEST_CASE("settings that leave others nothing to do are told") {
  using namespace std::chrono_literals;
  server_options options;
  options.queues["default"].finish_within = 5min;
  options.queues["default"].timeout = 1h;
  options.queues["default"].start_within = 10min;
  options.retry = {.attempts = 0, .delay = 10s};
  std::string all;
  const auto tell = [&] {
    all.clear();
    for (const auto& doubt : doubts_of(options, {"mail", "page", "fine"}))
      all += doubt.substr(0, doubt.find_first_of(":;,")) + "\n";
  };
  tell();
  CHECK(all ==
        "retry.attempts is 0\n"
        "queues.default.start_within has no effect\n"
        "queues.default.timeout has no effect\n");

  auto& mail = options.jobs["mail"];
  mail.retry = {.backoff = backoff::polynomial, .delay = 1min, .max_delay = 10s, .jitter = 0.5};
  mail.throttle_delay = 5min;
  options.jobs["page"].strict = true;
  options.jobs["fine"].retry = {.backoff = backoff::exponential, .delay = 1s, .max_delay = 10s, .jitter = 0.5};
  options.jobs["fine"].throttle = {"mutex:a"};
  options.jobs["fine"].strict = true;
  tell();  // what `mail` and `fine` leave out is that of all
  CHECK(all ==
        "queues.default.start_within has no effect\n"
        "queues.default.timeout has no effect\n"
        "jobs.mail.retry.delay has no effect beside the backoff polynomial\n"
        "jobs.mail.retry.jitter has no effect\n"
        "jobs.mail.retry.delay has no effect\n"
        "jobs.mail.throttle_delay has no effect without \"when_throttled\"\n"
        "jobs.page.strict has no effect\n");

  options.jobs["page"] = {.throttle = {"fixed_window:hourly"}, .strict = true};
  CHECK(doubts_of(options, {"mail", "page", "fine"}).back() ==
        "jobs.page.strict has no effect: only permits of a mutex or a semaphore stay with a job");
  options.jobs["page"].without_overlap = "";
  CHECK(doubts_of(options, {"mail", "page", "fine"}).back().find("page") == std::string::npos);
}

TEST_CASE("what is said of exec jobs is told where a server has no handler of them") {
  server_options options;
  options.exec.key_file = "exec.key";  // with which schedules are signed
  CHECK(doubts_of(options, {"noop"}).empty());
  options.exec.folder = "/tmp";
  const std::string why =
      " has no effect: this server has no handler of exec; `sluice work` has its handler where allow_exec is true";
  CHECK(doubts_of(options, {"noop"}) == std::vector<std::string>{"exec" + why});
  options.allow_exec = true;
  CHECK(doubts_of(options, {"noop"}) == std::vector<std::string>{"allow_exec" + why});
  CHECK(doubts_of(options, {"noop", "exec"}).empty());

  options.jobs["exec"].timeout = std::chrono::seconds(3);
  options.exec.variables = {"SLUICE_LEASE", "PGHOST"};
  CHECK(doubts_of(options, {"noop", "exec"}) ==
        std::vector<std::string>{"exec.variables: SLUICE_LEASE has no effect: no command gets a variable that begins "
                                 "with SLUICE_"});
  options.exec.allow = {"/usr/bin/sluice"};  // whose jobs may set it themselves
  CHECK(doubts_of(options, {"noop", "exec"}).empty());
  CHECK(doubts_of(options, {"noop"}).front() ==
        "jobs.exec is of a type that this server has no handler of; `sluice work` has its handler where allow_exec is "
        "true");
}

TEST_CASE("numbers that nothing asks for are told") {
  server_options options;
  options.special_queue_workers = 3;
  CHECK(doubts_of(options, {}) ==
        std::vector<std::string>{"special_queue_workers has no effect: no queue is named *-queue"});
  options.queues["tenant-*"].workers = 2;
  CHECK(doubts_of(options, {}).size() == 1);
  options.queues["tenant-*"].workers = 0;
  CHECK(doubts_of(options, {}).empty());
  options.queues = {{"default", {}}, {"mail-queue", {}}};
  CHECK(doubts_of(options, {}).empty());

  recurring pulse;
  pulse.name = "pulse";
  pulse.job = job_type("mail");
  pulse.catch_up_max = 9;
  options.recurring = {pulse};
  CHECK(doubts_of(options, {"mail"}) ==
        std::vector<std::string>{"schedule pulse: catch_up_max has no effect without \"catch_up\": \"all\""});
  options.recurring[0].catch_up = catch_up_rule::all;
  CHECK(doubts_of(options, {"mail"}).empty());
}

TEST_CASE("fewer threads than the queues have workers are told, and never chosen by default") {
  server_options options;
  options.queues = {{"a", {300, 0, {}, {}}}, {"b", {20, 0, {}, {}}}, {"tenant-*", {1000, 0, {}, {}}}};
  CHECK(threads_of(options) == 320);
  CHECK(doubts_of(options, {}).empty());
  options.threads = 256;
  CHECK(threads_of(options) == 256);
  CHECK(
      doubts_of(options, {}) ==
      std::vector<std::string>{"threads: the queues have 320 workers, of which 256 can work at once; the others claim "
                               "when it is their turn"});
  options.queues.erase("a");
  options.threads = 0;
  CHECK(threads_of(options) == 256);
}

}  // namespace sluice::test
