// Tells the dispatchers of a server's queues where there may be work, on the thread that the store tells of it.
#pragma once

#include "actors/server_context.hpp"

namespace sluice::actors {

class hint_router : public std::enable_shared_from_this<hint_router> {
public:
  explicit hint_router(std::weak_ptr<server_context> of) : context_(std::move(of)) {}

  void route(const storage::hint& one);

private:
  void look_everywhere();
  static void tell(const server_context& of, const std::vector<std::string>& queues);
  void looked();

  const std::weak_ptr<server_context> context_;
  mutex lock_;
  bool looking_ SLUICE_GUARDED_BY(lock_) = false;  // which queues have work
  bool look_again_ SLUICE_GUARDED_BY(lock_) = false;
};

}  // namespace sluice::actors
