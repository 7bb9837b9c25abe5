#include "execution/served_queues.hpp"

#include <algorithm>

#include "core/text.hpp"
#include "execution/dispatcher.hpp"
#include "execution/lease_keeper.hpp"

namespace sluice::execution {

bool served_queues::add(const std::string& queue, std::uint32_t workers) {
  const mutex_lock held(lock_);
  return workers_.try_emplace(queue, workers).second;
}

served_queue served_queues::of(const std::string& queue, const queue_options& how,
                               const std::shared_ptr<execution_context>& context) {
  const mutex_lock held(lock_);
  workers_.try_emplace(queue, how.workers);
  auto& found = all_[queue];
  if (found.pool) return found;
  found.pool = std::make_shared<pool>(queue_name(queue), how, context->config);
  // A handler may outlive the server.
  found.pool->workers.on_progress([weak = std::weak_ptr(context)] {
    if (const auto alive = weak.lock()) alive->keeper->progress_waits();
  });
  found.dispatcher = std::make_shared<dispatcher>(context, found.pool);
  found.pool->lock()->ended.on_ended([weak = std::weak_ptr(found.dispatcher)] {
    if (const auto alive = weak.lock()) alive->runs_ended();
  });
  return found;
}

void served_queues::forget(const std::string& queue) {
  served_queue ended;  // not under our lock
  const mutex_lock held(lock_);
  if (const auto found = all_.find(queue); found != all_.end()) {
    ended = std::move(found->second);
    all_.erase(found);
  }
}

std::vector<std::string> served_queues::served() const {
  const mutex_lock held(lock_);
  std::vector<std::string> all;
  for (const auto& [name, workers] : workers_)
    all.push_back(cat(name, ":", workers));
  return all;
}

std::shared_ptr<dispatcher> served_queues::dispatcher_of(std::string_view queue) const {
  const mutex_lock held(lock_);
  const auto found = all_.find(queue);
  return found == all_.end() ? nullptr : found->second.dispatcher;
}

std::vector<std::string> served_queues::names() const {
  const mutex_lock held(lock_);
  std::vector<std::string> all;
  for (const auto& [name, q] : all_)
    all.push_back(name);
  return all;
}

std::vector<std::shared_ptr<pool>> served_queues::pools() const {
  const mutex_lock held(lock_);
  std::vector<std::shared_ptr<pool>> all;
  for (const auto& [name, q] : all_)
    all.push_back(q.pool);
  return all;
}

std::vector<std::shared_ptr<dispatcher>> served_queues::dispatchers() const {
  const mutex_lock held(lock_);
  std::vector<std::shared_ptr<dispatcher>> all;
  for (const auto& [name, q] : all_)
    all.push_back(q.dispatcher);
  return all;
}

bool served_queues::awaits_admission(const run_ptr& run) const {
  const mutex_lock held(lock_);
  const auto found = all_.find(run->about.queue.value);
  return found != all_.end() && found->second.pool->awaits_admission(run);
}

bool served_queues::hold(sluice::fence f) const {
  const auto all = pools();
  return std::any_of(all.begin(), all.end(), [&](const auto& p) { return p->lock()->held.contains(f); });
}

}  // namespace sluice::execution
