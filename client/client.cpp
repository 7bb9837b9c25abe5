#include <algorithm>
#include <thread>

#include "client/parts.hpp"
#include "core/codec.hpp"
#include "core/no_job.hpp"
#include "core/ranges.hpp"
#include "storage/all_or_none.hpp"
#include "storage/messages.hpp"

namespace sluice {
namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

// Between two looks of `wait`.
constexpr duration first_look = 1ms;
constexpr duration last_look = 100ms;
constexpr duration longest_wait = 24h * 365;

constexpr std::size_t max_in_part = 4 * 1024 * 1024;  // bytes of new jobs in one commit, or one job

}  // namespace

client_options client_of(const server_options& options) {
  client_options made;
  made.storage = options.storage;
  made.jobs = options.jobs;
  made.queues = options.queues;
  return made;
}

client::client(std::unique_ptr<parts> p) : parts_(std::move(p)) {}
client::~client() = default;
client::client(client&&) noexcept = default;
client& client::operator=(client&&) noexcept = default;

result<client> client::open(client_options options) {
  auto shared_store = storage::open_shared_store(options.storage, nullptr, options.mode);
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

result<std::vector<job_id>> client::enqueue_all(std::vector<new_job> jobs) {
  return parts_->carry_out<std::vector<job_id>>([&](const auto& store, const auto& then) {
    storage::enqueue_all(store, parts_->pipeline, std::move(jobs), parts_->shared_store->now(), then);
  });
}

result<job> client::get(const job_id& id) {
  auto got = parts_->ask_for<storage::get_answer>(storage::get_request{id});
  if (!got) return got.error();
  if (!got->found) return no_job(id, got->code);
  return std::move(*got->found);
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
  if (!got->found) return error{errc::not_found, storage::messages::not_in_quarantine(id)};
  return std::move(*got->found);
}

std::vector<result<void>> client::requeue_quarantined(const std::vector<job_id>& ids) {
  std::vector<result<void>> told;
  std::vector<std::string> done;
  for (const auto& id : ids) {
    told.push_back(parts_->requeue_quarantined(id));
    if (told.back()) done.push_back(id.value);
  }
  parts_->note("quarantine requeue", std::move(done));
  return told;
}

std::vector<result<void>> client::drop_quarantined(const std::vector<job_id>& ids) {
  storage::shared_store::requests all;
  for (const auto& id : ids)
    all.emplace_back(storage::drop_quarantined_request{id});
  std::vector<result<void>> told;
  std::vector<std::string> done;
  for (auto& one : parts_->change(all)) {
    const auto& id = ids[told.size()];
    if (!one) told.emplace_back(one.error());
    else if (!one->changed) told.emplace_back(error{errc::not_found, storage::messages::not_in_quarantine(id)});
    else {
      told.emplace_back();
      done.push_back(id.value);
    }
  }
  parts_->note("quarantine drop", std::move(done));
  return told;
}

// It is stored before its bytes go. Whoever is cut off in between asks again, and it is the same job.
result<void> client::parts::requeue_quarantined(const job_id& id) {
  namespace messages = storage::messages;
  const auto got = ask_for<storage::quarantined_job_answer>(storage::quarantined_job_request{id});
  if (!got) return got.error();
  if (!got->found) return error{errc::not_found, messages::not_in_quarantine(id)};
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

result<void> client::requeue(const job_id& id) { return requeue(std::vector{id}).front(); }
result<void> client::remove(const job_id& id) { return remove(std::vector{id}).front(); }
result<cancel_result> client::cancel(const job_id& id) { return cancel(std::vector{id}).front(); }
std::vector<result<void>> client::requeue(const std::vector<job_id>& ids) {
  return parts_->change_each<storage::requeue_request>("requeue", ids);
}
std::vector<result<void>> client::remove(const std::vector<job_id>& ids) {
  return parts_->change_each<storage::remove_request>("delete", ids);
}
std::vector<result<cancel_result>> client::cancel(const std::vector<job_id>& ids) {
  using enum cancel_result;
  std::vector<result<cancel_result>> told;
  for (const auto& one : parts_->change<storage::cancel_request>("cancel", ids)) {
    if (!one) told.emplace_back(one.error());
    else if (one->asked) told.emplace_back(one->changed ? asked : was_asked);
    else told.emplace_back(one->changed ? deleted : was_deleted);
  }
  return told;
}
result<changed_page> client::requeue(const job_query& query) {
  return parts_->change<storage::requeue_request>("requeue", query);
}
result<changed_page> client::remove(const job_query& query) {
  return parts_->change<storage::remove_request>("delete", query);
}
result<changed_page> client::cancel(const job_query& query) {
  return parts_->change<storage::cancel_request>("cancel", query);
}

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
