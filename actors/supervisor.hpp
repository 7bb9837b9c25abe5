#pragma once

#include "actors/claiming.hpp"
#include "actors/spawn.hpp"

namespace sluice::actors {

// A request a supervisor waits for, kept with the pool: a new supervisor asks it again, and the
// store answers as the first time.
struct open_order {
  std::uint64_t number = 0;
  std::uint32_t lane = 0;
  std::vector<storage::request> asked;
  std::vector<ended_start> ending;
  std::uint32_t wanted = 0;       // jobs
  std::uint64_t op = 0;           // of the claim
  bool suspect_reserved = false;  // engine::suspects is ours
  steady_point sent{};
  std::uint32_t failures = 0;
  bool bodies_over = false;  // told already: these are ends that the store refused before
};

struct supervisor_state {
  static inline const char* name = "supervisor";

  supervisor_actor::pointer self = nullptr;
  engine_ptr e;
  queue_desk_ptr desk;
  storage_actor store;
  gate_actor gate;
  steady_point last_refill{};
  bool look = true;                  // there may be work that we have not asked for
  bool waits_for_more = false;       // of what has ended, for a moment
  bool suspect_waits = false;        // as the last claim said
  bool claims_pause = false;         // the store refused one that came alone
  std::uint32_t refused_claims = 0;  // in a row
  bool others_first = false;         // another queue wants the place for a suspect that we gave back
  duration quickest{0};              // what an order took of late, at the least

  void start_up();
  void look_for_work();
  void ended();
  // Settles what has ended and claims what fits: in one order, or beside an open one when it is worth it.
  void pump();
  bool ask_store();
  // None when a second order is never worth it.
  std::optional<order_shares> shares(const pool_load& load) const;
  void send(open_order& order);
  void send_all();
  std::shared_ptr<open_order> order_of(std::uint64_t number) const;
  void applied(std::uint64_t number, std::vector<storage::answer>& answers);
  // What has ended by now; answers those ends that the store cannot take yet.
  std::vector<ended_start> settled(open_order& order, const std::vector<errc>& each);
  // Asks again about these ends alone: nothing else waits for them.
  void keep_refused(std::vector<ended_start> ends, std::uint32_t failures);
  void refused_again(const open_order& order, std::vector<ended_start> still);
  bool holds_too_many() const;
  void again(std::uint64_t number);
  void use(const storage_actor& other);
  void use(const gate_actor& other);
  // Has them admitted.
  void ask_gate(std::vector<admission_ask> asks);
  void judged(const std::vector<admission_verdict>& verdicts);
  void tell_over(const start_ptr& start, bool failed, duration ran);
  void overdue(sluice::fence f);
  void sweep();
  void refill();
  void worker_gone(const caf::actor_addr& who);
  // Of an order without ends: its lane is free for those, and it is claimed again after a while.
  void claim_refused(const open_order& order, const error& why);
  void take_claimed(const open_order& order, storage::claim_answer& claimed);
  void give_back_suspect_place();
  // Its body is over, whatever the store says of its end.
  void body_over(const ended_start& ended);
  void end_one(const ended_start& ended, errc answer);
};

}  // namespace sluice::actors
