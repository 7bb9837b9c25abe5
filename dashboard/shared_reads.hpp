// Answers that cost a read of the store, shared: alike questions within a second have one answer, and differing ones
// are asked of the store only so often, whoever asks.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>

#include "core/clock.hpp"
#include "dashboard/http.hpp"

namespace sluice::web {

class shared_reads {
public:
  static constexpr unsigned max_waiting = 2;  // for an answer that another reads; who comes then is told 503

  // `reads_a_second`: in any second, of all questions together; but who asks beside others has his share of them, up to
  // twice as many in all.
  explicit shared_reads(unsigned reads_a_second) : max_reads_(reads_a_second) {}

  // `who` asks: a user, or an address. `read` is called on the caller's thread, outside of any lock. 429 when too much
  // was read of late. While one reads anew, others are told the answer before, if it is a few seconds old at most.
  http_response get(const std::string& question, const std::string& who, const std::function<http_response()>& read);

  // Something was changed: whoever asks from now on reads anew.
  void forget_all();

private:
  struct entry {
    std::string question;
    std::optional<http_response> said{};
    steady_point read_at{};  // when what it says began to be read
    bool is_being_read = false;
  };

  bool may_read(const std::string& who, steady_point now);
  void forget_old(steady_point now);

  unsigned max_reads_;
  std::mutex mutex_;
  std::condition_variable read_;
  std::list<std::shared_ptr<entry>> known_;  // what was read or begun last is first
  unsigned waiting_ = 0;
  struct past_read {
    steady_point at;
    std::string who;
  };
  std::deque<past_read> reads_;  // of the last second
};

}  // namespace sluice::web
