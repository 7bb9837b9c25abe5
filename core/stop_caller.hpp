// Requests stops on a thread of its own. What somebody has bound to a stop token may block, and must hold up neither
// the renewal of leases nor the end of a server: only other stops that are requested here.
#pragma once

#include <memory>
#include <stop_token>

namespace sluice {

class stop_caller {
public:
  stop_caller();
  // Waits a moment for a callback that still runs; then its thread is left behind. What was not begun is not requested.
  ~stop_caller();
  stop_caller(const stop_caller&) = delete;

  // In the order in which they are asked for.
  void request(std::stop_source of);
  // From now on whoever requests a stop makes the calls himself: nobody waits for him who must not.
  void call_at_once() { at_once_ = true; }

private:
  struct line;
  std::shared_ptr<line> line_;
  bool at_once_ = false;
};

}  // namespace sluice
