/// How work gets in and how it is looked at. Needs no CAF. Every call blocks until the store has
/// answered or the deadline passed. Threads: one client may be shared by all. One that was moved from may be assigned
/// and destroyed; its other functions throw `bad_result`.
#pragma once

#include <concepts>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sluice/error.hpp>
#include <sluice/explanation.hpp>
#include <sluice/filter.hpp>
#include <sluice/job.hpp>
#include <sluice/lock.hpp>
#include <sluice/operator_log.hpp>
#include <sluice/options.hpp>
#include <sluice/recurring.hpp>
#include <sluice/throttler_status.hpp>
#include <sluice/totals.hpp>

namespace sluice {

struct client_options {
  std::string storage = "sqlite:sluice.db";
  duration deadline = 10s;                        ///< For every call, waiting for other processes included.
  filter_list filters{};                          ///< Their `on_enqueue` is called here.
  std::map<std::string, type_options> jobs{};     ///< As a server has them: which queue a type's jobs go to.
  std::map<std::string, queue_options> queues{};  ///< As a server has them: `start_within` and `finish_within` of each.
  open_mode mode = open_mode::may_make;  ///< Whether a store that is not there is made, or one is only looked at.
  author by{};                           ///< Noted with what is changed (`operator_log`), and in the reasons of jobs.
};

/// How a client reaches what a server of these options serves: the same store, and the same queues for jobs that name
/// none.
client_options client_of(const server_options& options);

class client {
public:
  /// Opens the store. One that is away (its Redis is not up yet, or loads; its host has no address) or held by another
  /// is tried again until the deadline, which a warning says at once; then storage_unavailable or storage_busy. What
  /// waiting does not mend is told at once: invalid_argument (the URL; a Redis that refuses the password, or rights
  /// that are needed), not_found (no store, by `mode`), other storage_*, io_error. In a child
  /// made by fork() alone each call of a client that its parent opened is not_running; so is opening its parent's file.
  static result<client> open(client_options options);
  /// As `client_of` says, with the filters that are given here: pass the server's list where its rules shall hold. Jobs
  /// of a type go to the queue that these options name for it; a client that is told only of a store sends all that
  /// name none to `default`. So it is with unique keys and with the times to start and to finish. Of the rest of a
  /// type's options a client takes nothing: the server that runs a job decides.
  template <std::same_as<server_options> Options>
  static result<client> open(const Options& options,
                             filter_list filters = {}) {  // NOLINT(performance-unnecessary-value-param): it is moved
    auto all = client_of(options);
    all.filters = std::move(filters);
    return open(std::move(all));
  }
  /// The same: `client::open(load_options("sluice.json"))`. Also the errors of those options.
  static result<client> open(const result<server_options>& options, filter_list filters = {}) {
    if (!options) return options.error();
    return open(*options, std::move(filters));
  }
  ~client();
  client(client&&) noexcept;
  client& operator=(client&&) noexcept;

  /// A second client of the same store, in the name of another.
  client as(author by) const;

  /// Ok: stored, and it will be started at least once while the store keeps what it acknowledged.
  /// Any error but unknown_outcome: certainly not stored by this call. unknown_outcome: ask again
  /// with the same id and content, which never makes a second job.
  /// The id is the job's own, or that of the job which has its unique key.
  result<job_id> enqueue(new_job job);
  /// `enqueue("send_email", send_email{...})`: needs <sluice/json.hpp>.
  template <class Args>
  result<job_id> enqueue(std::string type, const Args& args) {
    return enqueue(make_job(std::move(type), args));
  }
  /// All in one round trip, or one for each 4 MiB; each succeeds or fails alone, in order.
  std::vector<result<job_id>> enqueue(std::vector<new_job> jobs);
  /// The same, and what came of each. Also unique_conflict, group_closed, and not_found for a parent or a group.
  std::vector<result<enqueue_report>> enqueue_reporting(std::vector<new_job> jobs);
  /// The same of one job.
  result<enqueue_report> enqueue_reporting(new_job job);
  /// Stores all of these in one step, or none; a job may run after one that stands before it. The ids, or why: the
  /// first job that was refused. Asking again with the same ids and content is fine while the store keeps them. At most
  /// 1,000 jobs with 2,000 parents and 4 MiB in all, else too_large. A job whose unique key another has is refused,
  /// too, unless its rule is to replace or to coalesce. See job_graph.hpp.
  result<std::vector<job_id>> enqueue_all(std::vector<new_job> jobs);

  /// Makes a group, and then again: fine, when it is in the same one. illegal_transition when it is not. group_closed,
  /// not_found for the group that it is to be in. docs/groups.md
  result<void> create_group(const new_group& group);
  /// No more may be added, but by its own members while they run. It ends with the last of them. not_found;
  /// illegal_transition when it was cancelled.
  result<void> seal_group(const group_name& name);
  /// None of its members starts from now on; those that run are asked to stop. It ends with the last of these.
  /// not_found; illegal_transition when it has ended.
  result<void> cancel_group(const group_name& name);
  result<group_status> group(const group_name& name);
  /// By name. `limit` is 1 to 200.
  result<group_page> groups(std::uint32_t limit = 50, const std::string& after = {});
  /// Requeues its failed members, in parts; those of groups in it are left alone. Answers how many. not_found;
  /// illegal_transition when it was cancelled.
  result<std::uint64_t> requeue_failed(const group_name& name);

  result<job> get(const job_id& id);
  /// The parents of a job that has not ended, with their results; empty when it has none, or has ended. From a handler
  /// too: they stay in the store until its job has ended.
  result<std::vector<parent_state>> parents(const job_id& id);
  /// Waits until the job is final and answers it. For scripts and tests: it asks again and again,
  /// after 1 ms at first and 100 ms at last. Other programs use `when_ended`. timed_out, not_found, and what `get`
  /// says.
  result<job> wait(const job_id& id, duration timeout);
  /// Tells the job once it is final; soon, when it is so already. Else not_found and damaged_record, as `get`;
  /// not_running when this client and all that were made of it by `as` were destroyed first; what ails the store for
  /// good. A store that is away is waited for. One thread, made by the first call, asks for all watched jobs, 200 in
  /// one request, five times a second at most: so late is an end told, and a fifth of a second later for each 200 jobs
  /// more. An end that a requeue took back meanwhile is not told.
  std::future<result<job>> when_ended(const job_id& id);
  /// The same: `tell` is called once, on that thread. It must not block, so it makes no call of the client that asks
  /// the store; it may watch another job, and destroy the client. What it throws is logged. In a forked child it is
  /// called at once, on the caller's thread.
  void when_ended(const job_id& id, std::function<void(const result<job>&)> tell);
  result<job_page> list(const job_query& query);
  /// Jobs that were put aside since they could not be read, the newest first; of one queue, or of all when it is empty.
  result<quarantine_page> quarantine(const queue_name& queue = {}, std::uint32_t limit = 50,
                                     const std::string& after = {});
  /// One of these, with its bytes and what is wrong with them. not_found.
  result<quarantined_record> quarantined(const job_id& id);
  /// Each whose record can be read by now is enqueued to start at once, with an empty history, no parents, times, group
  /// or unique key, and leaves quarantine. Asked again it is the same job. not_found; damaged_record, when it still
  /// cannot be read; id_conflict, when another job has its id by now: then it stays.
  std::vector<result<void>> requeue_quarantined(const std::vector<job_id>& ids);
  /// Removes what is kept of these, for good. not_found; illegal_transition while jobs that wait for the end of one
  /// have not ended, or its group was not told of it.
  std::vector<result<void>> drop_quarantined(const std::vector<job_id>& ids);
  /// Locks that are held, those first whose leases end first.
  result<lock_page> locks(std::uint32_t limit = 50, const std::string& after = {});
  result<std::vector<queue_counts>> queues();
  /// How many jobs came and ended; nothing of a queue that the store does not know.
  result<totals_report> totals(const totals_query& query);
  result<std::vector<server_info>> servers();
  /// What people did, the newest first. Of a client whose `by` has a name each call that changes jobs, queues,
  /// throttlers or schedules is noted, when it changed at least one; with some jobs at once as one act. The note
  /// follows the change, which stands when it cannot be noted: that is logged as a warning.
  result<operator_log_page> operator_log(std::uint32_t limit = 50, const std::string& after = {});

  /// Sees that a job waits in its queue to be run. A final, scheduled or awaiting one is brought to the tail now; a
  /// final one starts afresh, with no attempt and no loss. One that is enqueued already stays as it is. not_found,
  /// illegal_transition (it runs, or a throttler has it wait). Its history says who did it. After an unknown outcome it
  /// is asked again until the deadline; a job that has failed anew by then is requeued once more.
  result<void> requeue(const job_id& id);
  /// Ends a job as deleted, at once. A running one is asked to stop and its outcome is refused; what it held is
  /// another's from then on, though its handler may still run.
  result<void> remove(const job_id& id);
  /// Ends a job as deleted when it does not run. A running one is asked to stop, with stop_reason::cancelled, and ends
  /// by what its handler says: succeeded, or else deleted, whatever it says, and not run again; so it does when its
  /// server is lost. Until then it keeps what it holds. illegal_transition when it has succeeded or failed already.
  /// Fine when it is cancelled or deleted already.
  result<cancel_result> cancel(const job_id& id);
  /// Each at its place succeeds or fails alone. A hundred are changed in one step of the store, by its order, and
  /// handlers of cancelled jobs are told behind it.
  std::vector<result<void>> requeue(const std::vector<job_id>& ids);
  std::vector<result<void>> remove(const std::vector<job_id>& ids);
  std::vector<result<cancel_result>> cancel(const std::vector<job_id>& ids);
  /// The jobs of one page of a list, which must name a state; one that has left it by then is left alone, and told as
  /// an illegal_transition. For all that a query asks for, go on with `next` as with `list`: what fails anew
  /// meanwhile is not met again, for it stands before where the list has come to. Of the scheduled, which are listed by
  /// when they are due, one that was requeued and waits for a retry by then may be met again: `to` bounds them.
  result<changed_page> requeue(const job_query& query);
  result<changed_page> remove(const job_query& query);
  result<changed_page> cancel(const job_query& query);
  /// A paused queue takes jobs and starts none; running ones go on. One that the store does not know yet may be paused,
  /// and not resumed: not_found.
  result<void> pause(const queue_name& queue);
  result<void> resume(const queue_name& queue);

  /// Adds or changes a throttler, for all servers on the store; a higher limit lets in who waits, a lower one stops
  /// nobody. A configuration changes it again only when its own text of it has changed. Tells what changed; nothing
  /// when it was so already. invalid_argument.
  result<throttler_change> set_throttler(const sluice::throttler& definition);
  /// Fine when there is none. illegal_transition while it is held or waited for: `throttler_mode::release` drains it.
  result<void> remove_throttler(throttler_kind kind, const std::string& name);
  /// All that are defined, held or waited for, by resource; without holders and waiters.
  result<std::vector<throttler_status>> throttlers();
  /// One, with the first of its holders and waiters; of a dynamic window `NAME/KEY` is the line of one key. not_found,
  /// but for a mutex, which is made on first use.
  result<throttler_status> throttler(throttler_kind kind, const std::string& name);
  /// Who has a permit of a mutex or semaphore, the oldest first; nobody of other kinds. As `throttler`.
  result<holder_page> holders(throttler_kind kind, const std::string& name, std::uint32_t limit = 50,
                              const std::string& after = {});
  /// Who waits, in the order in which they go while their queues run. As `throttler`; a dynamic window has a line for
  /// each of its keys, so without a key it is an invalid_argument.
  result<waiter_page> waiters(throttler_kind kind, const std::string& name, std::uint32_t limit = 50,
                              const std::string& after = {});
  /// Adds or changes a schedule of recurring jobs; any server on the store enqueues its jobs. When it runs at other
  /// instants than before, that counts from now on. A configuration changes it again only when its own text of it has
  /// changed. invalid_argument, too_large.
  result<void> set_recurring(const recurring& definition);
  /// Fine when there is none. Its jobs stay.
  result<void> remove_recurring(const std::string& name);
  /// Enqueues one job of it now, also while it is paused and whatever its overlap rule says; its next run stays.
  /// With an id asking again is the same job, as with enqueue. not_found, damaged_record, and as enqueue.
  result<job_id> trigger_recurring(const std::string& name, const job_id& id = {});
  /// What falls into a pause is never caught up. not_found, damaged_record.
  result<void> pause_recurring(const std::string& name);
  result<void> resume_recurring(const std::string& name);
  /// All schedules, by name.
  result<std::vector<recurring_status>> recurring_jobs();
  /// Some of them, page by page. By name a page reads what it shows, or looks for it when something is asked for; by
  /// next run each page reads all that there are.
  result<recurring_page> recurring_jobs(const recurring_query& query);
  /// One, with its next `instants`, 1000 at most. not_found names the schedule that was meant, if one is called alike.
  result<recurring_outlook> recurring_job(const std::string& name, std::uint32_t instants = 5);
  /// Why a job does not run, or that it does. not_found, damaged_record.
  result<explanation> explain(const job_id& id);

private:
  struct parts;
  explicit client(std::unique_ptr<parts> p);
  parts_pointer<std::unique_ptr<parts>> parts_;
};

}  // namespace sluice
