// The calls of one batch: all are sent as one write, and each answer is read when it comes. Nothing waits in between.
// Redis loses the library by FUNCTION FLUSH, or by a restart that kept nothing. What it then refused is asked again, in
// its order: none of that has run meanwhile, since the functions of each load have names of their own.
#pragma once

#include <deque>

#include "storage/machine/steps.hpp"
#include "storage/redis/connection.hpp"

namespace sluice::storage::redis {

// How long so many bytes may take: 1 MiB a second is the slowest link of use.
inline duration time_for(std::uint64_t bytes) { return duration(static_cast<std::int64_t>(bytes)); }

class exchange final : public machine::steps {
public:
  // `loaded_as`: as what Redis has the library; it is changed when Redis has lost it and it is loaded again. `instant`
  // is empty for the clock of Redis.
  exchange(connection& c, const machine::library& known, std::string& loaded_as, std::string prefix,
           std::string instant, std::string token)
      : connection_(c),
        known_(known),
        loaded_as_(loaded_as),
        prefix_(std::move(prefix)),
        instant_(std::move(instant)),
        token_(std::move(token)),
        received_before_(c.received()) {}

  // Nothing is read before `finish`.
  void send(machine::call c, std::function<void(const machine::item&)> read,
            std::function<void(const error&)> failed) override;
  // Replicas that must have what was sent so far.
  void wait_for_replicas(std::uint32_t count, duration timeout);

  // Reads all answers; what comes of them puts the deadline off. False when the connection is of no more use.
  bool finish(steady_point deadline);

  std::string why_not_stay;  // when the connection is of no more use
  bool may_write = true;     // else what writes fails, unsent

private:
  struct step {
    machine::call what;
    std::uint64_t ends_at = 0;
    bool writes = false;
    std::function<void(const machine::item&)> read;
    std::function<void(const error&)> failed;
  };
  std::string encoded(const machine::call& c) const;
  void post(step s);
  bool collect(steady_point deadline, std::deque<step>& again);
  result<owned_reply> next(steady_point deadline);
  void lose(const std::string& why);
  // Behind the server that it is of.
  std::string in_words(const std::string& why) const;

  connection& connection_;
  const machine::library& known_;
  std::string& loaded_as_;
  std::string prefix_, instant_, token_;
  std::uint64_t received_before_;
  std::deque<step> steps_;
  std::uint32_t replicas_ = 0;
  duration replica_timeout_{0};
};

}  // namespace sluice::storage::redis
