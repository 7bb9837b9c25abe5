#include <algorithm>

#include "actors/facade_parts.hpp"
#include "operations/jobs.hpp"

namespace sluice::actors {
namespace {

// Jobs that one sweep looks after: bounds what watching costs.
constexpr std::size_t looked_at_once = 100;
constexpr std::size_t looked_in_a_sweep = 5'000;

}  // namespace

// --- Enqueueing and looking.

void facade_jobs::enqueue(new_job job, const caf::actor& observer, const storage::callback<enqueue_report>& then) {
  auto ready = pipeline_.prepare(std::move(job), e_->store->now());
  if (!ready) return then(ready.error());
  const auto id = ready->id;
  if (observer) add_watch(id, observer, false);
  storage::enqueue_request request;
  request.jobs.push_back(std::move(*ready));
  storage::ask_for<storage::enqueue_answer>(
      store_.async_store(), std::move(request), [this, id, observer, then](const result<storage::enqueue_answer>& got) {
        auto came = got ? storage::report_of(id, *got, 0) : result<enqueue_report>(got.error());
        const bool is_it = came && came->id == id;
        if (observer) settle_watch(id, observer, !is_it);
        if (observer && came && !is_it) watch(came->id, observer);
        then(std::move(came));
      });
}

caf::result<job_id> facade_jobs::enqueue(new_job job, const caf::actor& observer) {
  return store_.promise<job_id>([&](const storage::callback<job_id>& then) {
    enqueue(std::move(job), observer, [then](result<enqueue_report> came) {
      if (came) then(std::move(came->id));
      else then(came.error());
    });
  });
}

caf::result<enqueue_report> facade_jobs::enqueue_reporting(new_job job) {
  return store_.promise<enqueue_report>(
      [&](const storage::callback<enqueue_report>& then) { enqueue(std::move(job), nullptr, then); });
}

caf::result<std::vector<job_id>> facade_jobs::enqueue_all(std::vector<new_job> jobs) {
  return store_.promise<std::vector<job_id>>([&](const storage::callback<std::vector<job_id>>& then) {
    operations::enqueue_all(store_.async_store(), pipeline_, std::move(jobs), e_->store->now(), then);
  });
}

caf::result<job> facade_jobs::find(const job_id& id) {
  return store_.promise<job>(
      [&](const storage::callback<job>& then) { operations::find_job(store_.async_store(), id, then); });
}

caf::result<explanation> facade_jobs::explain(const job_id& id) {
  return store_.promise<explanation>([&](const storage::callback<explanation>& then) {
    operations::explain_job(
        store_.async_store(), id, [this] { return e_->store->now(); }, then);
  });
}

caf::result<job_id> facade_jobs::cancel(const job_id& id) {
  return store_.promise<job_id>([&](const storage::callback<job_id>& then) {
    operations::change_jobs(store_.async_store(), {storage::job_change::cancel, {id}},
                            [this, id, then](const result<operations::changes>& each) {
                              const auto& told = each->front();
                              if (!told) return then(told.error());
                              if (told->code != errc::none) return then(storage::refusal(*told));
                              check_jobs({id});  // it may have ended by that
                              then(id);
                            });
  });
}

// --- Watching.

void facade_jobs::watch(const job_id& id, const caf::actor& observer) {
  add_watch(id, observer, true);
  if (!store_.cannot_ask()) check_jobs({id});  // else the sweep does
}

void facade_jobs::add_watch(const job_id& id, const caf::actor& observer, bool stored) {
  watches_[id].push_back({observer, stored});
  e_->watched.add(id);
}

// The enqueue that `observer` watches was answered.
void facade_jobs::settle_watch(const job_id& id, const caf::actor& observer, bool refused) {
  const auto found = watches_.find(id);
  if (found == watches_.end()) return;
  auto& all = found->second;
  const auto at =
      std::find_if(all.begin(), all.end(), [&](const observer_entry& o) { return !o.stored && o.who == observer; });
  if (at == all.end()) return;
  at->stored = true;
  if (!refused) return check_jobs({id});  // it may have been there before, and final
  all.erase(at);
  if (all.empty()) forget(found);
}

void facade_jobs::forget(std::map<job_id, observers>::iterator at) {
  e_->watched.remove(at->first);
  watches_.erase(at);
}

void facade_jobs::check_jobs(std::vector<job_id> ids) {
  if (ids.empty()) return;
  std::vector<storage::request> asked;
  asked.reserve(ids.size());
  for (const auto& id : ids)
    asked.emplace_back(storage::get_request{id});
  ++checks_;
  store_.ask(std::move(asked), [this, ids = std::move(ids)](std::vector<storage::answer>& answers) {
    --checks_;
    for (std::size_t i = 0; i < ids.size(); ++i)
      if (auto* got = std::get_if<storage::get_answer>(&answers.at(i))) seen(ids[i], *got);
    // What could not be asked, the next sweep asks again.
  });
}

void facade_jobs::seen(const job_id& id, storage::get_answer& got) {
  const auto found = watches_.find(id);
  if (found == watches_.end() || (got.found && !is_final(got.found->state))) return;
  job_ended end;
  end.known = got.found.has_value();
  if (got.found) end.about = std::move(*got.found);
  end.about.id = id;
  auto& all = found->second;
  std::erase_if(all, [&](const observer_entry& o) {
    if (!end.known && !o.stored) return false;  // it will be there in a moment
    caf::anon_send(o.who, end);
    return true;
  });
  if (all.empty()) forget(found);
}

void facade_jobs::sweep() {
  if (checks_ > 0) return;  // the store is slow: no more until it has answered
  check_watches(looked_in_a_sweep);
}

void facade_jobs::check_all_watches() { check_watches(watches_.size()); }

void facade_jobs::check_watches(std::size_t most) {
  std::vector<job_id> ids;
  auto at = watches_.upper_bound(checked_until_);
  for (std::size_t n = std::min(watches_.size(), most); n > 0; --n, ++at) {
    if (at == watches_.end()) at = watches_.begin();
    ids.push_back(at->first);
    checked_until_ = at->first;
    if (ids.size() == looked_at_once) check_jobs(std::exchange(ids, {}));
  }
  check_jobs(std::move(ids));
}

}  // namespace sluice::actors
