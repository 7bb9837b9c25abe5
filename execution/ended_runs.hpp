// The ends of a pool's runs that nobody has taken to the store yet, in the order in which they came. Not thread-safe:
// it is reached through pool::lock alone.
#pragma once

#include <functional>
#include <vector>

#include "execution/claimed_run.hpp"

namespace sluice::execution {

// In one request, so that renewals do not wait long.
inline constexpr std::size_t max_bytes_of_ends = 4 * 1024 * 1024;

class ended_runs {
public:
  // May be called from any thread, without the pool's lock.
  using call = std::shared_ptr<const std::function<void()>>;

  // From now on this is called, instead of another, when as many have ended as were asked for; not again until the next
  // take or tell_of. Null: nobody is.
  void on_ended(const std::function<void()>& told) {
    notified_ = told ? std::make_shared<const std::function<void()>>(told) : nullptr;
    tell_of(1);
  }
  void add(ended_run end) {
    ends_.push_back(std::move(end));
    is_new_ = true;
  }
  std::size_t size() const { return ends_.size(); }

  // The first of them. None when fewer than `at_least` are there; then the call comes when so many are.
  std::vector<ended_run> take(std::size_t at_least = 1, std::size_t at_most = SIZE_MAX);
  // As when so few were asked for.
  void tell_of(std::size_t at_least) {
    is_told_ = false;
    is_new_ = true;
    notify_at_ = at_least;
  }
  // What a take has left is told of with the next that ends: whoever took knows of it.
  bool is_call_due() const {
    return notified_ && is_new_ && !is_told_ && ends_.size() >= std::max<std::size_t>(1, notify_at_);
  }
  // Whom to call now, if it is time.
  call due_call() {
    if (!is_call_due()) return nullptr;
    is_told_ = true;
    return notified_;
  }

private:
  std::vector<ended_run> ends_;
  call notified_;
  bool is_told_ = false;
  bool is_new_ = false;        // an end, or what is asked for, since the last take
  std::size_t notify_at_ = 1;  // so many ends
};

}  // namespace sluice::execution
