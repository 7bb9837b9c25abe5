// The thread that renews the locks of one manager and tells of those that are lost. It is made with the first lock and
// waits for no answer of the store, so that a slow store keeps nobody from hearing of a loss.
#pragma once

#include <memory>
#include <mutex>
#include <thread>

#include "client/lock_lease.hpp"
#include "storage/shared_store.hpp"

namespace sluice {

class lock_keeper {
public:
  explicit lock_keeper(std::shared_ptr<storage::shared_store> store);
  ~lock_keeper();
  lock_keeper(const lock_keeper&) = delete;

  // Until it ends.
  void keep(std::shared_ptr<lock_lease> lease);

  // Frees it without waiting for the answer.
  static void release(storage::shared_store& store, const lock_lease& lease);

private:
  struct shared;
  std::shared_ptr<shared> shared_;  // with the thread, which may outlive us by a moment
  std::once_flag begun_;
  std::thread thread_;
};

}  // namespace sluice
