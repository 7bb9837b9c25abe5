#include <algorithm>
#include <thread>

#include "client/parts.hpp"
#include "core/codec.hpp"
#include "core/no_job.hpp"
#include "core/ranges.hpp"
#include "operations/jobs.hpp"
#include "storage/messages.hpp"

namespace sluice {
namespace {

using std::chrono::steady_clock;
using storage::job_change;
using namespace std::chrono_literals;

// Between two looks of `wait`.
constexpr duration first_look = 1ms;
constexpr duration last_look = 100ms;
constexpr duration longest_wait = 24h * 365;

error no_quarantined(const job_id& id) {
  return {errc::not_found, storage::messages::not_in_quarantine(id), error_subject::quarantine};
}

constexpr std::size_t max_in_part = 4 * 1024 * 1024;  // bytes of new jobs in one commit, or one job

}  // namespace

client_options client_of(const server_options& options) {
  client_options made;
  made.storage = options.storage;
  made.jobs = options.jobs;
  made.queues = options.queues;
  return made;
}

client::client(std::unique_ptr<parts> p) : parts_{std::move(p)} {}
client::~client() = default;
client::client(client&&) noexcept = default;
client& client::operator=(client&&) noexcept = default;

result<client> client::open(client_options options) {
  auto shared_store = open_within(options.storage, options.mode, options.deadline);
  if (!shared_store) return shared_store.error();
  enqueue_pipeline pipeline(options.filters, options.jobs, options.queues);
  return client(std::make_unique<parts>(std::move(options), std::move(pipeline), std::move(*shared_store)));
}

client client::as(author by) const {
  auto second = std::make_unique<parts>(*parts_);
  second->options.by = std::move(by);
  return client(std::move(second));
}

result<job_id> client::enqueue(new_job job) {
  std::vector<new_job> one;
  one.push_back(std::move(job));
  return std::move(enqueue(std::move(one)).front());
}

std::vector<result<job_id>> client::enqueue(std::vector<new_job> jobs) {
  std::vector<result<job_id>> ids;
  ids.reserve(jobs.size());
  for (auto& one : enqueue_reporting(std::move(jobs)))
    ids.push_back(one ? result<job_id>(std::move(one->id)) : one.error());
  return ids;
}

std::vector<result<enqueue_report>> client::enqueue_reporting(std::vector<new_job> jobs) {
  std::vector<result<enqueue_report>> results;
  results.reserve(jobs.size());
  std::vector<prepared_job> ready;
  ready.reserve(jobs.size());
  std::vector<std::size_t> place;  // of each among the results
  const auto now = parts_->shared_store->now();
  for (auto& job : jobs) {
    auto one = parts_->pipeline.prepare(std::move(job), now);
    if (!one) {
      results.emplace_back(one.error());
      continue;
    }
    place.push_back(results.size());
    results.emplace_back(enqueue_report{one->id});
    ready.push_back(std::move(*one));
  }
  // In parts, so that renewals of this process pass between them.
  const auto deadline = steady_clock::now() + std::min(parts_->options.deadline, longest_wait);
  for (std::size_t from = 0, to = 0; from < ready.size(); from = to) {
    storage::enqueue_request part;
    part.jobs.reserve(ready.size() - from);
    for (std::size_t bytes = 0; to < ready.size() && (to == from || bytes + ready[to].record.size() <= max_in_part);
         ++to) {
      bytes += ready[to].record.size();
      part.jobs.push_back(std::move(ready[to]));
    }
    const auto left = std::max(duration(0), std::chrono::duration_cast<duration>(deadline - steady_clock::now()));
    const auto stored = ask_for<storage::enqueue_answer>(*parts_->shared_store, std::move(part), left);
    for (auto i = from; i < to; ++i) {
      auto& answer = results[place[i]];
      const auto at = i - from;
      if (!stored) answer = stored.error();
      else if (stored->each[at] != errc::none || stored->notes.contains(at))
        answer = storage::report_of(answer->id, *stored, at);
    }
  }
  return results;
}

result<enqueue_report> client::enqueue_reporting(new_job job) {
  std::vector<new_job> one;
  one.push_back(std::move(job));
  return std::move(enqueue_reporting(std::move(one)).front());
}

result<std::vector<job_id>> client::enqueue_all(std::vector<new_job> jobs) {
  return parts_->carry_out<std::vector<job_id>>([&](const auto& store, const auto& then) {
    operations::enqueue_all(store, parts_->pipeline, std::move(jobs), parts_->shared_store->now(), then);
  });
}

result<job> client::get(const job_id& id) {
  return parts_->carry_out<job>([&](const auto& store, const auto& then) { operations::find_job(store, id, then); });
}

result<std::vector<parent_state>> client::parents(const job_id& id) {
  auto got = parts_->ask_for<storage::parents_answer>(storage::parents_request{id});
  if (!got) return got.error();
  return std::move(got->parents);
}

result<job> client::wait(const job_id& id, duration timeout) {
  const auto deadline = steady_clock::now() + std::clamp<duration>(timeout, 0s, longest_wait);
  for (duration pause = first_look;; pause = std::min(pause * 2, last_look)) {
    auto found = get(id);
    if (!found || is_final(found->state)) return found;
    if (steady_clock::now() + pause >= deadline)
      return error{errc::timed_out, cat("job ", printable(id.value, 200), " is ", name_of(found->state), " still")};
    std::this_thread::sleep_for(pause);
  }
}

void client::when_ended(const job_id& id, std::function<void(const result<job>&)> tell) {
  parts_->watcher->watch(id, std::move(tell));
}

std::future<result<job>> client::when_ended(const job_id& id) {
  const auto promised = std::make_shared<std::promise<result<job>>>();
  auto told = promised->get_future();
  when_ended(id, [promised](const result<job>& how) { promised->set_value(how); });
  return told;
}

result<job_page> client::list(const job_query& query) {
  if (auto fine = check_limit(query.limit); !fine) return fine.error();
  auto got = parts_->ask_for<storage::list_answer>(storage::list_request{query});
  if (!got) return got.error();
  return std::move(got->page);
}

result<quarantine_page> client::quarantine(const queue_name& queue, std::uint32_t limit, const std::string& after) {
  if (auto fine = check_limit(limit); !fine) return fine.error();
  auto got = parts_->ask_for<storage::quarantine_answer>(storage::quarantine_request{queue, limit, after});
  if (!got) return got.error();
  return std::move(got->page);
}

result<quarantined_record> client::quarantined(const job_id& id) {
  auto got = parts_->ask_for<storage::quarantined_job_answer>(storage::quarantined_job_request{id});
  if (!got) return got.error();
  if (!got->found) return no_quarantined(id);
  return std::move(*got->found);
}

std::vector<result<void>> client::requeue_quarantined(const std::vector<job_id>& ids) {
  return parts_->change_quarantined("quarantine requeue", ids,
                                    [this](const job_id& id) { return parts_->requeue_quarantined(id); });
}

std::vector<result<void>> client::drop_quarantined(const std::vector<job_id>& ids) {
  return parts_->change_quarantined("quarantine drop", ids,
                                    [this](const job_id& id) { return parts_->drop_quarantined(id, {}); });
}

std::vector<result<void>> client::parts::change_quarantined(const char* noted_as, const std::vector<job_id>& ids,
                                                            const std::function<result<void>(const job_id&)>& change) {
  std::vector<result<void>> told;
  std::vector<std::string> done;
  for (const auto& id : ids) {
    told.push_back(change(id));
    if (told.back()) done.push_back(id.value);
  }
  note(noted_as, std::move(done));
  return told;
}

result<void> client::parts::drop_quarantined(const job_id& id, std::optional<time_point> since) {
  const auto told = ask_for<storage::change_answer>(storage::drop_quarantined_request{id, since});
  if (!told) return told.error();
  if (told->code != errc::none) return storage::refusal(*told);
  return told->changed ? result<void>() : no_quarantined(id);
}

// It is stored before its bytes go. Whoever is cut off in between asks again, and it is the same job.
result<void> client::parts::requeue_quarantined(const job_id& id) {
  namespace messages = storage::messages;
  const auto got = ask_for<storage::quarantined_job_answer>(storage::quarantined_job_request{id});
  if (!got) return got.error();
  if (!got->found) return no_quarantined(id);
  const auto& kept = *got->found;
  const auto content = decode_content(id, kept.record);
  if (!content) return error{errc::damaged_record, messages::still_unreadable(id, kept.wrong)};
  // As one that has to do with others, so that what it left of its first life is mended in the same step.
  storage::enqueue_request again{{{id, content->queue, duration(0), kept.record, std::make_shared<flow_options>()}}};
  const auto stored = ask_for<storage::enqueue_answer>(std::move(again));
  if (!stored) return stored.error();
  const auto code = stored->each.front();
  if (code == errc::id_conflict) return error{code, messages::id_taken(id)};
  if (code != errc::none) return error{code, cat("job ", printable(id.value, 200), ": ", describe(code))};
  const auto gone = ask_for<storage::change_answer>(storage::drop_quarantined_request{id, kept.since});
  return gone ? result<void>() : gone.error();
}

result<totals_report> client::totals(const totals_query& query) {
  if (query.queue)
    if (auto fine = check_name("queue", query.queue->value); !fine) return fine.error();
  auto got = parts_->ask_for<storage::totals_answer>(storage::totals_request{query});
  if (!got) return got.error();
  return std::move(got->report);
}

result<lock_page> client::locks(std::uint32_t limit, const std::string& after) {
  if (auto fine = check_limit(limit); !fine) return fine.error();
  auto got = parts_->ask_for<storage::locks_answer>(storage::locks_request{limit, after});
  if (!got) return got.error();
  return std::move(got->page);
}

result<operator_log_page> client::operator_log(std::uint32_t limit, const std::string& after) {
  if (auto fine = check_limit(limit); !fine) return fine.error();
  auto got = parts_->ask_for<storage::operator_log_answer>(storage::operator_log_request{limit, after});
  if (!got) return got.error();
  return std::move(got->page);
}

result<std::vector<queue_counts>> client::queues() {
  auto got = parts_->ask_for<storage::queues_answer>(storage::queues_request{});
  if (!got) return got.error();
  return std::move(got->queues);
}

result<std::vector<server_info>> client::servers() {
  auto got = parts_->ask_for<storage::servers_answer>(storage::servers_request{});
  if (!got) return got.error();
  for (auto& s : got->servers)
    s.store = parts_->shared_store->durability();
  return std::move(got->servers);
}

std::vector<result<storage::change_answer>> client::parts::change(job_change what, const std::vector<job_id>& ids,
                                                                  std::optional<job_state> only_in) {
  auto each = *carry_out<operations::changes>([&](const auto& store, const auto& then) {
    operations::change_jobs(store, {what, ids, only_in, options.by}, then);
  });
  std::vector<std::string> done;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (each[i] && each[i]->code != errc::none) each[i] = storage::refusal(*each[i]);
    if (each[i] && each[i]->changed) done.push_back(ids[i].value);
  }
  note(what == job_change::remove ? "delete" : name_of(what), std::move(done));
  return each;
}

std::vector<result<void>> client::parts::change_each(job_change what, const std::vector<job_id>& ids) {
  std::vector<result<void>> told;
  for (const auto& one : change(what, ids))
    told.push_back(one ? result<void>() : one.error());
  return told;
}

result<changed_page> client::parts::change(job_change what, job_query query) {
  if (!query.state) return error{errc::invalid_argument, "jobs are changed by a query of one state: it must say which"};
  if (auto fine = check_limit(query.limit); !fine) return fine.error();
  query.with_args = false;
  const auto state = query.state;
  auto page = ask_for<storage::list_answer>(storage::list_request{std::move(query)});
  if (!page) return page.error();
  std::vector<job_id> ids;
  for (auto& j : page->page.jobs)
    ids.push_back(std::move(j.id));
  const auto each = change(what, ids, state);
  changed_page changed{0, {}, std::move(page->page.next), page->page.records_read};
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (each[i]) ++(each[i]->changed ? changed.done : changed.unchanged);
    else changed.failed.emplace_back(ids[i], each[i].error());
  }
  return changed;
}

result<void> client::requeue(const job_id& id) { return requeue(std::vector{id}).front(); }
result<void> client::remove(const job_id& id) { return remove(std::vector{id}).front(); }
result<cancel_result> client::cancel(const job_id& id) { return cancel(std::vector{id}).front(); }
std::vector<result<void>> client::requeue(const std::vector<job_id>& ids) {
  return parts_->change_each(job_change::requeue, ids);
}
std::vector<result<void>> client::remove(const std::vector<job_id>& ids) {
  return parts_->change_each(job_change::remove, ids);
}
std::vector<result<cancel_result>> client::cancel(const std::vector<job_id>& ids) {
  using enum cancel_result;
  std::vector<result<cancel_result>> told;
  for (const auto& one : parts_->change(job_change::cancel, ids)) {
    if (!one) told.emplace_back(one.error());
    else if (one->asked) told.emplace_back(one->changed ? asked : was_asked);
    else told.emplace_back(one->changed ? deleted : was_deleted);
  }
  return told;
}
result<changed_page> client::requeue(const job_query& query) { return parts_->change(job_change::requeue, query); }
result<changed_page> client::remove(const job_query& query) { return parts_->change(job_change::remove, query); }
result<changed_page> client::cancel(const job_query& query) { return parts_->change(job_change::cancel, query); }

result<void> client::parts::pause(const queue_name& queue, bool paused) {
  const auto got = ask_for<storage::change_answer>(storage::pause_request{queue, paused});
  if (!got) return got.error();
  if (got->changed) note(paused ? "pause" : "resume", {queue.value});
  return {};
}

result<void> client::pause(const queue_name& queue) {
  if (auto fine = check_name("queue", queue.value); !fine) return fine;
  return parts_->pause(queue, true);
}

result<void> client::resume(const queue_name& queue) {
  if (auto fine = check_name("queue", queue.value); !fine) return fine;
  const auto known = queues();
  if (!known) return known.error();
  std::vector<std::string> names;
  for (const auto& one : *known)
    names.push_back(one.queue.value);
  if (std::find(names.begin(), names.end(), queue.value) == names.end()) return no_queue(queue.value, names);
  return parts_->pause(queue, false);
}

}  // namespace sluice
