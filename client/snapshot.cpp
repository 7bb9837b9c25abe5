#include "client/snapshot.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "client/asking.hpp"
#include "core/log.hpp"
#include "operations/throttlers.hpp"
#include "scheduler/schedules.hpp"
#include "throttling/status.hpp"

namespace sluice {
namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr duration between_looks = 1s;     // while somebody looks
constexpr duration probe_timeout = 700ms;  // probes themselves often wait for a second
constexpr duration between_probes = 5s;    // while only probes ask
constexpr int part_of_store = 20;          // a read takes at most such a part of the time, as 1 of 20
constexpr duration longest_read_pause = 4s;
constexpr duration after_a_change = 250ms;  // at least, from one read to the next
constexpr duration longest_after_a_change = 500ms;
constexpr int part_of_store_for_changes = 4;  // a read that shows a change takes about such a part
constexpr duration shortest_for_rates = 200ms;
constexpr duration looked_for = 3s;   // after a look
constexpr duration probed_for = 30s;  // after a probe
constexpr duration fresh_for = 2s;
constexpr duration look_timeout = 1s;
constexpr duration read_timeout = 5s;
constexpr duration answered_of_late = 10s;

// The parts of an answer, if it is one.
template <class Answer>
Answer* part(storage::answer& of, std::optional<error>& why) {
  if (auto* failed = std::get_if<error>(&of)) why = *failed;
  return std::get_if<Answer>(&of);
}

// How far the counts of queues are from what they were.
double jobs_between(const std::vector<queue_counts>& before, const std::vector<queue_counts>& now) {
  std::map<queue_name, const queue_counts*> known;
  for (const auto& q : before)
    known[q.queue] = &q;
  double jobs = 0;
  for (const auto& q : now) {
    const auto was = known.find(q.queue);
    if (was == known.end()) continue;
    const auto change = [&](std::uint64_t queue_counts::*count) {
      return std::abs(static_cast<double>(q.*count) - static_cast<double>(was->second->*count));
    };
    // A job that came and one that was begun leave `enqueued` as it is, but not what is done.
    jobs += std::max(change(&queue_counts::enqueued),
                     change(&queue_counts::succeeded) + change(&queue_counts::failed) + change(&queue_counts::deleted));
  }
  return jobs;
}

// Adds a page; when it was the last, answers all.
template <class Rolling, class Row>
bool add_page(Rolling& to, std::vector<Row> page, const std::string& next, std::vector<Row>& into) {
  for (auto& row : page)
    to.so_far.push_back(std::move(row));
  to.after = next;
  if (to.after.empty()) into = std::exchange(to.so_far, {});
  return to.after.empty();
}

}  // namespace

snapshot::snapshot(std::shared_ptr<storage::shared_store> store)
    : store_(std::move(store)), thread_([this] { run(); }) {}

snapshot::~snapshot() {
  {
    std::lock_guard hold(mutex_);
    stopping_ = true;
  }
  asked_.notify_all();
  thread_.join();
}

snapshot::known snapshot::look() {
  std::unique_lock hold(mutex_);
  const auto now = steady_clock::now();
  checked_until_ = now + looked_for;
  asked_.notify_one();
  const auto is_fresh = [&] {
    return read_at_ && !is_expired_ && *read_at_ + std::max(fresh_for, pause_until_next()) > now;
  };
  if (is_fresh() || waiting_ == max_waiting) return known_;
  ++waiting_;
  answered_.wait_for(hold, look_timeout, [&] { return stopping_ || is_fresh(); });
  --waiting_;
  return known_;
}

snapshot::known snapshot::glance() {
  std::lock_guard hold(mutex_);
  checked_until_ = steady_clock::now() + looked_for;
  asked_.notify_one();
  return known_;
}

void snapshot::expire() {
  std::lock_guard hold(mutex_);
  is_expired_ = true;
}

bool snapshot::has_answered() {
  std::unique_lock hold(mutex_);
  const auto now = steady_clock::now();
  probed_until_ = now + probed_for;
  asked_.notify_one();
  const bool is_read = read_at_ && *read_at_ + answered_of_late > now;
  if (!is_read && waiting_ < max_waiting) {
    ++waiting_;
    answered_.wait_for(hold, probe_timeout, [&] { return stopping_ || (read_at_ && *read_at_ >= now); });
    --waiting_;
  }
  return answered_at_ && *answered_at_ + answered_of_late > now;
}

// From one read to the next; longer than any time when nobody asks.
duration snapshot::pause_until_next() const {
  const auto now = steady_clock::now();
  const auto spared = known_->away ? duration(0) : std::min(took_ * part_of_store, longest_read_pause);
  if (checked_until_ > now && is_expired_)
    return std::min(std::max(after_a_change, took_ * part_of_store_for_changes), longest_after_a_change);
  if (checked_until_ > now) return std::max(between_looks, spared);
  if (probed_until_ > now) return std::max(between_probes, spared);
  return duration::max() / 2;
}

void snapshot::run() {
  std::unique_lock hold(mutex_);
  while (!stopping_) {
    if (read_at_) {
      const auto pause = pause_until_next();
      const auto now = steady_clock::now();
      if (pause > 24h) {
        asked_.wait(hold);
        continue;
      }
      if (*read_at_ + pause > now) {
        asked_.wait_until(hold, *read_at_ + pause);
        continue;
      }
    } else if (pause_until_next() > 24h) {
      asked_.wait(hold);
      continue;
    }
    is_expired_ = false;
    hold.unlock();
    const auto began = steady_clock::now();
    auto got = read_or_fail();
    hold.lock();
    read_at_ = steady_clock::now();
    took_ = std::chrono::duration_cast<duration>(*read_at_ - began);
    if (!got->away) answered_at_ = read_at_;
    known_ = std::move(got);
    answered_.notify_all();
  }
}

snapshot::known snapshot::read_or_fail() try { return read(); } catch (const std::exception& thrown) {
  log::error("how the store stands could not be read: ", message_of(thrown));
  auto made = std::make_shared<known_store>(*known_);
  made->away = error{errc::io_error, message_of(thrown)};
  return made;
}

snapshot::known snapshot::read() {
  auto made = read_on(*known_);  // only this thread changes which one it is
  // Nobody is told half of the lists: the first answer has all of them.
  while (!made->away && !(has_throttlers_ && has_schedules_) && !is_stopping())
    made = read_on(*made);
  return made;
}

std::shared_ptr<known_store> snapshot::read_on(const known_store& before) {
  auto made = std::make_shared<known_store>(before);
  auto got = ask(*store_,
                 {storage::queues_request{}, storage::servers_request{},
                  storage::throttlers_request{storage::largest_page, throttlers_.after, true},
                  storage::schedules_request{storage::largest_page, schedules_.after}},
                 read_timeout);
  made->away.reset();
  auto* queues = part<storage::queues_answer>(got[0], made->away);
  auto* servers = part<storage::servers_answer>(got[1], made->away);
  auto* rows = part<storage::throttlers_answer>(got[2], made->away);
  auto* schedules = part<storage::schedules_answer>(got[3], made->away);
  if (made->away) return made;
  auto throttlers = carry_out<std::vector<throttler_status>>(
      *store_, read_timeout,
      [&](const auto& store, const auto& then) { operations::throttlers_of(store, rows->throttlers, then); });
  if (!throttlers && is_transient(throttlers.error().code)) {
    made->away = throttlers.error();
    return made;
  }
  if (!throttlers) {  // what one counts is damaged, as their list says: all else is told nevertheless
    std::vector<throttler_status> without_counts;
    for (const auto& row : rows->throttlers)
      without_counts.push_back(throttling::status_of(row, {}));
    throttlers = std::move(without_counts);
  }
  const std::chrono::duration<double> since = made->at ? schedules->now - *made->at : duration(0);
  if (since >= shortest_for_rates) made->jobs_a_second = jobs_between(made->queues, queues->queues) / since.count();
  made->at = schedules->now;
  made->queues = std::move(queues->queues);
  made->unknown = std::move(queues->unknown);
  made->servers = std::move(servers->servers);
  for (auto& server : made->servers)
    server.store = store_->durability();
  has_throttlers_ |= add_page(throttlers_, std::move(*throttlers), rows->next, made->throttlers);
  std::vector<recurring_status> some;
  for (const auto& row : schedules->rows)
    some.push_back(scheduler::status_of(row));
  has_schedules_ |= add_page(schedules_, std::move(some), schedules->next, made->schedules);
  return made;
}

bool snapshot::is_stopping() {
  std::lock_guard hold(mutex_);
  return stopping_;
}

}  // namespace sluice
