// What Sluice reaches on one Redis beside what the same transitions reach from a bare pipelined hiredis loop, in the
// same run. It starts a redis-server of its own. Figures travel between machines as the ratio.
//
//   redis_bench [--jobs N] [--seconds S] [--appendonly no|everysec|always] [--curve 1000000]
#include <cstring>
#include <memory>

#include <hiredis/hiredis.h>
#include <malloc.h>

#include <sluice/client.hpp>
#include <sluice/log.hpp>
#include <sluice/server.hpp>

#include "bench/measure.hpp"
#include "core/pipeline.hpp"
#include "storage/store.hpp"
#include "tests/support/fault_proxy.hpp"
#include "tests/support/redis_server.hpp"

namespace {

using namespace bench;

// ---- The limit: the shortest scripts that make the same transitions, 100 jobs each, several in flight.
class bare {
public:
  explicit bare(const std::string& socket) : c_(redisConnectUnix(socket.c_str())) {
    if (!c_ || c_->err != 0) die("cannot connect to " + socket);
    enqueue_ = load(R"(
      local h, z = {}, {}
      for i = 1, #ARGV, 3 do
        h[#h + 1] = ARGV[i] h[#h + 1] = ARGV[i + 2] z[#z + 1] = ARGV[i + 1] z[#z + 1] = ARGV[i]
      end
      redis.call('HSET', '{b}:jobs', unpack(h))
      redis.call('ZADD', '{b}:ready', unpack(z)))");
    // Settles what ARGV names, by id and fence, and claims 100 more.
    process_ = load(R"(
      local t = redis.call('TIME')
      local now = string.format('%.0f', t[1] * 1000000 + t[2])
      local ids, z, p = {}, {}, {}
      for i = 2, #ARGV, 2 do ids[#ids + 1] = ARGV[i] end
      if #ids > 0 then
        local rows = redis.call('HMGET', '{b}:starts', unpack(ids))
        for i, id in ipairs(ids) do
          if string.match(rows[i], '^(%d+) ') == ARGV[2 * i + 1] then
            z[#z + 1] = now z[#z + 1] = id
            p[#p + 1] = id p[#p + 1] = '1 0 ' .. ARGV[2 * i + 1] .. ' 0 succeeded ' .. rows[i]
          end
        end
        redis.call('ZREM', '{b}:processing', unpack(ids))
        redis.call('HDEL', '{b}:starts', unpack(ids))
        redis.call('HSET', '{b}:history', unpack(p))
        redis.call('ZADD', '{b}:succeeded', unpack(z))
      end
      local got = redis.call('ZRANGE', '{b}:ready', 0, 99)
      if #got == 0 then return {} end
      local records = redis.call('HMGET', '{b}:jobs', unpack(got))
      local last = tonumber(redis.call('GET', '{b}:number') or '0')
      local h, l, answer = {}, {}, {}
      for i, id in ipairs(got) do
        local fence = string.format('%.0f', last + i)
        h[#h + 1] = id h[#h + 1] = fence .. ' 1 ' .. now .. ' ' .. ARGV[1]
        l[#l + 1] = now l[#l + 1] = id
        answer[#answer + 1] = id answer[#answer + 1] = fence answer[#answer + 1] = records[i]
      end
      redis.call('ZREM', '{b}:ready', unpack(got))
      redis.call('HSET', '{b}:starts', unpack(h))
      redis.call('ZADD', '{b}:processing', unpack(l))
      redis.call('SET', '{b}:number', string.format('%.0f', last + #got))
      return answer)");
  }
  ~bare() { redisFree(c_); }

  double enqueue(int jobs) {
    const std::string record(40, 'r');
    const auto begin = steady::now();
    for (int i = 0, sent = 0, answered = 0; answered < jobs / 100;) {
      if (i < jobs && sent - answered < in_flight) {
        std::vector<std::string> words{"EVALSHA", enqueue_, "0"};
        for (int n = 0; n < 100; ++n, ++i) {
          words.push_back("01hqzx3v5t8w9yabcd" + std::to_string(10'000'000 + i));
          words.push_back(std::to_string(1'780'000'000'000'000 + i));
          words.push_back(record);
        }
        append(words);
        ++sent;
        continue;
      }
      next();
      ++answered;
    }
    return jobs / seconds_since(begin);
  }

  double process(int jobs) {
    const auto begin = steady::now();
    for (int i = 0; i < in_flight; ++i)
      append({"EVALSHA", process_, "0", "server-1"});
    for (int done = 0, open = in_flight; open > 0;) {
      const auto got = next();
      --open;
      if (got->elements == 0 && done >= jobs) continue;
      std::vector<std::string> words{"EVALSHA", process_, "0", "server-1"};
      for (std::size_t i = 0; i + 2 < got->elements; i += 3) {
        words.emplace_back(got->element[i]->str, got->element[i]->len);
        words.emplace_back(got->element[i + 1]->str, got->element[i + 1]->len);
      }
      done += static_cast<int>(got->elements / 3);
      if (got->elements == 0) continue;
      append(words);
      ++open;
    }
    return jobs / seconds_since(begin);
  }

private:
  static constexpr int in_flight = 4;
  struct free_reply {
    void operator()(redisReply* r) const { freeReplyObject(r); }
  };
  using reply = std::unique_ptr<redisReply, free_reply>;

  std::string load(const char* lua) {
    append({"SCRIPT", "LOAD", lua});
    const auto got = next();
    return {got->str, got->len};
  }
  void append(const std::vector<std::string>& words) {
    std::vector<const char*> argv;
    std::vector<std::size_t> lengths;
    for (const auto& w : words) {
      argv.push_back(w.data());
      lengths.push_back(w.size());
    }
    redisAppendCommandArgv(c_, static_cast<int>(argv.size()), argv.data(), lengths.data());
  }
  reply next() {
    void* got = nullptr;
    if (redisGetReply(c_, &got) != REDIS_OK) die(c_->errstr);
    reply r(static_cast<redisReply*>(got));
    if (r->type == REDIS_REPLY_ERROR) die(r->str);
    return r;
  }

  redisContext* c_;
  std::string enqueue_, process_;
};

using sluice::test::redis_server;

// From the first run to the last settle, by the clock of this machine.
double process(redis_server& redis, const std::string& url, int jobs, unsigned workers, unsigned prefetch) {
  std::atomic<int> ran{0};
  std::atomic<std::int64_t> first{0};
  sluice::handler_registry handlers;
  handlers.handle("noop", [&](sluice::job_context&) {
    if (ran.fetch_add(1, std::memory_order_relaxed) == 0)
      first = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
                  .count();
    ran.notify_one();
  });
  sluice::server server(options_for(url, workers, prefetch), handlers);
  if (const auto started = server.start(); !started) die(sluice::to_string(started.error()));
  for (int seen = 0; (seen = ran.load()) < jobs;)
    ran.wait(seen);
  server.stop();
  if (redis.command({"ZCARD", "{sluice}:succeeded:default"}).integer != jobs) die("not all jobs were settled");
  const auto last = redis.command({"ZRANGE", "{sluice}:succeeded:default", "-1", "-1", "WITHSCORES"});
  return jobs * 1e6 / (std::stod(last.elements.at(1).text) - static_cast<double>(first.load()));
}

void clear(redis_server& redis) { redis.command({"FLUSHALL"}); }

// What Redis needs for each of so many that wait, their lines and records. Its scripts must have been loaded before.
double memory_a_job(redis_server& redis, int jobs) {
  clear(redis);
  const auto used = [&] { return std::stod(redis.info("used_memory")); };
  const auto empty = used();
  auto job = noop();
  job.args = R"({"n":1,"t":0})";
  enqueue_many(redis.url(), jobs, job);
  return (used() - empty) / jobs;
}

// ---- What a claim and a promotion cost with much in the store.
class still_clock final : public sluice::clock {
public:
  sluice::time_point now() const override { return at; }
  sluice::time_point at = sluice::from_micros(1'780'000'000'000'000);
};

namespace storage = sluice::storage;

template <class Answer>
Answer ask(storage::store& store, storage::request r) {
  auto answers = store.apply({&r, 1});
  if (const auto* e = std::get_if<sluice::error>(&answers.at(0))) die(sluice::to_string(*e));
  return std::get<Answer>(std::move(answers[0]));
}

void fill(storage::store& store, long from, long to, sluice::duration delay) {
  const sluice::enqueue_pipeline pipeline({}, {});
  while (from < to) {
    storage::enqueue_request r;
    for (int n = 0; n < 1000 && from < to; ++n, ++from) {
      auto job = noop();
      job.delay = delay;
      r.jobs.push_back(must(pipeline.prepare(std::move(job), sluice::from_micros(1'780'000'000'000'000))));
    }
    ask<storage::enqueue_answer>(store, std::move(r));
  }
}

void curve(redis_server& redis, long most) {
  constexpr int rounds = 100, per_round = 100;
  const auto types =
      std::make_shared<const std::set<std::string, std::less<>>>(std::set<std::string, std::less<>>{"noop"});
  std::printf("\n%-12s %-12s %s\n", "pending", "scheduled", "us a job: claim and settle, promote");
  for (long pending = 1000; pending <= most; pending *= 10) {
    clear(redis);
    still_clock clock;
    auto store = must(storage::open_store(redis.url(), &clock));
    fill(*store, 0, pending + rounds * per_round, sluice::duration(0));
    const long scheduled = std::max(1000L, pending / 10);
    fill(*store, 0, scheduled, 1h);
    storage::settle_request step;
    std::uint64_t op = 0;
    const auto begin = steady::now();
    for (int i = 0; i < rounds; ++i) {
      step.next = storage::claim_request{
          sluice::server_id("bench"), sluice::queue_name("default"), ++op, per_round, 0, false, 30s, types, types};
      const auto got = ask<storage::settle_answer>(*store, step);
      step.runs.clear();
      for (const auto& one : got.next.jobs)
        step.runs.emplace_back().run = {one.job.id, one.job.fence};
    }
    const auto claimed = seconds_since(begin) * 1e6 / (rounds * per_round);
    clock.at += 2h;
    const auto then = steady::now();
    long moved = 0;
    while (moved < scheduled)
      moved += ask<storage::promote_answer>(*store, storage::promote_request{1000}).moved;
    const auto promoted = seconds_since(then) * 1e6 / static_cast<double>(moved);
    std::printf("%-12ld %-12ld %.2f, %.2f\n", pending, scheduled, claimed, promoted);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::help(argc, argv, "redis_bench [--jobs N] [--seconds S] [--appendonly no|everysec|always] [--curve 1000000]");
  ::mallopt(M_TRIM_THRESHOLD, 256 * 1024 * 1024);  // as `sluice work` does
  sluice::set_log_level(sluice::log_level::warn);
  if (argc == 5 && std::strcmp(argv[1], "--produce") == 0) return produce(argv);
  int jobs = 200'000;
  long most = 0;
  double seconds = 5;
  sluice::test::redis_options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--jobs") jobs = std::stoi(argv[i + 1]) / 1000 * 1000;
    else if (option == "--seconds") seconds = std::stod(argv[i + 1]);
    else if (option == "--appendonly") options.appendonly = argv[i + 1];
    else if (option == "--curve") most = std::stol(argv[i + 1]);
    else die("unknown option " + option + "; known: --jobs, --seconds, --appendonly, --curve");
  }
  const std::string self = fs::read_symlink("/proc/self/exe").string();
  redis_server redis(options);
  std::printf("Redis %s, appendonly %s; %u processors\n\n", redis.info("redis_version").c_str(),
              options.appendonly.c_str(), std::thread::hardware_concurrency());
  if (most > 0) {
    curve(redis, most);
    return 0;
  }
  double limit_many = 0, limit_process = 0;
  {
    bare b(redis.socket());
    limit_many = b.enqueue(jobs);
    limit_process = b.process(jobs);
  }
  row("limit: enqueue, 100 a script", limit_many, "jobs/s");
  row("limit: process, 100 a script", limit_process, "jobs/s");
  clear(redis);
  row("enqueue, one by one", enqueue_one_by_one(redis.url(), std::min(seconds, 3.0)), "jobs/s");
  row("Redis memory a waiting job, of 20,000", memory_a_job(redis, 20'000), "bytes");
  row("Redis memory a waiting job, of 1,000,000", memory_a_job(redis, 1'000'000), "bytes");
  clear(redis);
  row("enqueue, 1,000 a call", enqueue_many(redis.url(), jobs), "jobs/s", limit_many);
  const auto redis_before = redis.cpu_seconds(), here_before = own_cpu_seconds();
  row("process, 64 workers, prefetch 256", process(redis, redis.url(), jobs, 64, 256), "jobs/s", limit_process);
  row("processor time a job, Redis", (redis.cpu_seconds() - redis_before) * 1e6 / jobs, "us");
  row("processor time a job, server process", (own_cpu_seconds() - here_before) * 1e6 / jobs, "us");
  clear(redis);
  enqueue_many(redis.url(), jobs);
  row("process, default workers and prefetch", process(redis, redis.url(), jobs, 0, 256), "jobs/s", limit_process);
  clear(redis);
  enqueue_many(redis.url(), jobs);
  {
    sluice::test::fault_proxy far(sluice::test::unix_at(redis.socket()));
    far.delay(sluice::test::direction::to_server, 1ms);
    row("process, 1 ms put into each round trip", process(redis, far.tcp_url(), jobs, 64, 256), "jobs/s",
        limit_process);
  }
  for (const auto& [workers, what] : {std::pair(64u, "64 workers"), std::pair(0u, "default workers")}) {
    clear(redis);
    const auto p = measure_pick_up(self, redis.url(), workers, 256, {static_cast<int>(seconds * 200)});
    show((std::string("pick-up p50 / p99 / max, 200 jobs/s, ") + what).substr(0, 44).c_str(), p);
  }
  // Half of what the workers can.
  const arrivals lone{static_cast<int>(seconds * 4000), 4000, 1ms};
  clear(redis);
  const auto before_lone = redis.cpu_seconds();
  show("lone jobs: p50 / p99 / max, 4,000 a second", measure_pick_up(self, redis.url(), 8, 256, lone));
  row("lone jobs: processor time a job, Redis", (redis.cpu_seconds() - before_lone) * 1e6 / lone.jobs, "us");
  return 0;
}
