#include "storage/runner.hpp"

#include <algorithm>
#include <map>

#include "storage/file_name.hpp"
#include "storage/job_filter.hpp"
#include "storage/numbers.hpp"
#include "storage/settle_apart.hpp"

namespace sluice::storage {
namespace {

constexpr std::size_t max_batch_weight = 2'000;      // in one commit, up to 8 MiB: bounds how long others wait
constexpr std::size_t max_weight_with_first = 200;   // the same of a commit that begins with those that go first
constexpr std::size_t max_waiting_weight = 100'000;  // that callers may have waiting, up to 400 MiB
constexpr auto between_looks = std::chrono::milliseconds(20);  // while the store is away

// Two spellings of one file are one store.
std::string identity_of(const std::string& url) {
  if (!url.starts_with("sqlite:")) return url;
  const auto name = url.substr(url.find(':') + 1, url.find('?') - url.find(':') - 1);
  return name.starts_with(":memory:") ? name : real_name(name);
}

// What is large weighs as much as many that are small.
std::size_t heavy(std::size_t bytes) { return bytes / 4'096; }

}  // namespace

std::size_t weight(const request& r) {
  if (const auto* e = std::get_if<enqueue_request>(&r)) {
    std::size_t sum = 1 + e->jobs.size();
    for (const auto& job : e->jobs)
      sum += heavy(job.record.size());
    return sum;
  }
  if (const auto* s = std::get_if<settle_request>(&r)) {
    std::size_t sum = 1 + s->starts.size() + (s->next ? s->next->free + s->next->ahead : 0);
    for (const auto& end : s->starts)
      sum += heavy(bytes_of(end));
    return sum;
  }
  if (const auto* c = std::get_if<claim_request>(&r)) return 1 + c->free + c->ahead;
  if (const auto* n = std::get_if<renew_request>(&r)) return 1 + n->starts.size();
  if (const auto* p = std::get_if<progress_request>(&r)) return 1 + p->starts.size();
  if (const auto* t = std::get_if<take_request>(&r)) return 1 + t->starts.size();
  if (const auto* w = std::get_if<swap_request>(&r)) {
    std::size_t sum = 1 + w->parks.size() + heavy(w->state.size());
    for (const auto& wake : w->wakes)
      sum += wake.count;
    return sum;
  }
  if (const auto* f = std::get_if<swap_schedule_request>(&r)) {
    std::size_t sum = 1 + f->enqueue.size();
    for (const auto& o : f->enqueue)
      sum += heavy(o.job.record.size());
    return sum;
  }
  if (const auto* l = std::get_if<list_request>(&r))
    return 1 + (looks_inside(l->query) ? most_looked_at : std::min(l->query.limit, largest_page));
  if (const auto* q = std::get_if<quarantine_request>(&r)) return 1 + std::min(q->limit, largest_page);
  if (const auto* k = std::get_if<locks_request>(&r)) return 1 + std::min(k->limit, largest_page);
  if (const auto* a = std::get_if<acts_request>(&r)) return 1 + a->limit;
  if (const auto* h = std::get_if<holders_request>(&r)) return 1 + h->limit;
  if (const auto* v = std::get_if<waiters_request>(&r)) return 1 + v->limit;
  return 1;
}

runner::runner(std::unique_ptr<store> opened, std::shared_ptr<const clock> time)
    : time_(time ? std::move(time) : std::make_shared<const system_clock>()),
      store_(std::move(opened)),
      second_(store_->another()),
      durability_(store_->durability()),
      settings_(store_->settings()) {
  thread_ = std::thread([this] { run(); });
  if (second_) second_thread_ = std::thread([this] { run_beside(); });
}

runner::~runner() {
  watch_.reset();
  {
    std::lock_guard hold(mutex_);
    stopping_ = true;
  }
  store_->stop_waiting();
  if (second_) second_->stop_waiting();
  changed_.notify_all();
  beside_.notify_all();
  thread_.join();
  if (second_) second_thread_.join();
}

void runner::submit(requests asked, answered done, turn when) {
  auto order = std::make_shared<job_order>(job_order{std::move(asked), std::move(done), 0, {}, when, false});
  for (const auto& r : order->asked)
    order->weight += weight(r);
  order->since = std::chrono::steady_clock::now();
  std::lock_guard hold(mutex_);
  waiting_weight_ += order->weight;
  const auto place = when != turn::first ? waiting_.end()
                                         : std::find_if(waiting_.begin(), waiting_.end(),
                                                        [](const auto& waits) { return waits->when != turn::first; });
  waiting_.insert(place, std::move(order));
  if (waiting_.size() == 1) changed_.notify_one();
  if (when != turn::last && busy_) beside_.notify_one();
}

runner::answers runner::call(requests asked, steady_point deadline) {
  struct exchange {
    std::mutex mutex;
    std::condition_variable answered;
    std::optional<answers> got;
  };
  auto shared = std::make_shared<exchange>();
  const std::size_t count = asked.size();
  auto order = std::make_shared<job_order>();
  order->asked = std::move(asked);
  order->is_waited_for = true;
  order->done = [shared](answers got) {
    // Notified under the lock: the caller may destroy nothing while we hold a share of it.
    std::lock_guard hold(shared->mutex);
    shared->got = std::move(got);
    shared->answered.notify_one();
  };
  for (const auto& r : order->asked)
    order->weight += weight(r);
  order->since = std::chrono::steady_clock::now();
  {
    std::unique_lock hold(mutex_);
    if (!room_.wait_until(hold, deadline, [&] { return waiting_weight_ < max_waiting_weight || stopping_; }))
      return answers(count, error{errc::overloaded, "too much is waiting for the store in this process"});
    waiting_weight_ += order->weight;
    waiting_.push_back(order);
    const bool goes_itself = !busy_ && !stopping_ && waiting_.size() == 1 && order->weight <= max_batch_weight &&
                             deadline - std::chrono::steady_clock::now() > patience_with_others;
    if (goes_itself) {
      busy_ = true;
      hold.unlock();
      take_turn(who::caller);
    } else if (waiting_.size() == 1) {
      changed_.notify_one();
    }
  }
  std::unique_lock hold(shared->mutex);
  if (shared->answered.wait_until(hold, deadline, [&] { return shared->got.has_value(); }))
    return std::move(*shared->got);
  hold.unlock();
  {
    std::lock_guard queue_hold(mutex_);
    const auto at = std::find(waiting_.begin(), waiting_.end(), order);
    if (at != waiting_.end()) {
      waiting_weight_ -= order->weight;
      waiting_.erase(at);
      if (away_) return answers(count, *away_);
      return answers(count,
                     error{errc::storage_busy, "the store did not get to it before the deadline; nothing was stored"});
    }
  }
  hold.lock();
  if (shared->got) return std::move(*shared->got);
  return answers(
      count, error{errc::unknown_outcome, "the deadline passed while the store was at it; ask again with the same id"});
}

void runner::run() {
  for (;;) {
    {
      std::unique_lock hold(mutex_);
      changed_.wait(hold, [&] { return !busy_ && (!waiting_.empty() || stopping_); });
      if (waiting_.empty()) return;
      busy_ = true;
    }
    take_turn(who::first_thread);
  }
}

// Of whoever made the store busy. While it is away, only the first thread waits for it.
void runner::take_turn(who me) {
  if (const auto up = store_->ready(); up) {
    orders taken;
    {
      std::lock_guard hold(mutex_);
      away_.reset();
      taken = take(me);
      if (beside_waits()) beside_.notify_one();
    }
    if (!taken.empty()) carry_out(*store_, taken);
    store_->tidy();
  } else if (me == who::first_thread) {
    wait_for_store(up.error());
  }
  std::lock_guard hold(mutex_);
  busy_ = false;
  if (!waiting_.empty() || stopping_) changed_.notify_one();
}

// The second thread waits for no store: what it cannot take now the first will, and say why not.
void runner::run_beside() {
  for (;;) {
    {
      std::unique_lock hold(mutex_);
      beside_.wait(hold, [&] { return stopping_ || (busy_ && beside_waits()); });
      if (stopping_) return;
    }
    if (const auto up = second_->ready(); !up) {
      std::unique_lock hold(mutex_);
      beside_.wait_for(hold, between_looks, [&] { return stopping_; });
      continue;
    }
    orders taken;
    {
      std::lock_guard hold(mutex_);
      if (!busy_) continue;
      taken = take(who::second_thread);
    }
    if (taken.empty()) continue;
    carry_out(*second_, taken);
    second_->tidy();
  }
}

bool runner::beside_waits() const {
  return std::any_of(waiting_.begin(), waiting_.end(), [](const auto& order) { return order->when != turn::last; });
}

runner::orders runner::take(who me) {
  orders taken;
  std::size_t load = 0;
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    if (me == who::second_thread && (*at)->when == turn::last) {
      ++at;
      continue;
    }
    if (me == who::caller && !(*at)->is_waited_for) break;
    const bool with_first = load > 0 && taken.front()->when == turn::first && (*at)->when != turn::first;
    if (load > 0 && load + (*at)->weight > (with_first ? max_weight_with_first : max_batch_weight)) break;
    load += (*at)->weight;
    waiting_weight_ -= (*at)->weight;
    taken.push_back(std::move(*at));
    at = waiting_.erase(at);
  }
  return taken;
}

void runner::carry_out(store& in, const orders& taken) {
  room_.notify_all();
  requests batch;
  for (auto& order : taken)
    for (auto& r : order->asked)
      batch.push_back(std::move(r));
  const auto began = std::chrono::steady_clock::now();
  auto got = in.apply(batch);
  auto made_work = in.made_work();
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const auto* refused = std::get_if<error>(&got[i]);
    const auto* ends = std::get_if<settle_request>(&batch[i]);
    if (!refused || !ends || ends->starts.empty() || !concerns_one_end(refused->code) || in.has_failed_for_good())
      continue;
    auto apart = settle_apart(in, *ends, *refused);
    got[i] = std::move(apart.told);
    made_work.add(apart.made_work);
  }
  numbers::here().note(batch, got, std::chrono::duration_cast<duration>(std::chrono::steady_clock::now() - began));
  auto next = got.begin();
  for (auto& order : taken) {
    const auto end = next + static_cast<std::ptrdiff_t>(order->asked.size());
    // Gone before the next is answered: it may hold the last share of something that owns us.
    const auto done = std::exchange(order->done, nullptr);
    done(answers(std::make_move_iterator(next), std::make_move_iterator(end)));
    next = end;
  }
  if (made_work) tell_listeners(made_work);
}

// What is asked waits for the store to come back, but not for ever: who waited long is told.
void runner::wait_for_store(const error& why) {
  std::vector<std::shared_ptr<job_order>> late;
  {
    std::lock_guard hold(mutex_);
    away_ = why;
    const auto asked_before = std::chrono::steady_clock::now() - patience_with_others;
    std::erase_if(waiting_, [&](auto& order) {
      if (!stopping_ && order->since >= asked_before) return false;
      waiting_weight_ -= order->weight;
      late.push_back(std::move(order));
      return true;
    });
  }
  room_.notify_all();
  for (const auto& order : late)
    std::exchange(order->done, nullptr)(answers(order->asked.size(), why));
  std::unique_lock hold(mutex_);
  changed_.wait_for(hold, between_looks, [&] { return stopping_; });
}

void runner::tell_listeners(const hint& meant) {
  std::lock_guard hold(listeners_mutex_);
  for (const auto& told : listeners_)
    told(meant);
}

std::unique_ptr<runner::subscription> runner::subscribe(listener told) {
  auto made = std::make_unique<subscription>();
  std::lock_guard hold(listeners_mutex_);
  made->from = this;
  made->at = listeners_.insert(listeners_.end(), std::move(told));
  if (!watch_) watch_ = store_->watch_others([this](const hint& meant) { tell_listeners(meant); });
  return made;
}

runner::subscription::~subscription() {
  std::lock_guard hold(from->listeners_mutex_);
  from->listeners_.erase(at);
}

namespace {

// What is told on a runner's thread may hold the last share of it: then another thread ends it.
void end_runner(runner* which) {
  if (which->is_here()) std::thread([which] { delete which; }).detach();
  else delete which;
}

}  // namespace

result<std::shared_ptr<runner>> open_runner(const std::string& url, std::shared_ptr<const clock> time, open_mode mode,
                                            const machine::edition* known) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<runner>> open;
  if (auto named = check_url(url); !named) return named.error();
  auto path = identity_of(url);
  if (mode == open_mode::only_look && !path.starts_with(":memory:")) path += " to look";
  std::lock_guard hold(mutex);
  std::erase_if(open, [](const auto& entry) { return entry.second.expired(); });
  if (auto shared = open[path].lock()) {
    if (time) return error{errc::invalid_argument, "the store is open already, and goes by another clock"};
    return shared;
  }
  auto made = open_store(url, time.get(), mode, known);
  if (!made) return made.error();
  std::shared_ptr<runner> fresh(new runner(std::move(*made), std::move(time)), end_runner);
  open[path] = fresh;
  return fresh;
}

result<std::shared_ptr<runner>> open_server_runner(const std::string& url, std::shared_ptr<const clock> time,
                                                   const machine::edition* known) {
  auto opened = open_runner(url, time, open_mode::may_make, known);
  if (opened || opened.error().code != errc::storage_older) return opened;
  const auto raised = raise_layout(url, time.get(), known);
  if (!raised) return raised.error();
  if (!raised->waits_for.empty()) return waits_for_servers(url, *raised);
  return open_runner(url, std::move(time), open_mode::may_make, known);
}

}  // namespace sluice::storage
