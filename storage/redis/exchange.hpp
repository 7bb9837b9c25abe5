// What the transitions of one batch share: each adds its scripts, all are sent as one write, and each reads its own
// answer when it comes. Nothing waits in between.
#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "storage/redis/connection.hpp"
#include "storage/redis/records.hpp"
#include "storage/redis/scripts.hpp"
#include "storage/store.hpp"

namespace sluice::storage::redis {

// What an error reply means.
struct refusal {
  errc code = errc::storage_unavailable;
  bool leave = false;   // this server is the wrong one: connect anew
  bool reload = false;  // it has forgotten the scripts
  std::string_view word = {};
};
refusal read_refusal(std::string_view text);

class exchange {
public:
  using shas = std::array<std::string, script_count>;

  // `instant` is empty for the clock of Redis.
  exchange(connection& c, const shas& scripts, std::string prefix, std::string instant, std::string token)
      : connection_(c),
        shas_(scripts),
        prefix_(std::move(prefix)),
        instant_(std::move(instant)),
        token_(std::move(token)) {}

  // Begins a call; its arguments are added to what is answered, then `send` is called.
  command begin(script s) const;
  // `read` is given the answer. `failed` is given what went wrong instead; unknown_outcome when it may have happened.
  void send(script s, command c, std::function<void(const item&)> read, std::function<void(const error&)> failed);
  // Replicas that must have what was sent so far.
  void wait_for_replicas(std::uint32_t count, duration patience);

  // Reads all answers. False when the connection is of no more use.
  bool finish(steady_point deadline);

  // A record that cannot be read, to be put aside.
  void damaged(const told_job& told);

  bool made_work = false;    // work that this process should look for
  std::string why_not_stay;  // when the connection is of no more use
  struct broken_record {
    std::string id, record, past;
  };
  std::vector<broken_record> broken;

private:
  struct step {
    script what;
    std::string bytes;
    std::uint64_t ends_at = 0;
    bool writes = false;
    std::function<void(const item&)> read;
    std::function<void(const error&)> failed;
  };
  void post(step s);
  bool collect(steady_point deadline, std::deque<step>& again);
  bool reload(steady_point deadline);
  void lose(const std::string& why);

  connection& connection_;
  const shas& shas_;
  std::string prefix_, instant_, token_;
  std::deque<step> steps_;
  std::uint32_t replicas_ = 0;
  duration replica_patience_{0};
};

}  // namespace sluice::storage::redis
