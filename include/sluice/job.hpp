/// A job as its enqueuer says it (`new_job`) and as the store knows it (`job`).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <sluice/error.hpp>
#include <sluice/retry.hpp>
#include <sluice/types.hpp>
#include <sluice/unique.hpp>

namespace sluice {

/// docs/job_lifecycle.md draws these and the transitions between them. The numbers are stored.
enum class job_state : std::uint8_t {
  enqueued = 1,
  scheduled = 2,
  awaiting = 3,
  throttled = 4,
  processing = 5,
  succeeded = 6,
  failed = 7,
  deleted = 8,
};

std::string_view name_of(job_state state) noexcept;
std::optional<job_state> parse_job_state(std::string_view name) noexcept;

/// succeeded, failed, deleted: only a person (or the API) brings the job back.
bool is_final(job_state state) noexcept;

/// How a parent has to end for a job that runs after it. A group has ended when it was sealed or cancelled and all its
/// members have: as failed when one of them has, else as deleted when one was or it was cancelled, else as succeeded.
enum class parent_end : std::uint8_t {
  succeeded = 1,
  failed = 2,  ///< For good, or its record cannot be read.
  deleted = 4,
  finished = 7,       ///< Any of them.
  first_failure = 8,  ///< Of groups only, and not with others: as soon as a member has failed for good.
};
constexpr parent_end operator|(parent_end a, parent_end b) noexcept {
  return static_cast<parent_end>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}

/// What becomes of a job when too many of its parents did not end as it wants.
enum class when_unmet : std::uint8_t {
  remove,  ///< It is deleted, with the reason.
  run,     ///< It runs all the same.
  keep,    ///< It waits until a person requeues or deletes it.
};

/// What becomes of a job when a parent is not in the store: it never was, or has been removed since it ended.
enum class when_missing : std::uint8_t {
  refuse,  ///< `not_found`; the job is not stored.
  met,     ///< As if that parent had ended as is wanted.
  unmet,   ///< As if it had not.
};

/// Has a job run after others, its parents: jobs and groups. Until then it is `awaiting`. docs/continuations.md
struct run_after {
  std::vector<job_id> parents{};           ///< At most 64, each once. Stored before, or earlier in the same call.
  parent_end on = parent_end::succeeded;   ///< How a parent has to end.
  when_unmet unless = when_unmet::remove;  ///< What happens when it cannot be met any more.
  std::uint32_t need = 0;                  ///< So many parents are enough; 0: all.
  when_missing missing = when_missing::refuse;
  std::vector<group_name> groups{};  ///< Parents, too: 64 in all.
};

/// A run of a member of a group, which may add jobs to that group after it was sealed: `{context.id(),
/// context.fence()}`.
struct group_run {
  job_id id{};
  sluice::fence fence{};
};

/// What to run, said by the enqueuer. Limits: names 1 to 200 bytes of [A-Za-z0-9_.:-]; args are JSON
/// text of at most 1 MiB and 64 levels; headers at most 64 KiB in all.
struct new_job {
  job_type type{};
  std::string args = "{}";                       ///< JSON text; kept byte for byte.
  queue_name queue{};                            ///< Empty: the type's configured queue, else "default".
  job_id id{};                                   ///< Empty: a new one. The same id and content is one job.
  duration delay{0};                             ///< Above 0: becomes ready this much later.
  std::map<std::string, std::string> headers{};  ///< Yours; handed to the handler.
  retry_policy retry{};                          ///< What this job says itself; usually nothing.
  std::optional<duration> timeout{};             ///< How long one run may take. Default: the type's.
  run_after after{};                             ///< No parents: it waits for nobody. A delay counts from its release.
  group_name group{};                            ///< Whose member it is; made before. docs/groups.md
  group_run added_by{};                          ///< Which run of a member of the group adds it, if one does.
  std::optional<unique_rule> unique{};           ///< Default: the type's.
  /// Deleted, as expired, when it has not been started so long after it was due or released. Default: the type's, then
  /// the queue's. 0 to 10 years, also below.
  std::optional<duration> start_within{};
  /// So long after its enqueue it has ended: runs are given what is left of it, and no retry is made that would begin
  /// later. It has failed then, with the cause `deadline`.
  std::optional<duration> finish_within{};
};

/// What came of enqueueing a job.
enum class enqueue_result : std::uint8_t {
  stored,
  same,       ///< It was stored before, by its id.
  duplicate,  ///< It was not stored: another has its unique key.
  extended,   ///< As duplicate, and the other is due by this one's delay now.
  replaced,   ///< It was stored, and took the place of another.
};
std::string_view name_of(enqueue_result what) noexcept;
struct enqueue_report {
  job_id id;  ///< Its own; of a duplicate, and when another was extended, of the job that stands for it.
  enqueue_result what = enqueue_result::stored;
  job_id replaced{};  ///< Whose place it took.
  /// False of a duplicate whose key is held for a period, when the job that has it was removed by its retention.
  bool is_kept = true;
};

/// What came of cancelling a job.
enum class cancel_result : std::uint8_t {
  deleted,      ///< It did not run, and is deleted.
  asked,        ///< It runs, and is asked to stop.
  was_deleted,  ///< It was deleted before; nothing changed, here and below.
  was_asked,
};
/// As a sentence goes on behind the job's id: cancelled, asked to stop, was deleted already, was asked to stop already.
std::string_view name_of(cancel_result what) noexcept;

/// A group, for whoever makes it.
struct new_group {
  group_name name{};
  group_name in{};  ///< It counts as a member of this group, which is not sealed yet.
  duration seal_within =
      std::chrono::hours(24);  ///< It is cancelled unless it was sealed within this time. 1 s to 10 years.
};
/// How far a group is. open + succeeded + failed + deleted are all that were added.
struct group_status {
  group_name name;
  group_name in{};
  bool sealed = false, cancelled = false;
  std::uint64_t open = 0, succeeded = 0, failed = 0, deleted = 0;
  time_point created_at;
  std::optional<time_point> finished_at{};  ///< Since when it has ended.
  std::optional<job_state> ended_as{};      ///< As what: succeeded, failed or deleted.
  std::optional<time_point> seal_by{};      ///< By then it is cancelled, unless it was sealed.
};
struct group_page {
  std::vector<group_status> groups;
  std::string next;  ///< Empty: this was the last page.
};

/// How args and results become C++ values. <sluice/json.hpp> defines it for every type that
/// nlohmann_json converts; specialize it for others. `read` may throw, with a message for people.
///   static T read(const std::string& text);
///   static std::string write(const T& value);
template <class T>
struct json_conversion;
/// Whether there is one: this header alone has none.
template <class T>
concept converted = requires {
  sizeof(json_conversion<T>);
};

/// A job of `type` with these args; the rest of it is yours to set. Needs <sluice/json.hpp>.
template <class Args>
new_job make_job(std::string type, const Args& args) {
  using plain = std::decay_t<const Args>;
  static_assert(converted<plain>, "args need JSON: write #include <sluice/json.hpp>");
  new_job made;
  made.type = job_type(std::move(type));
  made.args = json_conversion<plain>::write(args);
  return made;
}

/// A part of a run that `job_context::watch` timed. What was watched several times in one run is one entry.
struct watched_part {
  std::string system;        ///< What was used, as "REDIS". At most 40 bytes.
  std::string what;          ///< What it was used for, as "Save_TradingSession". At most 80 bytes.
  std::uint64_t times = 0;   ///< How often it ran to its end.
  std::uint64_t failed = 0;  ///< How many of these ended with an exception.
  duration total{0};
  duration longest{0};
};

/// How a run ends: a handler says it, filters may change it, and the store carries it out. The numbers are stored.
enum class run_end : std::uint8_t {
  succeeded = 1,   ///< Done.
  failed = 2,      ///< Failed; the retry policy decides what becomes of the job. Where it has decided: failed for good.
  given_up = 3,    ///< Failed, and no retry: the job ends as its policy's `then` says.
  retry = 4,       ///< Not done; run again after a delay. Counts as a run.
  given_back = 5,  ///< Not done, not counted: back to the front of its queue.
  removed = 6,     ///< Ends as deleted.
  deferred = 7,    ///< As retry, but not counted: a throttler did not let it in, so there was no run.
};

/// As in history: succeeded, failed (also when given up), retry, given_back, deleted, deferred.
std::string_view name_of(run_end end) noexcept;

/// How one run ended, or what a person did to the job: then the fence is 0, the cause requeued, deleted, cancelled or
/// cancel_asked, and the error says who, through what. Causes: succeeded, failed, timed_out, lost, given_back,
/// worker_died, deleted, cancelled, retry, handler_died, throttled, rejected, requeued and the like are plain words for
/// people; programs go by `end`, which is what the run itself said.
struct run_record {
  sluice::fence fence;
  std::uint32_t attempt = 0;
  std::string cause;
  std::string server;
  std::string error;   ///< Empty when it succeeded. With fence 0: who did it.
  time_point started;  ///< When its handler began, or would have: by the store's clock, some milliseconds early.
  time_point ended;    ///< When the store was told.
  std::vector<watched_part> watched{};  ///< In the order in which they first ended; at most 16.
  std::optional<run_end> end{};         ///< None: it was lost, its job was deleted while it ran, or it is none.
  bool failure = false;                 ///< It counts as a failed run.
  std::string throttler{};              ///< "KIND:name" of the one that did not let it in; empty: none, or not known.
};

/// What a running handler last said about how far it is.
struct progress_report {
  double done = 0;   ///< 0 to 1.
  std::string text;  ///< At most 1 KiB.
};

/// A parent of a job, as a client tells it.
struct parent_state {
  job_id id;                         ///< Empty, when it is a group.
  std::optional<job_state> state{};  ///< None: it is not in the store any more. Of a group: processing until it ends.
  std::string result{};              ///< What its handler returned, when it has succeeded.
  bool left_out = false;             ///< The result is: those before it had 4 MiB together.
  std::optional<bool> met{};         ///< Whether it ended as the job wants; none: it has not ended.
  group_name group{};
};

/// What a job has to do with others and with time.
struct job_flow {
  group_name group{};
  std::string unique_key{};  ///< Its type and the text that came out of the rule, as "mail/ann"; or a hash of it.
  /// By when it is deleted unless it has begun, and has failed unless it is over. Of one that awaits others no time to
  /// start runs.
  std::optional<time_point> start_by{}, finish_by{};
  std::vector<parent_state> parents{};  ///< Without states and results, which `client::parents` tells.
};

/// A job as the store knows it. A snapshot: it may have moved on when you read it.
struct job {
  job_id id;
  job_type type;
  queue_name queue;
  std::string args;
  std::map<std::string, std::string> headers;
  retry_policy retry;
  std::optional<duration> timeout;

  job_state state = job_state::enqueued;
  std::uint32_t attempt = 0;  ///< Runs of the handler so far; 1 in the first.
  std::uint32_t losses = 0;   ///< Runs that ended with a lost lease.
  sluice::fence fence;        ///< Of the run that goes on or was throttled, else of the last in `history`.
  std::string line;           ///< "", "front", "suspect" or "type:NAME"; when throttled, the resource.
  std::string server;         ///< Who runs it, when processing.
  std::string reason;         ///< Why it is in this state, in words.
  std::string result;         ///< What the handler returned (at most 1 MiB), when succeeded.
  std::optional<progress_report> progress;  ///< The last that any of its runs reported.
  time_point created_at;
  std::optional<time_point> due_at;       ///< When scheduled: becomes ready then.
  std::optional<time_point> started_at;   ///< When processing: its claim.
  std::optional<time_point> lease_until;  ///< When processing.
  std::optional<time_point> finished_at;  ///< When final.
  std::vector<run_record> history;  ///< The last 20 ended runs and changes by people, at most 48 KiB; oldest first.
  /// What it has a permit of now, or is promised one, as "semaphore:NAME". Told by `client::get` alone.
  std::vector<std::string> permits{};
  job_flow flow{};  ///< Told by `client::get` alone, too.
};

/// A value inside the arguments of a job.
struct argument_query {
  std::string path;   ///< "customer.id", "lines.0.sku": as in the placeholders of throttlers.
  std::string value;  ///< A text itself; a number, true, false or null as it is written.
};

/// Which jobs to list: those of which all holds that is asked for. Of one state: the waiting in the order they will go,
/// the final newest first. Of all states: state after state, the running first, then the waiting, failed, succeeded and
/// deleted.
struct job_query {
  std::optional<job_state> state{};  ///< None: all.
  queue_name queue{};                ///< Empty: all, here and below.
  job_type type{};
  std::string id_begins{};                       ///< How its id begins.
  std::string server{};                          ///< The id of the server that runs it or ran it last, or its name.
  std::map<std::string, std::string> headers{};  ///< Each with this value.
  /// Its instant is at or after `from` and before `to`: when it ended, is due or was claimed, else was created.
  std::optional<time_point> from{}, to{};
  std::optional<argument_query> argument{};
  std::string error{};       ///< Found in its reason or the error of a run, in small letters or capitals.
  std::uint32_t limit = 50;  ///< 1 to 200.
  std::string after{};       ///< `job_page::next` of the page before. Another text: `invalid_argument`.
  bool with_args = true;     ///< False: args and results stay where they are, and are told as empty.
  /// Without args: so many of their first bytes are told all the same, 0 to 120, and no part of a character.
  std::uint32_t first_of_args = 0;
};

/// A page ends at 4 MiB, too, and when more than state and queue is asked for, after 400 jobs were
/// looked at: it may hold fewer jobs than were asked for, or none, and not be the last. Pages are no snapshot: a job
/// whose place in the order changes between them may come twice or not at all, as one that runs, whose place is the end
/// of its lease, and in a list of all states one that goes from state to state.
struct job_page {
  std::vector<job> jobs;
  std::string next;                ///< Empty: this was the last page.
  std::uint32_t records_read = 0;  ///< How many jobs were read for it.
};

/// A job that was put aside since its record could not be read. What is stored of it is kept.
struct quarantined_job {
  job_id id;
  queue_name queue;
  time_point since;
};
struct quarantine_page {
  std::vector<quarantined_job> jobs;
  std::string next;  ///< Empty: this was the last page.
};

/// One of these with what is stored of it, as it was found.
struct quarantined_record {
  job_id id;
  queue_name queue;
  time_point since;
  std::string record;     ///< What was enqueued.
  std::string history;    ///< What had happened to it; empty: nothing.
  std::string run;        ///< Its run; empty: it did not run.
  std::string wrong;      ///< What of it cannot be read, in words.
  bool readable = false;  ///< Whether its record can be read by now, so that it can be enqueued again.
};

/// What came of changing the jobs of one page.
struct changed_page {
  std::uint32_t done = 0;                        ///< Were changed; of ids that were named: are as was asked for.
  std::vector<std::pair<job_id, error>> failed;  ///< Each with the reason; nothing happened to it.
  std::string next;                              ///< As `job_page::next`.
  std::uint32_t records_read = 0;
  std::uint32_t unchanged = 0;  ///< Were so already, as one that another requeued meanwhile.
};

/// How many jobs a queue holds in each state, now. Final jobs count while they are kept.
struct queue_counts {
  queue_name queue;
  bool paused = false;
  std::uint64_t enqueued = 0, scheduled = 0, awaiting = 0, throttled = 0, processing = 0;
  std::uint64_t succeeded = 0, failed = 0, deleted = 0;
  std::uint64_t quarantined = 0;  ///< Records that could not be decoded, kept aside.
  /// Since when the first of the enqueued has been ready, by the store's clock; none: none is enqueued.
  std::optional<time_point> oldest_ready{};
};

/// Which throttlers let in the jobs of a type.
struct type_throttlers {
  job_type type;
  std::vector<std::string> throttlers{};  ///< As "KIND:name"; a name that is made of args stands with its braces.
};

/// A server that has told the store it lives. Silent for a minute: probably gone.
struct server_info {
  server_id id;
  std::string name;
  std::string host;
  std::int64_t pid = 0;
  std::vector<std::string> queues;  ///< As "name:workers".
  std::uint32_t running = 0;
  time_point started_at;
  time_point heartbeat_at;
  durability store = durability::volatile_;  ///< Of the store that it works on.
  /// Whether its program has filters, whose `on_enqueue` other processes cannot call.
  bool has_filters = false;
  std::vector<type_throttlers> throttled{};  ///< By its configuration, of 200 types at most.
  std::vector<job_type> types{};             ///< That it has handlers of, 200 at most.
  bool all_types = false;                    ///< Whether these are all; false too of one that tells none yet.
};

}  // namespace sluice
