#include "execution/thread_cache.hpp"

#include <deque>
#include <list>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "core/log.hpp"
#include "core/mutex.hpp"
#include "core/thread_name.hpp"

namespace sluice::execution {
namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto on_their_way_back = 100ms;
constexpr auto idle_timeout = 10s;
constexpr auto between_warnings = 1min;

// Those that have ended: not their own.
void join(std::vector<std::thread>& ended) {
  for (auto& t : ended) {
    if (t.get_id() == std::this_thread::get_id()) t.detach();
    else t.join();
  }
}

}  // namespace

// Shared with the threads: one whose handler never ends outlives the server.
struct thread_cache::state : std::enable_shared_from_this<state> {
  struct errand {
    std::shared_ptr<thread_borrower> by;
    std::uint64_t number = 0;
  };
  struct lent_thread {
    std::thread native{};
    std::thread::id id{};
    std::condition_variable called{};
    std::optional<errand> task{};
  };
  using place = std::list<lent_thread>::iterator;

  explicit state(std::uint32_t at_most) : most(at_most) {}

  const std::uint32_t most;
  mutable mutex lock{};
  std::condition_variable fewer{};
  std::list<lent_thread> all SLUICE_GUARDED_BY(lock){};
  std::vector<place> idle SLUICE_GUARDED_BY(lock){};  // the last to come back is lent first
  std::deque<errand> waiting SLUICE_GUARDED_BY(lock){};
  std::vector<std::thread> ended SLUICE_GUARDED_BY(lock){};  // each is joined by the next that ends
  bool is_closed SLUICE_GUARDED_BY(lock) = false;
  std::uint32_t written_off SLUICE_GUARDED_BY(lock) = 0;
  steady_point next_warning SLUICE_GUARDED_BY(lock){};

  // False: there is no thread for it now.
  bool give(errand& what) SLUICE_REQUIRES(lock) {
    if (!idle.empty()) {
      const auto at = idle.back();
      idle.pop_back();
      at->task = std::move(what);
      at->called.notify_one();
      return true;
    }
    if (all.size() >= most + written_off) return false;
    const auto at = all.emplace(all.end());
    try {
      at->native = std::thread([kept = shared_from_this(), at] { kept->run(at); });
      at->id = at->native.get_id();
    } catch (const std::exception& failed) {
      all.erase(at);
      if (const auto now = steady_clock::now(); now >= next_warning) {
        next_warning = now + between_warnings;
        log::warn("no thread can be made for a job (", message_of(failed), "): there are ", all.size(),
                  ", and jobs wait for one of them; it is tried again every sweep_interval");
      }
      return false;
    }
    at->task = std::move(what);
    return true;
  }
  void serve_waiting() SLUICE_REQUIRES(lock) {
    while (!is_closed && !waiting.empty() && give(waiting.front()))
      waiting.pop_front();
  }

  void run(place at) {
    name_this_thread("sluice-worker");
    struct at_end {  // also when a handler ends the thread
      state& of;
      place at;
      ~at_end() { of.ends(at); }
    } guard{*this, at};
    while (const auto next = wait_for_task(at))
      next->by->use_thread(next->number);
  }

  // None: it was idle for long, or the server ends.
  std::optional<errand> wait_for_task(place at) {
    mutex_lock held(lock);
    if (!at->task && !waiting.empty() && !is_closed) {
      at->task = std::move(waiting.front());
      waiting.pop_front();
    }
    if (!at->task && !is_closed) idle.push_back(at);
    const auto until = steady_clock::now() + idle_timeout;
    while (!at->task && !is_closed)
      if (!held.wait_until(at->called, until)) break;
    if (!at->task) std::erase(idle, at);
    return std::exchange(at->task, std::nullopt);
  }

  void ends(place at) {
    std::vector<std::thread> before;
    {
      const mutex_lock held(lock);
      before.swap(ended);
      if (at->native.joinable()) ended.push_back(std::move(at->native));
      all.erase(at);
      fewer.notify_all();
      serve_waiting();
    }
    join(before);
  }
};

thread_cache::thread_cache(std::uint32_t most) : state_(std::make_shared<state>(most)) {}

thread_cache::~thread_cache() { close(steady_clock::now() + on_their_way_back); }

void thread_cache::lend(std::shared_ptr<thread_borrower> by, std::uint64_t number) {
  state::errand what{std::move(by), number};
  const mutex_lock held(state_->lock);
  if (state_->is_closed) return;
  if (!state_->waiting.empty() || !state_->give(what)) state_->waiting.push_back(std::move(what));
}

void thread_cache::write_off() {
  const mutex_lock held(state_->lock);
  ++state_->written_off;
  state_->serve_waiting();
}

void thread_cache::came_back() {
  const mutex_lock held(state_->lock);
  --state_->written_off;
}

void thread_cache::try_again() {
  const mutex_lock held(state_->lock);
  state_->serve_waiting();
}

void thread_cache::close(steady_point deadline) {
  std::deque<state::errand> never_begun;  // what they hold may end pools: not under our lock
  std::vector<std::thread> ended;
  {
    mutex_lock held(state_->lock);
    state_->is_closed = true;
    never_begun.swap(state_->waiting);
    bool is_one_of_them = false;
    for (auto& t : state_->all) {
      t.called.notify_one();
      is_one_of_them = is_one_of_them || t.id == std::this_thread::get_id();
    }
    while (!is_one_of_them && !state_->all.empty())
      if (!held.wait_until(state_->fewer, deadline)) break;
    for (auto& t : state_->all)
      if (t.native.joinable()) t.native.detach();
    ended.swap(state_->ended);
  }
  join(ended);
}

std::uint32_t thread_cache::size() const {
  const mutex_lock held(state_->lock);
  return static_cast<std::uint32_t>(state_->all.size());
}

}  // namespace sluice::execution
