// Whatever is asked in whatever order: jobs move along legal transitions only, fences grow, and the
// store's books are right.
#include <random>

#include "storage/contract.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

using enum job_state;

const std::vector<names> wishes = {{"mutex:m"}, {"mutex:m", "mutex:n"}, {"mutex:n", "semaphore:s"}, {"semaphore:s"}};

// A few people and servers that ask for anything at any time.
class crowd {
public:
  crowd(world& w, std::uint64_t seed) : w_(w), random_(seed) { define(w_, "semaphore:s", 1); }

  // Whether some job has gone from one state to the other in one step.
  bool saw(job_state from, job_state to) const { return seen_.contains({from, to}); }

  void step() {
    const auto before = states();
    act();
    const auto after = states();
    for (const auto& [id, now] : after) {
      const auto was = before.find(id);
      INFO(id << " after " << done_);
      if (was == before.end()) CHECK(may_begin_in(now));
      else if (was->second != now) {
        CHECK(may_become(was->second, now));
        seen_.insert({was->second, now});
      }
    }
    for (const auto& [id, was] : before) {
      INFO(id << " after " << done_);
      if (!after.contains(id)) CHECK((done_ == "prune" && is_final(was)));
    }
  }

private:
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  std::string any_id() { return "j" + std::to_string(below(12)); }
  // Often an old one.
  const job& any_run() {
    const auto n = started_.size();
    return started_[below(2) == 0 ? below(n) : n - 1 - below(std::min<std::size_t>(n, 4))];
  }

  std::map<std::string, job_state> states() {
    std::map<std::string, job_state> found;
    for (const auto& j : list(w_))
      found[j.id.value] = j.state;
    return found;
  }

  void act() {
    switch (below(20)) {
      case 0:
      case 1:
      case 2: return enqueue();
      case 3:
      case 4:
      case 5:
      case 6: return claim_some();
      case 7:
      case 8: return end();
      case 9:
      case 10:
      case 11: return ask_for_permits();
      case 12: return step_window();
      case 13:
        done_ = "promote";
        promote(w_, 2);
        return;
      case 14:
        done_ = "requeue";
        requeue(w_, any_id());
        return;
      case 15:
        done_ = "remove or cancel";
        if (below(2) == 0) remove(w_, any_id());
        else cancel(w_, any_id());
        return;
      case 16: return pass_time();
      case 17: return tidy();
      case 18:
        done_ = "define";
        define(w_, "semaphore:s", below(3));
        return;
      default:
        done_ = "pause, resume or reconcile";
        if (below(2) == 0) reconcile(w_);
        else pause(w_, "default", below(4) == 0);
    }
  }

  void enqueue() {
    done_ = "enqueue";
    put(w_, {.id = any_id(), .type = below(3) == 0 ? "mail" : "work", .delay = below(3) == 0 ? 5s : 0s});
  }

  // What a claim takes for all jobs of a type, or parks them for.
  storage::permits_by_type any_permits() {
    if (below(2) == 0) return {};
    return {{"work", {{"semaphore:s"}, below(2) == 0}}, {"mail", {{"mutex:m"}, true}}};
  }

  void claim_some() {
    done_ = "claim";
    const auto got = claim(w_, {.free = static_cast<std::uint32_t>(below(3)),
                                .ahead = static_cast<std::uint32_t>(below(2)),
                                .allow_suspect = below(2) == 0,
                                .types = below(2) == 0 ? "work" : "work mail",
                                .permits = any_permits()});
    for (const auto& j : jobs_of(got)) {
      CHECK(j.fence > last_);
      last_ = j.fence;
      started_.push_back(j);
    }
  }

  void end() {
    if (started_.empty()) return;
    done_ = "settle";
    const auto& j = any_run();
    const bool holds = look(w_, j.id.value).found && get(w_, j.id.value).state == job_state::processing &&
                       get(w_, j.id.value).fence == j.fence;
    const auto before = portrait(w_);
    constexpr how ends[] = {how::succeeded, how::failed, how::removed, how::retry, how::given_back};
    const auto code = settle(w_, j, ends[below(5)], below(2) == 0 ? 0s : 3s);
    if (holds) CHECK(code == errc::none);
    if (!holds) CHECK(portrait(w_) == before);
  }

  void ask_for_permits() {
    if (started_.empty()) return;
    done_ = "acquisition of permits";
    const take_words words{.strict = below(3) == 0, .park = below(4) > 0};
    test::take(w_, any_run(), wishes[below(wishes.size())], words);
  }

  // Somebody waits for a slot, or some who wait have one.
  void step_window() {
    if (started_.empty()) return;
    done_ = "update of a limiter";
    const auto seen = limiter_record_of(w_, window);
    storage::update_limiter_request r;
    r.limiter = window;
    r.version = seen.version;
    r.from = seen.now - 1s;
    r.until = seen.now + 10s;
    if (below(2) == 0) r.parks = {{run_of(any_run()), window}};
    else r.wakes = {{window, below(3)}};
    r.next_checks = {{window, seen.now + 5s}};
    update_limiter(w_, r);
  }

  void pass_time() {
    done_ = "reap";
    w_.clock.advance(below(8) == 0 ? duration(-10s) : duration(std::chrono::seconds(below(20))));
    reap(w_, expired(w_).leases);
  }

  void tidy() {
    done_ = "prune";
    storage::prune_request r;
    r.retention = {{duration(60s), 2}, {duration(60s), 2}, {duration(60s), 2}};
    ask(w_, r);
  }

  world& w_;
  std::mt19937_64 random_;
  std::vector<job> started_;
  fence last_;
  std::string done_;
  std::set<std::pair<job_state, job_state>> seen_;
};

}  // namespace

ON_EACH_STORE_AND_FILE("Jobs move along legal transitions only, and the books stay right") {
  const std::uint64_t seed = GENERATE(1, 2, 3);
  CAPTURE(seed);
  crowd people(w, seed);
  for (int i = 1; i <= 600; ++i) {
    people.step();
    if (i % 40 == 0) audit(w);
    if (w.survives_reopen)
      if (i % 100 == 0) {
        const auto before = portrait(w);
        w.reopen();
        CHECK(portrait(w) == before);
      }
  }
  CHECK(people.saw(processing, throttled));  // parked
  CHECK(people.saw(enqueued, throttled));    // parked by a claim, or its reservation lapsed
  CHECK(people.saw(throttled, enqueued));
}
