// What throttlers need of a store: permits and limiters. A part of the contract in storage/store.hpp.
//
// A resource is a throttler's id, "KIND:NAME" in lower case; a dynamic window has one for each of its keys,
// "KIND:NAME/KEY".
//
// Permits. A mutex has one, a semaphore as many as its definition says. They are held by a job's run, in a set; a
// count beside it is changed with it and audited against it. `acquire_permits_request` gives a run all that it asks for
// or none: then the job is parked, as throttled, in the line of the first that is busy. Whatever makes room (a settled,
// lost or deleted job, a higher limit) hands the permit to the oldest waiter whose queue runs, in the same step: it is
// reserved for that job, counts as held, and the job enters its queue's front line. A claim turns what is reserved into
// held, and says so; it can also take those that all jobs of a type need. A queue runs when it is not paused and some
// server has claimed from it or beaten for it of late.
// - A line is ordered by the number that the job drew when it was first parked and keeps until it is admitted.
// - A reservation that nobody claims for `promote_request::reservation` passes on, and its job rejoins at the tail:
//   with its old place it would have the permit again at once, and no worker still.
// - A job that was parked again after `max_failed_wakeups` wakes keeps, from then on, what it could take in the order
//   of names; not in the line of a custom throttler, which may let it wait for as long as it likes.
// - Permits go back when the job leaves processing; strict ones when it is final: until then they belong to the job.
//   Only a job that asks for more than in its last run may lose one before, since it waits in the order of names.
//
// Limiter state. A small versioned value for each window or custom limiter, updated if it still has the version that
// was read, and only within the span of store time that it was computed for. The same step parks those who were
// deferred, wakes as many waiters as the new value counts, and says when each line may be looked at again (its next
// check). A line that opens while none of its queues runs stands still: it loses its next check, and gets another when
// one of them runs again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sluice/error.hpp>
#include <sluice/job.hpp>
#include <sluice/throttler_status.hpp>
#include <sluice/throttling.hpp>

#include "core/describe.hpp"

namespace sluice::storage {

// One run, named so that an old one cannot be taken for a new one.
struct run_key {
  job_id id;
  sluice::fence fence;
};

inline constexpr std::uint32_t max_failed_wakeups = 3;
inline constexpr std::uint32_t max_parked = 250;  // by one claim

// How soon a line that is open is told of again, when no update has moved its next check.
inline constexpr duration recheck_interval = std::chrono::seconds(1);

// How long a queue counts as served after a server's last sign.
inline constexpr duration served_for = std::chrono::seconds(30);

// The names in both, in order, each once.
std::vector<std::string> all_of(std::vector<std::string> some, const std::vector<std::string>& others);

// Permits for runs that are processing. Asking again is the same grant.
struct acquire_permits_request {
  static constexpr std::string_view request_name = "acquire_permits";
  struct run {
    run_key key;
    std::vector<std::string> permits;  // in the order of names, each once
    bool strict = false;
    bool park = true;  // false: when it cannot have them, it is only told so
  };
  std::vector<run> runs;

  std::size_t weight() const { return 1 + runs.size(); }
};
struct acquire_permits_answer {
  // parked: also by the same request before. deferred: it would have been parked. stale: the run is no longer the job's
  // current one. undecided: there is no such semaphore, and nothing was changed. None is rejected.
  struct verdict {
    admission what = admission::stale;
    std::string resource;  // parked, deferred, undecided: which
  };
  std::vector<verdict> each;
};

// A limiter as it is now.
struct limiter_record {
  std::uint64_t version = 0;  // 0: never written
  std::string state;
  time_point now{};        // the store's clock
  std::string definition;  // empty: there is none
  struct line {
    std::string resource;
    std::uint64_t waiting = 0;  // those whose queues run
  };
  std::vector<line> lines;  // of the limiter and its keys, those with waiters, by name; at most 1000
};
struct read_limiter_request {
  static constexpr std::string_view request_name = "read_limiter";
  std::string limiter;
};
struct read_limiter_answer {
  limiter_record limiter;
};

inline constexpr std::size_t longest_state = std::size_t{1} << 20;  // it is read and written as a whole

struct update_limiter_request {
  static constexpr std::string_view request_name = "update_limiter";
  std::string limiter;
  std::uint64_t version = 0;   // as it was read
  std::string state;           // at most `longest_state`, else too_large
  time_point from{}, until{};  // the span, of which the end is outside
  struct wake {
    std::string resource;
    std::uint64_t count = 0;  // at most; the oldest whose queues run. Their slots are good before `until`.
  };
  std::vector<wake> wakes;
  struct park {
    run_key run;
    std::string resource;
  };
  std::vector<park> parks;      // their permits go back, as in `acquire_permits_request`
  std::vector<run_key> let_in;  // whom the new value counts: looked at only
  struct next_check {
    std::string resource;
    std::optional<time_point> at{};  // kept while somebody waits there; none: nobody should, but if so it is set anew
  };
  std::vector<next_check> next_checks;

  std::size_t weight() const;
};
struct update_limiter_answer {
  bool updated = false;    // false: nothing was changed
  limiter_record limiter;  // afterwards
  std::uint64_t woken = 0;
  std::vector<acquire_permits_answer::verdict> parked;
  std::vector<errc> let_in;  // none, or stale_fence: it must not run, perhaps it was parked by the same step before
};

// Adds or changes a definition. With `config` (the text of a configuration) only when that is another one than last
// time.
struct define_request {
  static constexpr std::string_view request_name = "define";
  std::string resource;
  std::string text;                      // core/throttlers.hpp
  std::optional<std::uint64_t> permits;  // of a semaphore; a mutex has one without a definition. Unlimited: see below.
  std::string config;
};
void describe(auto& v, described<define_request> auto& r) {
  v("resource", r.resource)("text", r.text)("permits", r.permits)("config", r.config);
}
inline constexpr std::uint64_t unlimited_permits = std::uint64_t{1} << 52;
// As the store knows it. What the definition says is checked before, by core/throttler_rules.cpp.
define_request to_define(const throttler& definition);
struct define_answer {
  enum class how : std::uint8_t { unchanged, added, changed } what = how::unchanged;
  std::string before{};     // its text, also where it stays; empty: it was not defined
  std::string config{};     // the configuration's text that was applied last before; empty: none, or not asked by one
  std::uint64_t woken = 0;  // of its line, by a higher limit
};
constexpr std::array<std::string_view, 3> words_of(define_answer::how) { return {"unchanged", "added", "changed"}; }
void describe(auto& v, described<define_answer> auto& a) {
  v("what", a.what)("before", a.before)("config", a.config)("woken", a.woken);
}

// none (also when there is none), illegal_transition when it is held or waited for.
struct undefine_request {
  static constexpr std::string_view request_name = "undefine";
  std::string resource;
};
void describe(auto& v, described<undefine_request> auto& r) { v("resource", r.resource); }

// What is defined, held or waited for, by name.
struct throttlers_request {
  static constexpr std::string_view request_name = "throttlers";
  std::uint32_t limit = 200;
  std::string after;  // resources behind this one
  bool only_defined = false;
};
void describe(auto& v, described<throttlers_request> auto& r) {
  v("limit", r.limit)("after", r.after)("only_defined", r.only_defined);
}
struct throttler_row {
  std::string resource;
  std::string definition;  // empty: a mutex, or one that was removed
  std::uint64_t held = 0;  // reserved ones included
  std::uint64_t waiting = 0;
  std::optional<time_point> next_at;  // the next check of its line
};
void describe(auto& v, described<throttler_row> auto& r) {
  v("resource", r.resource)("definition", r.definition)("held", r.held)("waiting", r.waiting)("next_at", r.next_at);
}
struct throttlers_answer {
  std::vector<throttler_row> throttlers;
  std::string next;  // empty: that was all
};
void describe(auto& v, described<throttlers_answer> auto& a) { v("throttlers", a.throttlers)("next", a.next); }

// One resource with the first of its holders and waiters.
struct throttler_request {
  static constexpr std::string_view request_name = "throttler";
  std::string resource;
  std::uint32_t limit = 20;
};
void describe(auto& v, described<throttler_request> auto& r) { v("resource", r.resource)("limit", r.limit); }
struct throttler_answer {
  throttler_row about;
  using holder = throttler_holder;
  std::vector<holder> holders;  // the oldest first
  std::vector<job_id> waiters;  // in line
  std::string state;            // of its limiter
  std::string config{};         // the configuration's text that was applied last; empty: none
};
void describe(auto& v, described<throttler_answer> auto& a) {
  v("about", a.about)("holders", a.holders)("waiters", a.waiters)("state", a.state)("config", a.config);
}

// All of its holders, the oldest first. They are gathered as a whole for each page.
struct holders_request {
  static constexpr std::string_view request_name = "holders";
  std::string resource;
  std::uint32_t limit = 200;  // 1 to 200
  std::string after{};

  std::size_t weight() const { return 1 + limit; }
};
void describe(auto& v, described<holders_request> auto& r) {
  v("resource", r.resource)("limit", r.limit)("after", r.after);
}
struct holders_answer {
  holder_page page;
};
void describe(auto& v, described<holders_answer> auto& a) { v("page", a.page); }
// All of its waiters, in line.
struct waiters_request {
  static constexpr std::string_view request_name = "waiters";
  std::string resource;
  std::uint32_t limit = 200;  // 1 to 200
  std::string after{};

  std::size_t weight() const { return 1 + limit; }
};
void describe(auto& v, described<waiters_request> auto& r) {
  v("resource", r.resource)("limit", r.limit)("after", r.after);
}
struct waiters_answer {
  waiter_page page;
};
void describe(auto& v, described<waiters_answer> auto& a) { v("page", a.page); }

// Wakes whoever fits and was not woken, and opens lines of limiters that have no next check: a queue runs again, or its
// server came back. `after`: resources behind this one.
struct reconcile_request {
  static constexpr std::string_view request_name = "reconcile";
  std::uint32_t limit = 1000;
  std::string after;
};
void describe(auto& v, described<reconcile_request> auto& r) { v("limit", r.limit)("after", r.after); }
struct reconcile_answer {
  std::uint64_t woken = 0;
  std::string next;  // empty: that was all
};
void describe(auto& v, described<reconcile_answer> auto& a) { v("woken", a.woken)("next", a.next); }

inline constexpr std::uint64_t max_counted = 10000;  // jobs that go before one

// What a job waits for, besides what `job` says.
struct explain_request {
  static constexpr std::string_view request_name = "explain";
  job_id id;
};
void describe(auto& v, described<explain_request> auto& r) { v("id", r.id); }
struct explain_answer {
  std::optional<job> found;
  errc code = errc::none;      // not_found, damaged_record
  std::uint32_t failures = 0;  // its failed runs so far
  bool paused = false;         // its queue
  bool served = false;         // its queue, by a server that is alive
  // enqueued: those of its queue that go first. throttled: those of its line. Above `max_counted`: more than that.
  std::uint64_t before = 0;
  std::uint64_t running = 0;                          // of its queue
  throttler_answer waits_for;                         // throttled
  std::vector<job_id> open_parents{};                 // awaiting: those that have not ended; a group as @NAME
  std::optional<time_point> start_by{}, finish_by{};  // of a job that waits
  // awaiting: how many parents it has, how many it needs, and how many ended as it wants
  std::uint64_t parents = 0, need = 0, met = 0;
  std::vector<group_status> open_groups{};  // of open_parents
  group_name cancelled_group{};             // whose member it is; it will not run
};
void describe(auto& v, described<explain_answer> auto& a) {
  v("paused", a.paused)("served", a.served)("before", a.before)("running", a.running)("waits_for", a.waits_for);
  v("open_parents", a.open_parents)("start_by", a.start_by)("finish_by", a.finish_by)("parents", a.parents);
  v("need", a.need)("met", a.met)("open_groups", a.open_groups)("cancelled_group", a.cancelled_group);
}

}  // namespace sluice::storage
