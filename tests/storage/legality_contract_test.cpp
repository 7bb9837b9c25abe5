// Whatever is asked in whatever order: jobs move along legal transitions only, fences grow, and the
// store's books are right.
#include <random>

#include "storage/contract.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

// A few people and servers that ask for anything at any time.
class crowd {
public:
  crowd(world& w, std::uint64_t seed) : w_(w), random_(seed) {}

  void step() {
    const auto before = states();
    act();
    const auto after = states();
    for (const auto& [id, now] : after) {
      const auto was = before.find(id);
      INFO(id << " after " << done_);
      if (was == before.end()) CHECK(may_begin_in(now));
      else if (was->second != now) CHECK(may_become(was->second, now));
    }
    for (const auto& [id, was] : before) {
      INFO(id << " after " << done_);
      if (!after.contains(id)) CHECK((done_ == "prune" && is_final(was)));
    }
  }

private:
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  std::string any_id() { return "j" + std::to_string(below(12)); }

  std::map<std::string, job_state> states() {
    std::map<std::string, job_state> found;
    for (const auto& j : list(w_))
      found[j.id.value] = j.state;
    return found;
  }

  void act() {
    switch (below(12)) {
      case 0:
      case 1: return enqueue();
      case 2:
      case 3:
      case 4: return take();
      case 5:
      case 6: return end();
      case 7:
        done_ = "promote";
        promote(w_, 2);
        return;
      case 8:
        done_ = "requeue";
        requeue(w_, any_id());
        return;
      case 9:
        done_ = "remove";
        remove(w_, any_id());
        return;
      case 10: return pass_time();
      default: return tidy();
    }
  }

  void enqueue() {
    done_ = "enqueue";
    put(w_, {.id = any_id(), .type = below(3) == 0 ? "mail" : "work", .delay = below(3) == 0 ? 5s : 0s});
  }

  void take() {
    done_ = "claim";
    const auto got = claim(w_, {.free = static_cast<std::uint32_t>(below(3)),
                                .ahead = static_cast<std::uint32_t>(below(2)),
                                .suspect_too = below(2) == 0,
                                .types = below(2) == 0 ? "work" : "work mail"});
    for (const auto& j : jobs_of(got)) {
      CHECK(j.fence > last_);
      last_ = j.fence;
      started_.push_back(j);
    }
  }

  void end() {
    if (started_.empty()) return;
    done_ = "settle";
    const auto& j = started_[below(started_.size())];  // often an old start
    const bool holds = look(w_, j.id.value).found && get(w_, j.id.value).state == job_state::processing &&
                       get(w_, j.id.value).fence == j.fence;
    const auto before = portrait(w_);
    constexpr how ends[] = {how::succeeded, how::failed, how::removed, how::retry, how::given_back};
    const auto code = settle(w_, j, ends[below(5)], below(2) == 0 ? 0s : 3s);
    if (holds) CHECK(code == errc::none);
    if (!holds) CHECK(portrait(w_) == before);
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
};

}  // namespace

ON_EACH_STORE("Jobs move along legal transitions only, and the books stay right") {
  const std::uint64_t seed = GENERATE(1, 2, 3);
  CAPTURE(seed);
  crowd people(w, seed);
  for (int i = 1; i <= 400; ++i) {
    people.step();
    if (i % 40 == 0) audit(w);
    if (w.survives_reopen)
      if (i % 100 == 0) {
        const auto before = portrait(w);
        w.reopen();
        CHECK(portrait(w) == before);
      }
  }
}
