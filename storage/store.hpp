// What survives a crash. The contract speaks jobs, not sets: every request below is one atomic
// transition (docs/job_lifecycle.md), each of its elements validates before it writes and succeeds or
// fails alone, and repeating a request answers as the first time, but for whether it changed anything. SQLite is one
// implementation; tests/storage/ holds the suite that every implementation passes.
//
// Time: the store's own clock decides leases and due times; requests carry durations only.
// Fences: one number for the whole store, max(last + 1, now in µs), drawn at every claim, for every lock and for every
// place in a line. Threads: a store is used by one thread at a time (storage/shared_store.hpp).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <sluice/error.hpp>
#include <sluice/job.hpp>
#include <sluice/options.hpp>

#include "core/clock.hpp"
#include "core/describe.hpp"
#include "core/pipeline.hpp"
#include "storage/admission.hpp"
#include "storage/hint.hpp"
#include "storage/locks.hpp"
#include "storage/operator_log.hpp"
#include "storage/schedules.hpp"
#include "storage/totals.hpp"

namespace sluice::storage {

namespace machine {
class library;  // machine/library.hpp; null for this program's own
}

inline constexpr std::uint32_t largest_page = 200;

// Stores new jobs at the tail of their queues, as scheduled, or as awaiting the ends of others. Per job: none,
// id_conflict, unique_conflict, group_closed, or not_found for a parent or a group.
struct enqueue_request {
  static constexpr std::string_view request_name = "enqueue";
  std::vector<prepared_job> jobs;
  bool all_or_none = false;  // one step stores all, or none: those that are not at fault are refused

  std::size_t weight() const;
};
// Of a request that stores all or none.
inline constexpr std::size_t max_all_jobs = 1'000, max_all_parents = 2'000, max_all_bytes = 4 * 1024 * 1024;
struct enqueue_answer {
  struct note {
    enum class what : std::uint8_t {
      same,
      duplicate,
      forgotten,  // duplicate of one that is not kept any more
      extended,
      replaced,
      missing,
      no_group,
      sealed,
      cancelled,
      circle,
      other_group,
      refused,
      own_parent,
      with_others,
      other_content
    };
    what is = what::same;
    std::string about;  // whose key it is, the parent, the group, or what differs
  };
  std::vector<errc> each;
  std::map<std::size_t, note> notes{};  // by place, of those of which there is more to say
};
// What came of one of them, or why it was not stored.
result<enqueue_report> report_of(const job_id& id, const enqueue_answer& told, std::size_t place);

// Groups. Answered by a change_answer: not_found, group_closed, illegal_transition.
struct change_group_request {
  static constexpr std::string_view request_name = "change_group";
  enum class what : std::uint8_t { create, seal, cancel };
  what change = what::create;
  new_group group;  // of the others, its name
};
constexpr std::array<std::string_view, 3> words_of(change_group_request::what) { return {"create", "seal", "cancel"}; }
void describe(auto& v, described<change_group_request> auto& r) { v("change", r.change)("group", r.group); }
struct groups_request {
  static constexpr std::string_view request_name = "groups";
  group_name only{};  // empty: a page
  std::uint32_t limit = 50;
  std::string after{};
};
void describe(auto& v, described<groups_request> auto& r) { v("only", r.only)("limit", r.limit)("after", r.after); }
struct groups_answer {
  group_page page;
};
void describe(auto& v, described<groups_answer> auto& a) { v("page", a.page); }
// Members of a group that have failed, those groups that are members left out.
struct failed_members_request {
  static constexpr std::string_view request_name = "failed_members";
  group_name group;
  std::uint64_t skip = 0;
  std::uint32_t limit = largest_page;
};
void describe(auto& v, described<failed_members_request> auto& r) {
  v("group", r.group)("skip", r.skip)("limit", r.limit);
}

// The parents of a job that has not ended, in the order in which they were named.
struct parents_request {
  static constexpr std::string_view request_name = "parents";
  job_id id;
};
void describe(auto& v, described<parents_request> auto& r) { v("id", r.id); }
struct parents_answer {
  std::vector<parent_state> parents;
};
void describe(auto& v, described<parents_answer> auto& a) { v("parents", a.parents); }

// A job whose run was lost may have killed its server, or was only there when it died. With its second loss it
// becomes a suspect: a server runs one of them at a time, so that the one that kills takes few along.
inline constexpr std::uint32_t suspect_after_losses = 2;
inline constexpr bool is_suspect(std::uint32_t losses) { return losses >= suspect_after_losses; }

// Takes the first ready jobs of a queue, `max_answer_bytes` of them: its front line, then its others by age.
//
// Must hold: claims of one slot of (server, queue) come one after the other, and `op` grows within it. Those of two
// slots come in any order.
//
//   the job                                        what becomes of it
//   its type is not in `types`                     moves to the line type:NAME, from which servers that know it claim
//   a suspect, without `allow_suspect`             stays where it is
//   its type is in `permits`, and all are free     claimed with its permits, in the same step
//   the same, and one is not free                  parked, as by `acquire_permits_request`; without `park`: claimed
//                                                  without any. Its type is in `chains`: see there
//   the same, and it was woken, or its             claimed without any more
//   semaphore is not defined
//   any other                                      claimed
struct claim_permits {
  std::vector<std::string> resources;  // in the order of names, each once; relaxed ones
  bool park = true;
};
// How long a server may take to come for what another has left to it.
inline constexpr duration turn_time = std::chrono::milliseconds(5);
// What one answer carries of jobs: their records, histories and runs; the first of them is told however large it is.
inline constexpr std::uint32_t max_answer_bytes = 4194304;
using permits_by_type = std::map<std::string, claim_permits, std::less<>>;
struct claim_request {
  static constexpr std::string_view request_name = "claim";
  server_id server;
  queue_name queue;
  std::uint64_t op = 0;    // no other claim of the server has it; repeating it repeats the answer
  std::uint32_t free = 0;  // jobs that can start at once
  // Claimed beyond those: never a suspect nor a type in `no_prefetch`, and a type in `permits` only fresh and while
  // half of each limit is free. Those behind such a job wait with it.
  std::uint32_t ahead = 0;
  bool allow_suspect = false;  // may one of `free` be a suspect?
  duration lease{0};
  std::shared_ptr<const std::set<std::string, std::less<>>> types;
  std::shared_ptr<const std::set<std::string, std::less<>>> no_prefetch;  // types never claimed ahead
  std::uint32_t slot = 0;
  std::shared_ptr<const permits_by_type> permits{};
  // Jobs of a type may share one permit, of types that need one alone: a chain. Those that wait for the permit of a
  // woken one are claimed with it, besides `free` and `ahead`. The server runs them one after the other, in the order
  // of their fences, and gives back those that it does not come to. Each of them has the permit, which comes free when
  // all have ended.
  struct chain {
    std::uint32_t most = 1;
    // The server has no permit of this type and would like one: whoever brings one back leaves it to the server for
    // `turn_time`, if it has a free worker now and somebody waits.
    bool wants_turn = false;
    struct growth {
      sluice::fence first;
      std::uint32_t by = 0;
    };
    std::vector<growth> growing{};  // chains that go on, when no other server wants a turn
  };
  std::map<std::string, chain, std::less<>> chains{};

  std::size_t weight() const { return 1 + free + ahead; }
};
struct claimed_job {
  sluice::job job;             // as it is now: processing, with fence and attempt
  std::uint32_t failures = 0;  // failed runs so far
  // What it has: permits that the claim took, were reserved for it or are its own, and slots that have not lapsed.
  std::vector<std::string> admitted{};
  sluice::fence chain{};                // the first of its chain; 0 when it is in none
  std::optional<duration> finish_in{};  // what is left of finish_within
};
struct claim_answer {
  std::vector<claimed_job> jobs;
  std::uint32_t parked = 0;          // jobs that lacked a permit; at most `max_parked`, then a claim may find more
  bool has_waiting_suspect = false;  // one stands ready in the queue that this claim did not take
  bool cut = false;                  // at `max_answer_bytes`: more may be claimed at once
  bool left_to_another = false;      // a woken job was, for `turn_time`: then it is for who comes first
  std::optional<duration> longest_wait_in_queue{};  // how long the first of them had been ready
};

// Ends one run. none, or stale_fence when the run is no longer the job's current one.
struct settlement {
  run_key run;
  run_end end = run_end::succeeded;           // failed and given_up: the job has failed for good
  std::string cause;                          // one word, for the history
  std::string text;                           // the result, or why not
  std::string reason;                         // why the job is in its new state
  duration delay{0};                          // retry, deferred: ready again after this
  bool failure = false;                       // counts as a failed run
  std::string throttler{};                    // that did not let it in, if one did not
  duration ran{0};                            // how long the handler ran
  duration waited{0};                         // from the claim until the handler began, or the end when it never did
  std::optional<progress_report> progress{};  // the last that it said: what was sent of it may come too late
  std::vector<watched_part> watched{};
  // Stored in the same step when it ends as succeeded; what came of those that could not be stands in the reason. For
  // these the end is refused when the store is full.
  std::vector<prepared_job> next{};
  job_type type{};  // to be counted by, never stored; empty: counted by queue alone
};
// Of its texts.
inline std::size_t bytes_of(const settlement& end) {
  auto size = end.text.size() + end.reason.size();
  for (const auto& job : end.next)
    size += job.record.size();
  return size;
}
struct settle_request {
  static constexpr std::string_view request_name = "settle";
  std::vector<settlement> runs;
  std::optional<claim_request> next;  // in the same step
  queue_name queue{};                 // of all of them, to be counted by; empty: not counted

  std::size_t weight() const;
};
// Where the store cannot take an end, its answer is for the whole request; a shared store tells them apart
// (storage/settle_in_parts.hpp). Then `each` may also be storage_full or storage_damaged, for an end that the store
// cannot take now, and storage_busy for one that it did not come to; `next` is empty when the claim was refused so.
struct settle_answer {
  std::vector<errc> each;
  claim_answer next;
};

// Holds runs for another `lease`. Per run: none, stale_fence.
struct renew_request {
  static constexpr std::string_view request_name = "renew";
  std::vector<run_key> runs;
  duration lease{0};

  std::size_t weight() const { return 1 + runs.size(); }
};
struct renew_answer {
  std::vector<errc> each;
  std::vector<run_key> cancelled{};  // of those that are held: who was asked to end
};

// What running handlers say about how far they are. Per run: none, stale_fence.
struct progress_request {
  static constexpr std::string_view request_name = "progress";
  struct run_report {
    run_key run;
    progress_report report;
  };
  std::vector<run_report> runs;

  std::size_t weight() const { return 1 + runs.size(); }
};
struct progress_answer {
  std::vector<errc> each;
  std::vector<run_key> cancelled{};  // as for renew
};

// Moves due scheduled jobs to the tails of their queues, oldest first, and passes on what was reserved too long.
struct promote_request {
  static constexpr std::string_view request_name = "promote";
  std::uint32_t limit = 1000;
  duration reservation = std::chrono::seconds(5);  // how long a permit is kept for a woken job: a sweep_interval
};
struct promote_answer {
  std::uint32_t moved = 0;
  std::optional<duration> next_in;  // until the next is due; 0 when more are due now
  std::vector<std::string> open;    // limiters with a line that may be looked at again, until an update says otherwise
  std::optional<duration> schedule_in;  // until the next schedule is due; 0 when one is due now
};

// Runs that look lost: past their lease, or with a lease so far ahead that the clock must have
// been set back. Changes nothing; the reaper looks twice (scheduler/reaping.hpp).
struct expired_request {
  static constexpr std::string_view request_name = "expired";
  std::uint32_t limit = 10'000;  // more than a server holds: what is not told is not looked at twice
};
struct expired_lease {
  run_key run;
  std::uint64_t renewals = 0;
  duration lease{0};
  bool clock_went_back = false;
};
struct expired_answer {
  std::vector<expired_lease> leases;
  std::optional<duration> next_in;  // until the next lease ends
};

// Takes runs away whose renewal count is still the one seen. Each goes back to its queue with one more loss or, at
// `max_losses`, is failed with cause `lost`; one that was asked to end is deleted. Per run: none, stale_fence.
struct reap_request {
  static constexpr std::string_view request_name = "reap";
  std::vector<expired_lease> leases;
  std::uint32_t max_losses = 3;
};
struct reap_answer {
  std::vector<errc> each;
  std::vector<job_id> failed{};     // of those, for good
  std::vector<job_id> cancelled{};  // of those, deleted
};

// Removes final jobs beyond their retention, oldest first, servers silent for `server_age`, locks whose lease has been
// over for a day, and the names of queues that nobody has used for a week; `limit` of each kind. What is in quarantine
// stays, and is told.
struct prune_request {
  static constexpr std::string_view request_name = "prune";
  retention_options retention;
  duration server_age{0};
  std::uint32_t limit = 1000;
};
struct prune_answer {
  std::uint32_t removed = 0;
  bool more = false;
  std::uint64_t quarantined = 0, quarantined_bytes = 0;
};

// A person's word about jobs: that each waits in its queue to be run, or that it is deleted; its history tells of a
// change. Per job: none (also when it is so already), not_found, damaged_record; a requeue is an illegal_transition for
// a job that runs or is throttled. A cancel of one that runs asks it to end and takes nothing from it: unless it
// succeeds, the end of its run is that of the job, as deleted. A cancel is an illegal_transition for a job that has
// succeeded or failed.
// An error of the whole request may come when the first of several jobs are changed already.
enum class job_change : std::uint8_t { requeue, remove, cancel };
constexpr std::string_view name_of(job_change change) {
  return change == job_change::requeue ? "requeue" : change == job_change::remove ? "remove" : "cancel";
}
inline constexpr std::size_t max_changed = 100;  // ids of one request; more is an invalid_argument
struct change_jobs_request {
  static constexpr std::string_view request_name = "change_jobs";
  job_change change = job_change::requeue;
  std::vector<job_id> ids;
  std::optional<job_state> only_in{};  // illegal_transition in any other
  author by{};                         // as the job's reason says

  std::size_t weight() const { return 1 + ids.size(); }
};
struct change_answer {
  errc code = errc::none;
  std::string message{};
  bool changed = true;  // false: it was so already; nothing of a refusal
  bool asked = false;   // by a cancel: it runs, and is to end
  error_subject subject = error_subject::other;
};
// Of an answer with a code.
inline error refusal(const change_answer& told) { return {told.code, told.message, told.subject}; }
struct change_jobs_answer {
  std::vector<change_answer> each;
};
void describe(auto& v, described<change_answer> auto& a) {
  v("code", a.code)("message", a.message)("changed", a.changed)("asked", a.asked);
}

// Answered by a change_answer.
struct pause_request {
  static constexpr std::string_view request_name = "pause";
  queue_name queue;
  bool paused = true;
};
void describe(auto& v, described<pause_request> auto& r) { v("queue", r.queue)("paused", r.paused); }

// A server says that it lives, or leaves.
struct heartbeat_request {
  static constexpr std::string_view request_name = "heartbeat";
  server_info server;
};
struct heartbeat_answer {
  bool known = false;  // it was in the store before
};
void describe(auto& v, described<heartbeat_answer> auto& a) { v("known", a.known); }
struct deregister_request {
  static constexpr std::string_view request_name = "deregister";
  server_id server;
};
void describe(auto& v, described<deregister_request> auto& r) { v("server", r.server); }

struct get_request {
  static constexpr std::string_view request_name = "get";
  job_id id;
};
void describe(auto& v, described<get_request> auto& r) { v("id", r.id); }
struct get_answer {
  std::optional<job> found;
  errc code = errc::none;  // not_found, damaged_record
};
struct list_request {
  static constexpr std::string_view request_name = "list";
  job_query query;

  std::size_t weight() const;
};
// Ends at `max_answer_bytes`, too, and at `max_records_read`.
struct list_answer {
  job_page page;
};
struct quarantine_request {
  static constexpr std::string_view request_name = "quarantine";
  queue_name queue{};  // empty: all
  std::uint32_t limit = largest_page;
  std::string after{};

  std::size_t weight() const { return 1 + limit; }
};
void describe(auto& v, described<quarantine_request> auto& r) {
  v("queue", r.queue)("limit", r.limit)("after", r.after);
}
struct quarantine_answer {
  quarantine_page page;
};
void describe(auto& v, described<quarantine_answer> auto& a) { v("page", a.page); }
// One of them.
struct quarantined_job_request {
  static constexpr std::string_view request_name = "quarantined_job";
  job_id id;
};
void describe(auto& v, described<quarantined_job_request> auto& r) { v("id", r.id); }
struct quarantined_job_answer {
  std::optional<quarantined_record> found;
};
// Removes one of them for good, if it is still the one that was put aside at `since`; none: whichever it is. Answered
// by a change_answer: illegal_transition while others wait for its end, or may ask how it ended.
struct drop_quarantined_request {
  static constexpr std::string_view request_name = "drop_quarantined";
  job_id id;
  std::optional<time_point> since{};
};
void describe(auto& v, described<drop_quarantined_request> auto& r) { v("id", r.id)("since", r.since); }
struct queues_request {
  static constexpr std::string_view request_name = "queues";
};
// Jobs of a queue that wait for a server which knows their types: those of which one that claimed did not know them.
struct queue_unknown {
  queue_name queue;
  std::uint64_t jobs = 0;
  std::uint64_t types = 0;
  std::vector<std::pair<job_type, std::uint64_t>> most{};  // the types with the most of them, and how many
};
void describe(auto& v, described<queue_unknown> auto& q) {
  v("queue", q.queue)("jobs", q.jobs)("types", q.types)("most", q.most);
}
inline constexpr std::size_t max_unknown_named = 3;  // types, of a queue
struct queues_answer {
  std::vector<queue_counts> queues;
  std::vector<queue_unknown> unknown{};  // only queues with such jobs
};
void describe(auto& v, described<queues_answer> auto& a) { v("queues", a.queues)("unknown", a.unknown); }
struct queue_names_request {
  static constexpr std::string_view request_name = "queue_names";
};
// Which of these queues have jobs that wait to be claimed, by whoever knows their types.
struct ready_request {
  static constexpr std::string_view request_name = "ready";
  std::vector<std::string> queues;
};
void describe(auto& v, described<ready_request> auto& r) { v("queues", r.queues); }
struct names_answer {
  std::vector<std::string> names;
};
void describe(auto& v, described<names_answer> auto& a) { v("names", a.names); }
struct servers_request {
  static constexpr std::string_view request_name = "servers";
};
struct servers_answer {
  std::vector<server_info> servers;
};
void describe(auto& v, described<servers_answer> auto& a) { v("servers", a.servers); }

// What a look at all that is stored found, and what was done about it; empty: nothing, it is as it was.
struct repaired_finding {
  std::string finding, done;
};
using telling = std::function<void(const repaired_finding&)>;

// One of them. Its copying and its destruction are compiled once (store.cpp): with forty kinds they are long, and every
// file that asks would have them.
class request
    : public std::variant<enqueue_request, claim_request, settle_request, renew_request, progress_request,
                          promote_request, expired_request, reap_request, prune_request, change_jobs_request,
                          pause_request, heartbeat_request, deregister_request, get_request, list_request,
                          queues_request, queue_names_request, ready_request, servers_request, acquire_permits_request,
                          read_limiter_request, update_limiter_request, define_request, undefine_request,
                          throttlers_request, throttler_request, reconcile_request, explain_request, lock_request,
                          schedules_request, schedule_request, due_request, update_schedule_request, locks_request,
                          quarantine_request, totals_request, log_action_request, operator_log_request, holders_request,
                          waiters_request, parents_request, change_group_request, groups_request,
                          failed_members_request, quarantined_job_request, drop_quarantined_request> {
public:
  using variant::variant;
  request() = default;
  request(const request&);
  request(request&&) noexcept;
  request& operator=(const request&);
  request& operator=(request&&) noexcept;
  ~request();
};

// Nothing to say but that it happened.
struct done_answer {};
void describe(auto&, described<done_answer> auto&) {}

// An error means that the request as a whole was not carried out (unknown_outcome: may have been).
class answer
    : public std::variant<error, enqueue_answer, claim_answer, settle_answer, renew_answer, progress_answer,
                          promote_answer, expired_answer, reap_answer, prune_answer, change_answer, change_jobs_answer,
                          done_answer, heartbeat_answer, get_answer, list_answer, queues_answer, names_answer,
                          servers_answer, acquire_permits_answer, read_limiter_answer, update_limiter_answer,
                          define_answer, throttlers_answer, throttler_answer, reconcile_answer, explain_answer,
                          lock_answer, schedules_answer, schedule_answer, due_answer, update_schedule_answer,
                          locks_answer, quarantine_answer, totals_answer, operator_log_answer, holders_answer,
                          waiters_answer, parents_answer, groups_answer, quarantined_job_answer> {
public:
  using variant::variant;
  answer() = default;
  answer(const answer&);
  answer(answer&&) noexcept;
  answer& operator=(const answer&);
  answer& operator=(answer&&) noexcept;
  ~answer();
};

// The order in which jobs of all states are listed.
inline constexpr job_state listing_order[] = {job_state::processing, job_state::enqueued,  job_state::scheduled,
                                              job_state::awaiting,   job_state::throttled, job_state::failed,
                                              job_state::succeeded,  job_state::deleted};

// No clock runs a lease ahead by itself; more than this and it must have been set back.
inline constexpr duration clock_slack = std::chrono::seconds(1);

// How many jobs one request reads when it must look inside them: about as many milliseconds as a claim of 200 takes.
inline constexpr std::uint32_t max_records_read = 400;

// How long a store waits for another process to let go before it answers storage_busy.
inline constexpr duration busy_timeout = std::chrono::seconds(5);

// How much work a request is, by number and by bytes, for bounding batches: 1, or what it says itself.
std::size_t weight(const request& r);

// Tells that other processes may have made work. Its thread ends with it.
class watch {
public:
  virtual ~watch() = default;
};

class store {
public:
  virtual ~store() = default;

  // Carries out all, in order, as one commit, and answers each at its place. When one of them is too much
  // for the store, each is carried out alone, so that it costs the others nothing.
  virtual std::vector<answer> apply(std::span<const request> batch) = 0;

  // Whom the last `apply` gave work, in this process too; nobody when it made no job ready or due.
  virtual const hint& made_work() const = 0;

  // Housekeeping that nobody should wait for; the shared store calls it after the answers are out.
  virtual void tidy() = 0;

  // Calls `callback` from a thread of its own whenever another process may have made work. Null when
  // there is no other process. The callback may ask this store: who ends the watch calls `stop_waiting` before.
  virtual std::unique_ptr<watch> watch_others(std::function<void(const hint&)> callback) = 0;

  virtual sluice::durability durability() const = 0;
  // What decides it, for people.
  virtual std::string settings() const = 0;

  // Whether `apply` can be carried out now; connects when it must, within a second or two. While this fails, `apply`
  // answers storage_unavailable and nothing is stored.
  virtual result<void> ready() = 0;

  // Looks at everything that is stored, while others go on, and tells what should not be: a job in no line or in two,
  // a running one without a lease, something that belongs to nobody. Empty: all is well.
  virtual result<std::vector<std::string>> audit() = 0;

  // The same, and mends what the rest of the store tells how to mend, while others go on: what jobs have to do with
  // others and with time, and when queues are looked at. Tells what it has mended, each slice once it stands, and
  // behind that what is left. What was told is not taken back when an error ends it.
  virtual result<void> repair(const telling& tell) = 0;

  // Reads all that is stored as the file's keeper checks it, on a thread of its own; what it finds is logged, and then
  // the store has failed for good. Any thread may call this; the first time counts.
  virtual void check_in_background() {}

  // Nothing will be written any more before the program starts anew: the file is lost, or it is damaged, which ends
  // nobody's looks. Asked by the thread that uses the store.
  virtual bool has_failed_for_good() const { return false; }

  // Set by another thread to make a wait for other processes end with storage_busy.
  virtual void stop_waiting() = 0;

  // Another way into what is stored here, for a thread of its own; what is asked here and there at one time is carried
  // out in any order. It connects when it is first asked whether it is ready. Null when there is none.
  virtual std::unique_ptr<store> open_second_connection() { return nullptr; }
};

// Opens what the URL names: sqlite:FILE or sqlite::memory:, with options (docs/configuration.md); or one of
// storage/redis/url.hpp. Errors: invalid_argument, storage_*, io_error. `time` stands in for the store's own clock and
// must outlive it. By `mode` a store that is not there is made, or not_found; and one that is only looked at is opened
// without its lock and never written: what would write is invalid_argument, and what cannot be read stays where it is.
result<std::unique_ptr<store>> open_store(const std::string& url, const clock* time = nullptr,
                                          open_mode mode = open_mode::may_make,
                                          const machine::library* known = nullptr);

// What came of raising the layout of a store.
struct raising {
  std::uint64_t from = 0, to = 0;      // one number when nothing was to be done
  std::vector<std::string> waits_for;  // names of servers that work on it with the older layout: nothing was done
};
// Raises a store that an older Sluice made to the layout of this one, in one step, when no server works on it. Nothing
// else does. storage_newer; storage_older when it is too old; not_found; and as `open_store`.
result<raising> raise_layout(const std::string& url, const clock* time = nullptr,
                             const machine::library* known = nullptr);

// The names of libraries of rules that other versions of Sluice have left in a Redis; none of a file. `remove`: they
// are deleted; a program that still uses one loads it again at its next call, if it may (function|load) and Redis has
// room: else it waits. storage_unavailable, or as `open_store`.
result<std::vector<std::string>> other_libraries(const std::string& url, bool remove,
                                                 const machine::library* known = nullptr);

// What is said of a store that is not raised yet: whom it waits for.
error waits_for_servers(const std::string& url, const raising& said);

// Whether a URL names a store, without opening it. The error says what is allowed.
result<void> check_url(const std::string& url);

}  // namespace sluice::storage
