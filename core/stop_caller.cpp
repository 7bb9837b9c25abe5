#include "core/stop_caller.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

#include "core/log.hpp"

namespace sluice {
namespace {

constexpr auto last_timeout = std::chrono::milliseconds(100);

}  // namespace

// Shared with the thread, which may outlive whoever asks.
struct stop_caller::line {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::stop_source> waiting;
  bool over = false;
  bool finished = false;
  std::thread thread;  // begun by the first request

  void run() {
    std::unique_lock hold(mutex);
    for (;;) {
      changed.wait(hold, [&] { return over || !waiting.empty(); });
      if (over) break;
      auto next = std::move(waiting.front());
      waiting.pop_front();
      hold.unlock();
      next.request_stop();
      hold.lock();
    }
    finished = true;
    changed.notify_all();
  }
};

stop_caller::stop_caller() : line_(std::make_shared<line>()) {}

stop_caller::~stop_caller() {
  std::unique_lock hold(line_->mutex);
  line_->over = true;
  line_->changed.notify_all();
  if (!line_->thread.joinable()) return;
  const bool is_here = line_->thread.get_id() == std::this_thread::get_id();  // a callback has ended us
  const bool ended = !is_here && line_->changed.wait_for(hold, last_timeout, [&] { return line_->finished; });
  auto thread = std::move(line_->thread);
  hold.unlock();
  if (!ended && !is_here) log::warn("a callback on a stop token does not return; its thread is left behind");
  if (ended) thread.join();
  else thread.detach();
}

void stop_caller::request(std::stop_source of) {
  if (at_once_) return void(of.request_stop());
  const std::lock_guard hold(line_->mutex);
  line_->waiting.push_back(std::move(of));
  line_->changed.notify_all();
  try {
    if (!line_->thread.joinable()) line_->thread = std::thread([line = line_] { line->run(); });
  } catch (const std::system_error& failed) {  // the next request tries again: nobody's callback may hold us up
    log::warn("no thread can be made for the callbacks on stop tokens (", message_of(failed),
              "); they are called later");
  }
}

}  // namespace sluice
