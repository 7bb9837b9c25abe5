// Single-use grants that end after a while, as "check this device within two minutes". All that is known of them is in
// two jobs, so that any process may be killed at any time:
//
//   expiry:ID   the grant itself: a delayed job that is due when the grant ends. Its args say what may be checked.
//   grant:ID    what became of it: the check by one device, or that it expired. One id is one job, and other content
//               under it is refused as id_conflict: so whoever enqueues it first has decided, and nobody decides again.
//
// A device that redeems, and the job expiry:ID when it is due, both try to enqueue grant:ID. A device that does not
// know whether it did asks again: the same content is the same job.
//
// A grant is open until workers take up expiry:ID, and no clock of a device has a say in it. So while all workers are
// away it may be redeemed late, once as ever, and is checked when they are back.
#pragma once

#include <string>
#include <string_view>

#include <sluice/sluice.hpp>

#include "device_check/journal.hpp"
#include "device_check/kill_point.hpp"

namespace sample {

// What is handed out: the args of expiry:ID.
struct offer {
  std::string check;          // what the device is to check
  std::uint32_t seconds = 0;  // for how long it may be redeemed
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(offer, check, seconds)

// What became of a grant: the args of grant:ID.
struct decision {
  std::string grant;
  std::string outcome;  // "redeemed" or "expired"
  std::string device;   // who redeemed it
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(decision, grant, outcome, device)

enum class standing {
  unknown,    // was not handed out, or so long ago that it is forgotten
  open,       // may be redeemed: workers have not taken up its end
  ending,     // is refused while a worker decides that it expired; when that run fails, open until the next one
  checking,   // was redeemed
  answered,   // was redeemed, and its check has an answer
  failed,     // was redeemed, and its check failed for good
  expired,    // was not redeemed before a worker ended it
  withdrawn,  // its end was deleted, or failed for good, while nobody had redeemed it
};
std::string_view name_of(standing is) noexcept;
bool is_over(standing is) noexcept;  // it will not change any more, unless a person makes it

struct grant_view {
  standing is = standing::unknown;
  std::string device{};  // who redeemed it
  std::string text{};    // the answer, or why there is none
};

// A grant is given a day at most, and what became of it is kept for thirty, by each server on the store. So grant:ID is
// there for as long as expiry:ID is open, and nobody redeems again because it was forgotten. Nothing is removed by
// count, since a busy hour would remove what is young. A device that stands still for thirty days between its look and
// its redemption comes to nothing: the check finds no expiry:ID, or the first check in the journal, whose entries stay.
// When all workers are away for thirty days, a grant that was redeemed just before may be told as expired, or
// be redeemed anew; it is not checked again.
constexpr std::uint32_t longest_life = 86'400;
sluice::server_options options_of(const std::string& store);

class grants {
public:
  // `careless`: redemptions get ids of their own, to see what the one id is for.
  explicit grants(sluice::client& client, kill_point dies = {}, bool careless = false)
      : client_(client), dies_(std::move(dies)), careless_(careless) {}

  // Asking again with the same words is the same grant, and its time does not begin anew.
  sluice::result<void> hand_out(const std::string& id, const offer& what);

  // How it is afterwards. It is this device's if it is redeemed by this device, now or before.
  sluice::result<grant_view> redeem(const std::string& id, const std::string& device);

  sluice::result<grant_view> look(const std::string& id);

  // What a worker does. This object and the journal must outlive the server.
  void handle_all(sluice::server& server, journal& book);

private:
  sluice::new_job job_of(const decision& made) const;
  std::string check(const decision& made, const sluice::job_context& job, journal& book);
  std::string expire(const std::string& id);

  sluice::client& client_;
  kill_point dies_;
  bool careless_;
};

// An id that nobody can guess: whoever knows it may redeem the grant.
std::string new_grant_id();

}  // namespace sample
