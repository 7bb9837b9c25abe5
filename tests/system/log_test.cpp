// Logging never stops a server, whatever its standard error is.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/catch.hpp"
#include "support/places.hpp"
#include "system/work_world.hpp"

namespace sluice::test {
namespace {

using nlohmann::json;

// As a shell says it: 2>FILE, 2>&-. The rest of its output is in work.log.
process work_redirected(work_world& w, const std::string& how) {
  return w.serve({"sh", "-c", "exec \"$@\" " + how, "sh", program_path("sluice"), "work", w.folder.file("sluice.json")},
                 "work.log");
}

// A small pipe with a name, which nobody reads.
class unread_pipe {
public:
  explicit unread_pipe(const std::string& path) {
    if (::mkfifo(path.c_str(), 0600) != 0) throw std::runtime_error("mkfifo failed");
    file_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file_ < 0 || ::fcntl(file_, F_SETPIPE_SZ, size) != size) throw std::runtime_error("no small pipe");
  }
  ~unread_pipe() { ::close(file_); }
  unread_pipe(const unread_pipe&) = delete;

  // There is no room for another line.
  bool full() const {
    int waiting = 0;
    return ::ioctl(file_, FIONREAD, &waiting) == 0 && waiting > size - 512;
  }

private:
  static constexpr int size = 4096;
  int file_ = -1;
};

void enqueue_failing(work_world& w, int count) {
  std::vector<new_job> jobs;
  for (int i = 0; i < count; ++i) {
    jobs.push_back(work_world::exec("exit 1", {}, "failing"));
    jobs.back().retry.attempts = 0;
  }
  w.enqueue(std::move(jobs));
}

void enqueue_noops(work_world& w, int count) {
  std::vector<new_job> jobs(static_cast<std::size_t>(count));
  for (auto& j : jobs)
    j.type = job_type("noop");
  w.enqueue(std::move(jobs));
}

const json two_queues{{"grace", "1s"}, {"queues", {{"default", {{"workers", 2}}}, {"failing", {{"workers", 2}}}}}};

}  // namespace

TEST_CASE("jobs run and SIGTERM ends a server whose standard error nobody reads") {
  work_world w(two_queues);
  const unread_pipe nobody(w.folder.file("stderr"));
  auto p = work_redirected(w, "2>" + w.folder.file("stderr"));
  constexpr int failing = 200;  // a line each, of which not all find room
  enqueue_failing(w, failing);
  CHECK(eventually([&] { return w.counts("failing").failed == failing; }));
  CHECK(nobody.full());
  enqueue_noops(w, 20);
  CHECK(eventually([&] { return w.counts().succeeded == 20; }));
  p.signal(SIGTERM);
  CHECK(p.exit_code(5s) == 0);
}

TEST_CASE("a second signal ends a server whose standard error nobody reads") {
  auto settings = two_queues;
  settings["grace"] = "1h";
  work_world w(settings);
  const unread_pipe nobody(w.folder.file("stderr"));
  auto p = work_redirected(w, "2>" + w.folder.file("stderr"));
  enqueue_failing(w, 200);
  REQUIRE(eventually([&] { return nobody.full(); }));
  w.enqueue({work_world::exec("trap '' TERM; echo > " + w.folder.file("runs") + "; while :; do sleep 1; done")});
  REQUIRE(eventually([&] { return std::filesystem::exists(w.folder.file("runs")); }));
  p.signal(SIGTERM);
  CHECK(eventually([&] { return p.signal(SIGINT), !p.alive(); }, 5s));
  CHECK(p.exit_code(0ms) == 128 + SIGINT);
}

TEST_CASE("jobs run and SIGTERM ends a server whose standard error takes nothing") {
  const auto how = GENERATE(as<std::string>{}, "2>/dev/full", "2>&-", "<&- >&- 2>&-");
  CAPTURE(how);
  work_world w(two_queues);
  auto p = work_redirected(w, how);
  enqueue_failing(w, 20);
  enqueue_noops(w, 20);
  CHECK(eventually([&] { return w.counts("failing").failed == 20 && w.counts().succeeded == 20; }));
  p.signal(SIGTERM);
  CHECK(p.exit_code(5s) == 0);
  // The store did not become the standard error of a server that had none.
  for (const auto& entry : std::filesystem::directory_iterator(w.folder.path())) {
    CAPTURE(entry.path());
    const auto text = read_file(entry.path().string());
    for (const auto* line : {"working on ", "stopping: ", " info "})
      CHECK(text.find(line) == std::string::npos);
  }
  CHECK(w.sluice({"audit"}).exit_code == 0);
}

TEST_CASE("work logs from a level and in a format that are words of its own") {
  work_world w(two_queues);
  const auto until_it_stops = [&](const std::vector<std::string>& words, const std::string& log) {
    std::vector<std::string> argv{program_path("sluice"), "work", w.folder.file("sluice.json")};
    argv.insert(argv.end(), words.begin(), words.end());
    auto p = w.serve(argv, log);
    p.signal(SIGTERM);
    CHECK(p.exit_code(5s) == 0);
    return p.log();
  };
  CHECK(until_it_stops({"--log-level", "warning"}, "warning.log") == "");
  const auto text = until_it_stops({"--log-format", "json"}, "json.log");
  int lines = 0;
  for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1, ++lines)
    CHECK(json::parse(text.substr(at, end - at)).at("level") == "info");
  CHECK(lines >= 3);
  CHECK(json::parse(text.substr(text.rfind('\n', text.size() - 2) + 1)).at("message") == "stopped");

  for (const auto& [option, allowed] : {std::pair{"--log-level", "warning"}, {"--log-format", "json"}}) {
    const auto said =
        run({program_path("sluice"), "work", w.folder.file("sluice.json"), option, "loud"}, w.folder.path().string());
    CHECK(said.exit_code == 2);
    CHECK(said.err.find(option) != std::string::npos);
    CHECK(said.err.find(allowed) != std::string::npos);
  }
}

TEST_CASE("a job that failed for good is an error in the log, and one that is tried again a warning") {
  work_world w(nlohmann::json{{"retry", {{"attempts", 1}, {"delay", "1ms"}}}});
  auto p = w.work();
  w.enqueue({work_world::exec("exit 7", "bad")});
  REQUIRE(
      eventually([&] { return p.log().find("error job bad (exec): failed 2 times: exit 7") != std::string::npos; }));
  CHECK(p.log().find("warning job bad (exec): retry 1 in ") != std::string::npos);
}

}  // namespace sluice::test
