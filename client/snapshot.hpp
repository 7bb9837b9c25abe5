// What is known of the whole store, read by one thread while somebody asks, however many ask. So a slow store holds up
// neither pages nor probes, and many who look cost it as much as one.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/clock.hpp"
#include "storage/shared_store.hpp"
#include "wire/overview.hpp"

namespace sluice {

using wire::known_store;

class snapshot {
public:
  using known = std::shared_ptr<const known_store>;

  static constexpr unsigned max_waiting = 2;  // for a read; others are told what is known

  explicit snapshot(std::shared_ptr<storage::shared_store> store);
  ~snapshot();
  snapshot(const snapshot&) = delete;

  // What is known, about two seconds old or newer; waits a second for it at most, and answers older when it does not
  // come or when others wait.
  known look();
  // What is known already, however old; a newer one is read meanwhile.
  known glance();
  // Something was changed: the next look is not content with what was read before.
  void expire();
  // Whether the store has answered of late. Waits 0.7 s for it at most, and only when it was not read of late.
  bool has_answered();

private:
  // Rows that are read page after page.
  template <class Row>
  struct rolling {
    std::string after;
    std::vector<Row> so_far;
  };

  void run();
  known read_or_fail();
  known read();
  std::shared_ptr<known_store> read_on(const known_store& before);
  bool is_stopping();
  duration pause_until_next() const;

  std::shared_ptr<storage::shared_store> store_;
  std::mutex mutex_;
  std::condition_variable asked_;
  std::condition_variable answered_;
  known known_ = std::make_shared<known_store>();
  steady_point checked_until_{}, probed_until_{};
  std::optional<steady_point> read_at_{}, answered_at_{};
  duration took_{0};  // the last read
  bool is_expired_ = false;
  unsigned waiting_ = 0;
  bool stopping_ = false;
  rolling<throttler_status> throttlers_;  // of the thread, and those that follow
  rolling<recurring_status> schedules_;
  bool has_throttlers_ = false, has_schedules_ = false;  // each as a whole, once
  std::thread thread_;
};

}  // namespace sluice
