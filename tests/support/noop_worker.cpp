// noop_worker CONFIG LOG [run]: a server until SIGTERM or SIGINT, with `run` by sluice::run, and with `run-unstarted`
// so of one that was not started. Its handler `noop` writes
// "begin ID FENCE" and "end ID FENCE" to the log, each with the monotonic microseconds. Between them it takes as long
// as its args say: {"ms": 5}, or
// {"until_told": true} for until LOG.go is there, and otherwise no time; with {"until_stopped": true} it goes on until
// it is asked to stop, and has no end. Its handler `tells` says what its args say,
// each of which may be left out: {"progress": 0.5, "words": "...", "part": "...", "result": "...", "fault": "..."}, and
// then does as `noop` does.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>

#include <sluice/server.hpp>
#include <sluice/stop_signal.hpp>

#include "config/load.hpp"
#include "storage/store.hpp"

namespace {

using std::chrono::steady_clock;

// One write each, so that lines of many threads do not mix and a kill leaves none half.
void note(int log, const char* what, const sluice::job_context& c) {
  const auto at = std::chrono::duration_cast<std::chrono::microseconds>(steady_clock::now().time_since_epoch());
  const auto line = std::string(what) + " " + c.id().value + " " + std::to_string(c.fence().value) + " " +
                    std::to_string(at.count()) + "\n";
  if (::write(log, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::abort();
}

void run(int log, const std::string& told, const sluice::job_context& c) {
  note(log, "begin", c);
  const auto args = nlohmann::json::parse(c.args());
  std::this_thread::sleep_for(std::chrono::milliseconds(args.value("ms", 0)));
  while (args.value("until_told", false) && ::access(told.c_str(), F_OK) != 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  while (args.value("until_stopped", false)) {
    c.throw_if_stop_requested();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  note(log, "end", c);
}

std::string tell(int log, const std::string& told, sluice::job_context& c) {
  const auto args = nlohmann::json::parse(c.args());
  if (args.contains("progress")) c.progress(args["progress"], args.value("words", ""));
  const auto part = args.value("part", "");
  if (!part.empty()) c.watched(part, part, std::chrono::milliseconds(7), false);
  run(log, told, c);
  const auto fault = args.value("fault", "");
  if (!fault.empty()) throw std::runtime_error(fault);
  return args.value("result", "");
}

int fail(const std::string& why) { return std::fprintf(stderr, "noop_worker: %s\n", why.c_str()), 1; }

}  // namespace

int main(int argc, char** argv) {
  const bool unstarted = argc == 4 && argv[3] == std::string("run-unstarted");
  const bool by_run = argc == 4 && (argv[3] == std::string("run") || unstarted);
  if (argc != 3 && !by_run) return fail("noop_worker CONFIG LOG [run|run-unstarted]");
  sluice::catch_stop_signals();
  std::ifstream file(argv[1], std::ios::binary);
  const auto got =
      sluice::config::load({{std::istreambuf_iterator<char>(file), {}}, {}, {}}, {sluice::storage::check_url});
  if (!got.faults.empty()) return fail(got.faults.front().pointer + ": " + got.faults.front().problem);
  const int log = ::open(argv[2], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (log < 0) return fail("cannot open the log");
  sluice::server server(got.options);
  server.handle("noop", [log, told = argv[2] + std::string(".go")](sluice::job_context& c) { run(log, told, c); });
  server.handle("tells",
                [log, told = argv[2] + std::string(".go")](sluice::job_context& c) { return tell(log, told, c); });
  if (unstarted) return sluice::run(server);
  if (const auto up = server.start(); !up) return fail(to_string(up.error()));
  if (by_run) return sluice::run(server);
  const int why = sluice::wait_for_stop_signal();
  std::fprintf(stderr, "noop_worker: stopping by signal %d\n", why);
  server.stop();
  return 0;
}
