#include "storage/shared_store.hpp"

#include <algorithm>
#include <map>

#include "core/per_process.hpp"
#include "core/thread_name.hpp"
#include "storage/file_name.hpp"
#include "storage/job_filter.hpp"
#include "storage/numbers.hpp"
#include "storage/settle_in_parts.hpp"

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

}  // namespace

shared_store::shared_store(std::unique_ptr<store> opened, std::shared_ptr<const clock> time)
    : time_(time ? std::move(time) : std::make_shared<const system_clock>()),
      store_(std::move(opened)),
      second_(store_->open_second_connection()),
      durability_(store_->durability()),
      settings_(store_->settings()) {
  thread_ = std::thread([this] { run(); });
  if (second_) second_thread_ = std::thread([this] { run_second(); });
}

shared_store::~shared_store() {
  {
    std::lock_guard hold(mutex_);
    stopping_ = true;
  }
  store_->stop_waiting();
  if (second_) second_->stop_waiting();
  watch_.reset();
  changed_.notify_all();
  unordered_.notify_all();
  thread_.join();
  if (second_) second_thread_.join();
}

void shared_store::submit(requests asked, answered done, priority when) {
  if (!is_of_this_process()) return done(refuse_forked(asked.size()));
  const auto self = weak_from_this().lock();  // the answer may let go of the last other share before this returns
  auto submission =
      std::make_shared<pending_submission>(pending_submission{std::move(asked), std::move(done), 0, {}, when, false});
  for (const auto& r : submission->asked)
    submission->weight += weight(r);
  submission->since = std::chrono::steady_clock::now();
  std::unique_lock hold(mutex_);
  waiting_weight_ += submission->weight;
  const auto place =
      when != priority::urgent ? waiting_.end() : std::find_if(waiting_.begin(), waiting_.end(), [](const auto& waits) {
        return waits->when != priority::urgent;
      });
  const auto& placed = *waiting_.insert(place, std::move(submission));
  const bool by_hint = hearing_ && std::this_thread::get_id() == hints_thread_.load();
  placed->by_hint = by_hint;
  // The hints thread will look at its own itself, when that is all.
  const bool wakes_first = waiting_.size() == 1 ? !by_hint : hearing_;
  const bool wakes_second = when != priority::in_order && busy_;
  hold.unlock();  // whoever is woken finds the lock free
  if (wakes_first) changed_.notify_one();
  if (wakes_second) unordered_.notify_one();
}

shared_store::answers shared_store::call(requests asked, steady_point deadline) {
  if (!is_of_this_process()) return refuse_forked(asked.size());
  struct exchange {
    std::mutex mutex;
    std::condition_variable answered;
    std::optional<answers> got;
  };
  auto shared = std::make_shared<exchange>();
  const std::size_t count = asked.size();
  auto submission = std::make_shared<pending_submission>();
  submission->asked = std::move(asked);
  submission->is_waited_for = true;
  submission->done = [shared](answers got) {
    // Notified under the lock: the caller may destroy nothing while we hold a share of it.
    std::lock_guard hold(shared->mutex);
    shared->got = std::move(got);
    shared->answered.notify_one();
  };
  for (const auto& r : submission->asked)
    submission->weight += weight(r);
  submission->since = std::chrono::steady_clock::now();
  {
    std::unique_lock hold(mutex_);
    if (!room_.wait_until(hold, deadline, [&] { return waiting_weight_ < max_waiting_weight || stopping_; }))
      return answers(count, error{errc::overloaded, "too much is waiting for the store in this process"});
    waiting_weight_ += submission->weight;
    waiting_.push_back(submission);
    const bool goes_itself = !busy_ && !stopping_ && waiting_.size() == 1 && submission->weight <= max_batch_weight &&
                             deadline - std::chrono::steady_clock::now() > busy_timeout;
    if (goes_itself) {
      busy_ = true;
      hold.unlock();
      take_turn(who::caller);
    } else if (waiting_.size() == 1 || hearing_) {
      changed_.notify_one();
    }
  }
  std::unique_lock hold(shared->mutex);
  if (shared->answered.wait_until(hold, deadline, [&] { return shared->got.has_value(); }))
    return std::move(*shared->got);
  hold.unlock();
  {
    std::lock_guard queue_hold(mutex_);
    const auto at = std::find(waiting_.begin(), waiting_.end(), submission);
    if (at != waiting_.end()) {
      waiting_weight_ -= submission->weight;
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

void shared_store::run() {
  name_this_thread("sluice-store");
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
void shared_store::take_turn(who me) {
  hint made_work;
  if (const auto up = store_->ready(); up) {
    submissions taken;
    {
      std::lock_guard hold(mutex_);
      away_.reset();
      taken = take(me);
      if (unordered_waits()) unordered_.notify_one();
    }
    if (!taken.empty()) made_work = carry_out(*store_, taken);
    store_->tidy();
  } else if (me == who::first_thread) {
    wait_for_store(up.error());
  }
  bool others_wait = false;
  {
    std::lock_guard hold(mutex_);
    busy_ = false;
    others_wait = !waiting_.empty() || stopping_;
  }
  if (others_wait) changed_.notify_one();
  if (made_work) notify_listeners(made_work);
}

// The second thread waits for no store: what it cannot take now the first will, and say why not.
void shared_store::run_second() {
  name_this_thread("sluice-store-2");
  for (;;) {
    {
      std::unique_lock hold(mutex_);
      unordered_.wait(hold, [&] { return stopping_ || (busy_ && unordered_waits()); });
      if (stopping_) return;
    }
    if (const auto up = second_->ready(); !up) {
      std::unique_lock hold(mutex_);
      unordered_.wait_for(hold, between_looks, [&] { return stopping_; });
      continue;
    }
    submissions taken;
    {
      std::lock_guard hold(mutex_);
      if (!busy_) continue;
      taken = take(who::second_thread);
    }
    if (taken.empty()) continue;
    const auto made_work = carry_out(*second_, taken);
    second_->tidy();
    if (made_work) notify_listeners(made_work);
  }
}

bool shared_store::unordered_waits() const {
  return std::any_of(waiting_.begin(), waiting_.end(),
                     [](const auto& submission) { return submission->when != priority::in_order; });
}

shared_store::submissions shared_store::take(who me) {
  submissions taken;
  std::size_t load = 0;
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    if (me == who::second_thread && (*at)->when == priority::in_order) {
      ++at;
      continue;
    }
    if (me == who::caller && !(*at)->is_waited_for) break;
    if (me == who::hints_thread && !(*at)->by_hint) break;
    const bool with_first = load > 0 && taken.front()->when == priority::urgent && (*at)->when != priority::urgent;
    if (load > 0 && load + (*at)->weight > (with_first ? max_weight_with_first : max_batch_weight)) break;
    load += (*at)->weight;
    waiting_weight_ -= (*at)->weight;
    taken.push_back(std::move(*at));
    at = waiting_.erase(at);
  }
  return taken;
}

hint shared_store::carry_out(store& in, const submissions& taken) {
  room_.notify_all();
  requests batch;
  for (auto& submission : taken)
    for (auto& r : submission->asked)
      batch.push_back(std::move(r));
  const auto began = std::chrono::steady_clock::now();
  auto got = in.apply(batch);
  auto made_work = in.made_work();
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const auto* refused = std::get_if<error>(&got[i]);
    const auto* ends = std::get_if<settle_request>(&batch[i]);
    if (!refused || !ends || ends->runs.empty() || !concerns_one_end(refused->code) || in.has_failed_for_good())
      continue;
    auto apart = settle_in_parts(in, *ends, *refused);
    got[i] = std::move(apart.told);
    made_work.add(apart.made_work);
  }
  numbers::here().note(batch, got, std::chrono::duration_cast<duration>(std::chrono::steady_clock::now() - began));
  auto next = got.begin();
  for (auto& submission : taken) {
    const auto end = next + static_cast<std::ptrdiff_t>(submission->asked.size());
    // Gone before the next is answered: it may hold the last share of something that owns us.
    const auto done = std::exchange(submission->done, nullptr);
    done(answers(std::make_move_iterator(next), std::make_move_iterator(end)));
    next = end;
  }
  return made_work;
}

// What is asked waits for the store to come back, but not for ever: who waited long is told.
void shared_store::wait_for_store(const error& why) {
  std::vector<std::shared_ptr<pending_submission>> late;
  {
    std::lock_guard hold(mutex_);
    away_ = why;
    const auto asked_before = std::chrono::steady_clock::now() - busy_timeout;
    std::erase_if(waiting_, [&](auto& submission) {
      if (!stopping_ && submission->since >= asked_before) return false;
      waiting_weight_ -= submission->weight;
      late.push_back(std::move(submission));
      return true;
    });
  }
  room_.notify_all();
  for (const auto& submission : late)
    std::exchange(submission->done, nullptr)(answers(submission->asked.size(), why));
  std::unique_lock hold(mutex_);
  changed_.wait_for(hold, between_looks, [&] { return stopping_; });
}

void shared_store::notify_listeners(const hint& meant) {
  std::vector<std::shared_ptr<subscription::call>> all;
  {
    std::lock_guard hold(listeners_mutex_);
    all = listeners_;
  }
  for (const auto& one : all) {
    std::shared_lock under_way(one->under_way);
    if (one->callback) one->callback(meant);
  }
}

// Of work that another process made, on the thread that heard of it. What the listeners ask for then is carried out
// here when nobody is at the store and nobody else waits for it.
void shared_store::hear(const hint& meant) {
  hints_thread_ = std::this_thread::get_id();
  {
    std::lock_guard hold(mutex_);
    hearing_ = true;
  }
  notify_listeners(meant);
  {
    std::unique_lock hold(mutex_);
    hearing_ = false;
    if (busy_ || waiting_.empty()) return;  // whoever is at it looks again behind
    if (!waiting_.front()->by_hint) {
      hold.unlock();
      return changed_.notify_one();
    }
    busy_ = true;
  }
  take_turn(who::hints_thread);
}

std::unique_ptr<shared_store::subscription> shared_store::subscribe(listener callback) {
  auto made = std::make_unique<subscription>();
  made->from = this;
  made->made = std::make_shared<subscription::call>();
  made->made->callback = std::move(callback);
  if (!is_of_this_process()) return made;
  std::lock_guard hold(listeners_mutex_);
  listeners_.push_back(made->made);
  if (!watch_) watch_ = store_->watch_others([this](const hint& meant) { hear(meant); });
  return made;
}

shared_store::subscription::~subscription() {
  if (!from->is_of_this_process()) return;
  {
    std::lock_guard hold(from->listeners_mutex_);
    std::erase(from->listeners_, made);
  }
  std::unique_lock under_way(made->under_way);
  made->callback = nullptr;
}

namespace {

// What is told on a shared store's thread may hold the last share of it: then another thread ends it.
// A child that was forked leaves it as it is: it has no thread to wait for, and the files are its parent's.
void end_shared_store(shared_store* which) {
  if (!which->is_of_this_process()) return;
  if (which->is_here()) std::thread([which] { delete which; }).detach();
  else delete which;
}

struct open_stores {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<shared_store>> by_place;
};

open_stores& all_open() {
  static constinit per_process<open_stores> all;
  return all.here();
}

}  // namespace

result<std::shared_ptr<shared_store>> open_shared_store(const std::string& url, std::shared_ptr<const clock> time,
                                                        open_mode mode, const machine::library* known) {
  if (auto named = check_url(url); !named) return named.error();
  auto path = identity_of(url);
  if (mode == open_mode::read_only && !path.starts_with(":memory:")) path += " to look";
  auto& open = all_open();
  std::lock_guard hold(open.mutex);
  std::erase_if(open.by_place, [](const auto& entry) { return entry.second.expired(); });
  if (auto shared = open.by_place[path].lock()) {
    if (time) return error{errc::invalid_argument, "the store is open already, and goes by another clock"};
    return shared;
  }
  auto made = open_store(url, time.get(), mode, known);
  if (!made) return made.error();
  std::shared_ptr<shared_store> fresh(new shared_store(std::move(*made), std::move(time)), end_shared_store);
  open.by_place[path] = fresh;
  return fresh;
}

result<std::shared_ptr<shared_store>> open_shared_store_for_server(const std::string& url,
                                                                   std::shared_ptr<const clock> time,
                                                                   const machine::library* known) {
  auto opened = open_shared_store(url, time, open_mode::may_make, known);
  if (opened || opened.error().code != errc::storage_older) return opened;
  const auto raised = raise_layout(url, time.get(), known);
  if (!raised) return raised.error();
  if (!raised->waits_for.empty()) return waits_for_servers(url, *raised);
  return open_shared_store(url, std::move(time), open_mode::may_make, known);
}

}  // namespace sluice::storage
