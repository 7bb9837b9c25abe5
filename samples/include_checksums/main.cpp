// The checksum of every directory below /usr/include as jobs of one queue, a slow archive of each of
// the ten largest on another, through `sluice work` on an SQLite file. At the end the results are
// compared with a plain loop's. Kill it, or its `sluice work`, with kill -9 whenever you like and run
// it again: it goes on where it was.
//
//   include_checksums [--root /usr/include] [--folder .run] [--program build/bin/sluice]
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <thread>

#include <sluice/client.hpp>

#include "include_checksums/jobs.hpp"
#include "include_checksums/report.hpp"

namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using steady = std::chrono::steady_clock;

struct settings {
  fs::path root = "/usr/include";
  fs::path folder = ".run";
  fs::path program = fs::read_symlink("/proc/self/exe").parent_path() / "sluice";
};

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "include_checksums: %s\n", what.c_str());
  std::exit(1);
}

template <class T>
T must(sluice::result<T> r) {
  if (!r) die(sluice::to_string(r.error()));
  return std::move(*r);
}

settings parse(int argc, char** argv) {
  settings s;
  for (int i = 1; i < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--help")
      std::exit(std::puts("usage: include_checksums [--root /usr/include] [--folder .run] "
                          "[--program build/bin/sluice]") < 0);
    if (i + 1 == argc) die(option + " needs a value");
    if (option == "--root") s.root = argv[i + 1];
    else if (option == "--folder") s.folder = argv[i + 1];
    else if (option == "--program") s.program = argv[i + 1];
    else die("unknown option " + option + "; known: --root, --folder, --program");
  }
  s.folder = fs::absolute(s.folder);
  s.root = fs::canonical(s.root);
  return s;
}

unsigned light_workers() { return std::max(1u, std::thread::hardware_concurrency()); }

std::string write_config(const settings& s) {
  const auto path = (s.folder / "sluice.json").string();
  std::ofstream(path) << "{\n  \"storage\": \"sqlite:" << (s.folder / "jobs.db").string() << "\",\n"
                      << "  \"allow_exec\": true,\n  \"lease\": \"3s\",\n  \"queues\": {\n"
                      << "    \"default\": {\"workers\": " << light_workers()
                      << "},\n    \"archive-queue\": {}\n  }\n}\n";
  return path;
}

// `sluice work`, which dies with us.
pid_t start_work(const settings& s, const std::string& config) {
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  const auto log = (s.folder / "work.log").string();
  if (!std::freopen(log.c_str(), "a", stderr)) ::_exit(1);
  ::execl(s.program.c_str(), "sluice", "work", config.c_str(), nullptr);
  ::_exit(127);
}

std::uint64_t unfinished(const std::vector<sluice::queue_counts>& queues) {
  std::uint64_t n = 0;
  for (const auto& q : queues)
    n += q.enqueued + q.scheduled + q.processing;
  return n;
}

// Waits for the last job; a `sluice work` that was killed is started again.
void follow(sluice::client& client, const settings& s, const std::string& config, pid_t& work) {
  const bool terminal = ::isatty(STDOUT_FILENO) != 0;
  const auto begin = steady::now();
  auto shown = begin - 1h;
  bool drawn = false;
  for (;;) {
    const auto queues = must(client.queues());
    const bool over = unfinished(queues) == 0;
    if (over || steady::now() - shown > (terminal ? 200ms : 2000ms)) {
      sample::show_queues(queues, std::chrono::duration<double>(steady::now() - begin).count(), terminal && drawn);
      shown = steady::now();
      drawn = true;
    }
    if (over) return;
    int status = 0;
    if (::waitpid(work, &status, WNOHANG) == work) {
      if (WIFEXITED(status))
        die("sluice work ended with exit " + std::to_string(WEXITSTATUS(status)) + "; see " +
            (s.folder / "work.log").string());
      std::printf("sluice work was killed by signal %d; starting it again\n", WTERMSIG(status));
      drawn = false;
      work = start_work(s, config);
    }
    std::this_thread::sleep_for(50ms);
  }
}

std::vector<sluice::job> all_done(sluice::client& client) {
  std::vector<sluice::job> done;
  sluice::job_query query;
  query.state = sluice::job_state::succeeded;
  query.limit = 200;
  do {
    auto page = must(client.list(query));
    query.after = page.next;
    std::move(page.jobs.begin(), page.jobs.end(), std::back_inserter(done));
  } while (!query.after.empty());
  return done;
}

// The same commands one after the other. Answers how many results differ.
int compare(const std::vector<sample::shell_job>& jobs, const std::vector<sluice::job>& done) {
  std::map<std::string, std::string> results;
  for (const auto& j : done)
    results[j.id.value] = j.result;
  const auto begin = steady::now();
  int different = 0;
  for (const auto& job : jobs) {
    const auto found = results.find(job.id);
    if (found != results.end() && found->second == sample::run_plainly(job)) continue;
    ++different;
    std::printf("%s (%s) %s\n", job.id.c_str(), job.argv[4].c_str(),
                found == results.end() ? "has no result" : "differs from the plain loop's");
  }
  std::printf("The plain loop over the same %zu commands took %.1f s.\n", jobs.size(),
              std::chrono::duration<double>(steady::now() - begin).count());
  return different;
}

}  // namespace

int main(int argc, char** argv) {
  const auto s = parse(argc, argv);
  fs::create_directories(s.folder / "archives");
  const auto jobs = sample::plan(s.root, s.folder / "archives");
  const auto config = write_config(s);

  sluice::client_options options;
  options.storage = "sqlite:" + (s.folder / "jobs.db").string();
  options.deadline = 30s;
  auto client = must(sluice::client::open(options));
  if (unfinished(must(client.queues())) > 0) std::printf("Going on with an unfinished run.\n");
  std::vector<sluice::new_job> batch;
  for (const auto& job : jobs)
    batch.push_back(sample::as_exec(job));
  for (auto& stored : client.enqueue(std::move(batch)))
    must(std::move(stored));  // again is the same job
  std::printf("%zu jobs from %s are stored in %s\n", jobs.size(), s.root.c_str(), options.storage.c_str());

  pid_t work = start_work(s, config);
  follow(client, s, config, work);
  ::kill(work, SIGTERM);
  ::waitpid(work, nullptr, 0);

  const auto done = all_done(client);
  sample::show_waits(done, light_workers(), 1);
  std::printf("\n");
  const int different = compare(jobs, done);
  if (different > 0) {
    std::printf("FAILED: %d of %zu results differ\n", different, jobs.size());
    return 1;
  }
  std::printf("All %zu results equal the plain loop's.\n", jobs.size());
  for (const char* end : {"", "-wal", "-shm", ".lock", ".turn"})
    fs::remove(s.folder / (std::string("jobs.db") + end));
  return 0;
}
