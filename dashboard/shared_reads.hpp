// Answers that cost a read of the store, shared: alike questions within a second have one answer, and differing ones
// are asked of the store only so often, whoever asks.
#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>

#include "core/clock.hpp"
#include "dashboard/http.hpp"

namespace sluice::web {

class shared_reads {
public:
  static constexpr unsigned most_waiting = 2;  // for an answer that another reads; who comes then is told 503

  explicit shared_reads(double reads_a_second) : rate_(reads_a_second) {}

  // `read` is called on the caller's thread, outside of any lock. 429 when too much was read of late.
  http_response get(const std::string& question, const std::function<http_response()>& read);

  // Something was changed: whoever asks from now on reads anew.
  void forget_all();

private:
  struct entry {
    std::string question;
    steady_point began;
    bool is_read = false;
    http_response said{};
  };
  using entries = std::list<std::shared_ptr<entry>>;

  bool may_read(steady_point now);
  void forget_old(steady_point now);

  double rate_;
  std::mutex mutex_;
  std::condition_variable read_;
  entries known_;  // the newest first
  unsigned waiting_ = 0;
  double allowed_ = 0;
  steady_point counted_at_{};
};

}  // namespace sluice::web
