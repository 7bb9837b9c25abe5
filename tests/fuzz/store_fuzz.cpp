// Any bytes as stored values, and any arguments to a script: an error or a record put aside, never a crash, a script
// that does not end, or an answer that cannot be read. A script that fails has changed nothing before, as Redis needs
// it, also where it met harm; of scripts with arguments that nobody packs that is not asked.
//
// A step is a byte that says what, and what follows it: harm to a stored value, a request, or a script with arguments.
#include <cstdio>
#include <cstdlib>

#include <optional>
#include <set>

#include "core/clock.hpp"
#include "core/codec.hpp"
#include "core/pipeline.hpp"
#include "storage/machine/audit.hpp"
#include "storage/machine/transitions.hpp"
#include "storage/sqlite/schema.hpp"
#include "storage/sqlite/script_engine.hpp"

namespace {

using namespace sluice;
using namespace sluice::storage;
using namespace std::chrono_literals;

constexpr std::string_view prefix = "{p}";
constexpr std::int64_t some_day = 1'780'000'000'000'000;

void must(bool holds, std::string_view what, std::string_view where) {
  if (holds) return;
  std::fprintf(stderr, "%.*s: %.*s\n", static_cast<int>(what.size()), what.data(), static_cast<int>(where.size()),
               where.data());
  std::abort();
}

class input {
public:
  input(const std::uint8_t* data, std::size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}

  bool over() const { return rest_.empty(); }
  std::uint8_t byte() {
    if (over()) return 0;
    const auto b = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return b;
  }
  std::size_t below(std::size_t n) { return n == 0 ? 0 : byte() % n; }
  std::string_view bytes() {
    const auto size = std::min<std::size_t>(byte(), rest_.size());
    const auto found = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return found;
  }

private:
  std::string_view rest_;
};

const std::vector<std::string> ids = {"a", "b", "c", "d"};
const std::vector<std::string> queues = {"q", "r"};
const std::vector<std::string> resources = {"mutex:m", "semaphore:s", "fixed_window:w", "fixed_window:w/k"};

class world final : public machine::steps {
public:
  world() {
    sqlite::make_tables(db_);
    keys_.emplace(db_, prefix);
    engine_.emplace(*keys_, prefix, sqlite::script_engine::bounds{20'000'000, 64 * 1024});
    db_.execute("BEGIN");
    stock();
    keys_->flush();
    db_.execute("COMMIT");
  }

  // All of one input is undone.
  void try_all(input in) {
    is_harmed_ = is_wild_ = false;
    now_ = some_day;
    db_.execute("BEGIN");
    keys_->begin();
    while (!in.over())
      switch (in.below(4)) {
        case 0: harm(in); break;
        case 1: run_script(in); break;
        default: ask(any_request(in)); break;
      }
    look();
    keys_->forget();
    db_.execute("ROLLBACK");
    started_.clear();
    broken.clear();
  }

  void send(machine::call c, std::function<void(const machine::item&)> read,
            std::function<void(const error&)> failed) override {
    if (const auto wrong = run(c, read)) failed({errc::storage_damaged, *wrong});
  }

private:
  void stock() {
    ask(define_request{"semaphore:s", "{}", 1, ""});
    ask(define_request{"fixed_window:w", "{}", std::nullopt, ""});
    for (const auto& q : queues) {
      enqueue_request r;
      for (const auto& id : ids)
        r.jobs.push_back(prepared(id + q, q, id == "d" ? 1h : 0s));
      ask(r);
      ask(claiming(q, 2, q == "q"));
    }
    ask(lock_request{lock_request::verb::take, "lock", "holder", "token", {}, 30s});
    ask(log_action_request{{"anna", "dashboard"}, "pause", {"q"}, 1});
  }

  static prepared_job prepared(const std::string& id, const std::string& queue, duration delay) {
    prepared_job job;
    job.id = job_id(id);
    job.queue = queue_name(queue);
    job.delay = delay;
    job.record = encode(job.id, job_content{job_type("t"), job.queue, "[]", {}, {}, {}, from_micros(some_day)});
    return job;
  }

  claim_request claiming(const std::string& queue, std::uint32_t free, bool with_permits) {
    claim_request r;
    r.server = server_id("server");
    r.queue = queue_name(queue);
    r.op = ++op_;
    r.free = free;
    r.lease = 30s;
    r.allow_suspect = true;
    r.types = types_;
    r.no_prefetch = types_;
    if (with_permits) r.permits = permits_;
    return r;
  }

  // Nothing, or what a script that failed said.
  std::optional<std::string> run(const machine::call& c, const std::function<void(const machine::item&)>& read) {
    const auto& verb = machine::about(c.what());
    keys_->flush();
    db_.execute("SAVEPOINT step");
    keys_->begin_call(!machine::is_read_only(c.what()));
    std::optional<std::string> wrong;
    try {
      engine_->run(c, std::to_string(now_), "", read);
    } catch (const sqlite::command_error& e) {
      wrong = e.message;
      must(is_wild_ || !keys_->has_changed(), "half of it was done", *wrong);
      keys_->forget();
      db_.execute("ROLLBACK TO step");
      keys_->begin();
    } catch (const sqlite::failure& f) {
      must(false, f.message, verb.name);
    }
    db_.execute("RELEASE step");
    return wrong;
  }

  template <class Request>
  void ask(Request r) {
    const request batch[] = {std::move(r)};
    answer told[1];
    machine::ask_all(*this, batch, told);
    if (const auto* claimed = std::get_if<claim_answer>(&told[0]))
      for (const auto& one : claimed->jobs)
        started_.push_back({one.job.id, one.job.fence});
    machine::move_to_quarantine(*this, std::exchange(broken, {}));
  }

  run_key start(input& in) {
    if (!started_.empty() && in.below(4) != 0) return started_[in.below(started_.size())];
    return {job_id(id(in)), fence{in.byte()}};
  }
  static std::string id(input& in) { return ids[in.below(ids.size())] + queues[in.below(queues.size())]; }

  request any_request(input& in) {
    now_ += in.byte() * 1'000'000;
    switch (in.below(22)) {
      case 0: return enqueue_request{{prepared(std::string(in.bytes().substr(0, 50)) + "x", queues[in.below(2)], 0s)}};
      case 1:
      case 2: return claiming(queues[in.below(2)], static_cast<std::uint32_t>(in.below(4)), in.below(2) == 1);
      case 3:
      case 4: {
        settle_request r;
        for (auto n = in.below(3) + 1; n > 0; --n) {
          settlement end;
          end.run = start(in);
          end.end = static_cast<run_end>(1 + in.below(7));
          end.text = in.bytes();
          end.failure = in.below(2) == 1;
          end.delay = std::chrono::seconds(in.below(2));
          r.runs.push_back(std::move(end));
        }
        if (in.below(2) == 1) r.next = claiming(queues[in.below(2)], 2, true);
        return r;
      }
      case 5: return renew_request{{start(in)}, 30s};
      case 6: return progress_request{{{start(in), {0.5, std::string(in.bytes())}}}};
      case 7: return promote_request{};
      case 8: return expired_request{};
      case 9: return reap_request{{{start(in), in.below(2), 30s, false}}, 3};
      case 10: return prune_request{{}, 1s, 10};
      case 11: return change_jobs_request{job_change::requeue, {job_id(id(in)), job_id(id(in))}};
      case 12: return change_jobs_request{job_change::remove, {job_id(id(in))}};
      case 13: return pause_request{queue_name(queues[in.below(2)]), in.below(2) == 1};
      case 14:
        return acquire_permits_request{{{start(in), {resources[in.below(2)]}, in.below(2) == 1, in.below(2) == 1}}};
      case 15: {
        update_limiter_request r;
        r.limiter = "fixed_window:w";
        r.version = in.below(3);
        r.state = in.bytes();
        r.until = from_micros(some_day) + 24h;
        r.wakes = {{"fixed_window:w", in.below(3)}};
        r.parks = {{start(in), "fixed_window:w"}};
        return r;
      }
      case 16: return undefine_request{resources[in.below(resources.size())]};
      case 17: return reconcile_request{};
      case 18: return explain_request{job_id(id(in))};
      case 19: return log_action_request{{id(in), std::string(in.bytes())}, "pause", {id(in)}, in.byte()};
      case 20: return change_jobs_request{job_change::cancel, {job_id(id(in)), job_id(id(in))}};
      default: return lock_request{static_cast<lock_request::verb>(in.below(4)), "lock", "holder", "other", {}, 30s};
    }
  }

  void look() {
    ask(list_request{});
    ask(queues_request{});
    ask(locks_request{});
    ask(quarantine_request{});
    ask(servers_request{});
    ask(totals_request{});
    ask(totals_request{{queue_name(queues.front()), totals_step::hour, {}, {}}});
    ask(operator_log_request{});
    ask(throttlers_request{});
    ask(schedules_request{});
    for (const auto& resource : resources) {
      ask(throttler_request{resource, 20});
      ask(holders_request{resource});
      ask(waiters_request{resource});
    }
    ask(read_limiter_request{"fixed_window:w"});
    const auto found = machine::audit(
        [this](const machine::call& c, const std::function<void(const machine::item&)>& read) -> result<void> {
          if (const auto wrong = run(c, read)) return error{errc::storage_damaged, *wrong};
          return {};
        });
    must(is_harmed_ || (found && found->empty()), "the books are wrong",
         found && !found->empty() ? found->front() : "");
  }

  void run_script(input& in) {
    machine::call c(static_cast<machine::verb>(in.below(machine::verb_count)));
    for (auto n = in.below(20); n > 0; --n)
      switch (in.below(4)) {
        case 0: c.add(static_cast<std::uint64_t>(in.below(4))); break;
        case 1: c.add(id(in)); break;
        case 2: c.add(resources[in.below(resources.size())]); break;
        default: c.add(in.bytes()); break;
      }
    is_harmed_ = is_wild_ = true;
    run(c, [](const machine::item&) {});
  }

  void harm(input& in) {
    is_harmed_ = true;
    keys_->flush();
    std::vector<std::string> names;
    for (auto q = keys_->keys_behind({}); q.step();)
      names.push_back(q.text(0));
    if (names.empty()) return;
    const auto key = names[in.below(names.size())];
    const auto member = in.below(2) == 0 ? id(in) : std::string(in.bytes());
    const std::string value(in.bytes());
    static const std::vector<std::string> scores = {
        "0", "1", "-1", "inf", "-inf", "1780000000000001", "9007199254740993", "1e300", "0.5"};
    const auto score = scores[in.below(scores.size())];
    switch (in.below(8)) {
      case 0:
      case 1:
      case 2: command({"HSET", key, member, value}); break;
      case 3: command({"ZADD", key, score, member}); break;
      case 4: command({"HDEL", key, member}); break;
      case 5: command({"ZREM", key, member}); break;
      case 6: command({"SET", key, value}); break;
      default:
        command({"DEL", key});
        if (in.below(2) == 1) command({"SADD", key, member});
        break;
    }
  }
  void command(std::initializer_list<std::string_view> words) {
    keys_->begin_call(true);
    sqlite::command_answer ignored;
    try {
      keys_->call({words.begin(), words.size()}, ignored);
    } catch (const sqlite::command_error&) {
      return;  // of another type
    }
  }

  sqlite::database db_{":memory:"};
  std::optional<sqlite::keyspace> keys_;
  std::optional<sqlite::script_engine> engine_;
  const std::shared_ptr<const std::set<std::string, std::less<>>> types_ =
      std::make_shared<std::set<std::string, std::less<>>>(std::set<std::string, std::less<>>{"t"});
  const std::shared_ptr<const permits_by_type> permits_ = [] {
    permits_by_type all;
    all["t"].resources = {"mutex:m"};
    return std::make_shared<permits_by_type>(std::move(all));
  }();
  std::int64_t now_ = some_day;
  std::uint64_t op_ = 0;
  bool is_harmed_ = false;  // so that books may be wrong
  bool is_wild_ = false;    // a script was given arguments that nobody packs
  std::vector<run_key> started_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static world all;
  all.try_all({data, size});
  return 0;
}
