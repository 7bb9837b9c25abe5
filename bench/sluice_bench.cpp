// What Sluice reaches on SQLite (WAL, synchronous=FULL) beside what bare SQLite reaches in the same
// run, on the same disk. Figures travel between machines as the ratio.
//
//   sluice_bench [--jobs N] [--seconds S] [--dir FOLDER]
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <malloc.h>
#include <sqlite3.h>
#include <unistd.h>

#include <sluice/client.hpp>
#include <sluice/server.hpp>

#include "bench/measure.hpp"

namespace {

using namespace bench;

// ---- The limit: the same transitions by the shortest statements, one process, nobody to share with.
class bare {
public:
  explicit bare(const std::string& path) {
    if (sqlite3_open(path.c_str(), &db_) != SQLITE_OK) die("cannot open " + path);
    run("PRAGMA journal_mode=WAL");
    run("PRAGMA synchronous=FULL");
    run("CREATE TABLE jobs(seq INTEGER PRIMARY KEY, id TEXT UNIQUE, state INTEGER, pos INTEGER, fence INTEGER, record "
        "BLOB)");
    run("CREATE INDEX by_state ON jobs(state, pos)");
  }
  ~bare() { sqlite3_close(db_); }

  double enqueue(int jobs, int per_transaction) {
    auto* insert = prepare("INSERT INTO jobs(id,state,pos,record) VALUES(?,1,?,?)");
    const std::string record(100, 'r');
    const auto begin = steady::now();
    for (int i = 0; i < jobs;) {
      run("BEGIN IMMEDIATE");
      for (int n = 0; n < per_transaction && i < jobs; ++n, ++i) {
        const auto id = "01hqzx3v5t8w9yabcdef" + std::to_string(1'000'000 + i);
        sqlite3_bind_text(insert, 1, id.data(), static_cast<int>(id.size()), SQLITE_STATIC);
        sqlite3_bind_int64(insert, 2, i);
        sqlite3_bind_blob(insert, 3, record.data(), static_cast<int>(record.size()), SQLITE_STATIC);
        step(insert);
      }
      run("COMMIT");
    }
    sqlite3_finalize(insert);
    return jobs / seconds_since(begin);
  }

  // Claims 100 and settles them in the next transaction, with the next claim.
  double process(int jobs) {
    auto* select = prepare("SELECT seq,record FROM jobs WHERE state=1 ORDER BY pos LIMIT 100");
    auto* update = prepare("UPDATE jobs SET state=?,pos=?,fence=? WHERE seq=?");
    const auto move = [&](int state, std::int64_t pos, std::int64_t seq) {
      sqlite3_bind_int(update, 1, state);
      sqlite3_bind_int64(update, 2, pos);
      sqlite3_bind_int64(update, 3, pos);
      sqlite3_bind_int64(update, 4, seq);
      step(update);
    };
    std::vector<std::int64_t> claimed, next;
    std::int64_t pos = 1'000'000'000;
    int done = 0;
    const auto begin = steady::now();
    while (done < jobs) {
      run("BEGIN IMMEDIATE");
      for (const auto seq : claimed)
        move(3, ++pos, seq);
      done += static_cast<int>(claimed.size());
      next.clear();
      while (sqlite3_step(select) == SQLITE_ROW)
        next.push_back(sqlite3_column_int64(select, 0));
      sqlite3_reset(select);
      for (const auto seq : next)
        move(2, ++pos, seq);
      run("COMMIT");
      claimed.swap(next);
    }
    const double rate = jobs / seconds_since(begin);
    sqlite3_finalize(select);
    sqlite3_finalize(update);
    return rate;
  }

private:
  void run(const char* sql) {
    if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK)
      die(std::string(sql) + ": " + sqlite3_errmsg(db_));
  }
  sqlite3_stmt* prepare(const char* sql) {
    sqlite3_stmt* made = nullptr;
    if (sqlite3_prepare_v2(db_, sql, -1, &made, nullptr) != SQLITE_OK) die(sqlite3_errmsg(db_));
    return made;
  }
  void step(sqlite3_stmt* s) {
    if (sqlite3_step(s) != SQLITE_DONE) die(sqlite3_errmsg(db_));
    sqlite3_reset(s);
  }
  sqlite3* db_ = nullptr;
};

// From the first claim to the last settle, by the store's own record of them.
double process(const std::string& path, int jobs, unsigned workers, unsigned prefetch) {
  std::atomic<int> ran{0};
  sluice::handler_registry handlers;
  handlers.handle("noop", [&](sluice::job_context&) {
    ran.fetch_add(1, std::memory_order_relaxed);
    ran.notify_one();
  });
  sluice::server server(options_for("sqlite:" + path, workers, prefetch), handlers);
  if (const auto started = server.start(); !started) die(sluice::to_string(started.error()));
  for (int seen = 0; (seen = ran.load()) < jobs;)
    ran.wait(seen);
  server.stop();
  return settled_rate(path, jobs);
}

long voluntary_switches() {
  long sum = 0;
  for (const auto& task : fs::directory_iterator("/proc/self/task")) {
    std::ifstream status(task.path() / "status");
    for (std::string word; status >> word;)
      if (word == "voluntary_ctxt_switches:") {
        long n = 0;
        status >> n;
        sum += n;
      }
  }
  return sum;
}

double idle_wakeups(const std::string& url, double seconds) {
  sluice::handler_registry handlers;
  handlers.handle("noop", [](sluice::job_context&) {});
  sluice::server server(options_for(url, 64, 256), handlers);
  if (const auto started = server.start(); !started) die(sluice::to_string(started.error()));
  std::this_thread::sleep_for(500ms);  // let it come to rest
  const auto before = voluntary_switches();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  return static_cast<double>(voluntary_switches() - before) / seconds;
}

}  // namespace

int main(int argc, char** argv) {
  bench::help(argc, argv, "sluice_bench [--jobs N] [--seconds S] [--dir FOLDER]");
  ::mallopt(M_TRIM_THRESHOLD, 256 * 1024 * 1024);  // as `sluice work` does
  if (argc == 5 && std::strcmp(argv[1], "--produce") == 0) return produce(argv);
  int jobs = 100'000;
  double seconds = 5;
  fs::path dir = "bench-data";
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--jobs") jobs = std::stoi(argv[i + 1]) / 1000 * 1000;
    else if (option == "--seconds") seconds = std::stod(argv[i + 1]);
    else if (option == "--dir") dir = argv[i + 1];
    else die("unknown option " + option + "; known: --jobs, --seconds, --dir");
  }
  const std::string self = fs::read_symlink("/proc/self/exe").string();
  std::printf("SQLite %s, WAL, synchronous=FULL; %u processors\n\n", sqlite3_libversion(),
              std::thread::hardware_concurrency());

  double limit_one = 0, limit_many = 0, limit_process = 0;
  {
    bare b(fresh(dir, "bare-one.db"));
    limit_one = b.enqueue(2000, 1);
  }
  {
    bare b(fresh(dir, "bare.db"));
    limit_many = b.enqueue(jobs, 100);
    limit_process = b.process(jobs);
  }
  row("limit: enqueue, 1 a transaction", limit_one, "jobs/s");
  row("limit: enqueue, 100 a transaction", limit_many, "jobs/s");
  row("limit: process, 100 a transaction", limit_process, "jobs/s");

  row("enqueue, one by one", enqueue_one_by_one("sqlite:" + fresh(dir, "one.db"), std::min(seconds, 3.0)), "jobs/s",
      limit_one);
  const auto many = fresh(dir, "many.db");
  row("enqueue, 1,000 a call", enqueue_many("sqlite:" + many, jobs), "jobs/s", limit_many);
  row("process, 64 workers, prefetch 256", process(many, jobs, 64, 256), "jobs/s", limit_process);
  row("resident memory after it", resident_mib(), "MiB");
  const auto defaults = fresh(dir, "defaults.db");
  enqueue_many("sqlite:" + defaults, jobs);
  row("process, default workers and prefetch", process(defaults, jobs, 0, 256), "jobs/s", limit_process);

  const int picked = static_cast<int>(seconds * 200);
  for (const auto& [workers, what] : {std::pair(64u, "64 workers"), std::pair(0u, "default workers")}) {
    const auto p = measure_pick_up(self, "sqlite:" + fresh(dir, "pickup.db"), workers, 256, {picked});
    show((std::string("pick-up p50 / p99 / max, 200 jobs/s, ") + what).substr(0, 44).c_str(), p);
  }
  row("idle wake-ups, 64 workers", idle_wakeups("sqlite:" + fresh(dir, "idle.db"), seconds), "a second");
  return 0;
}
