#include "actors/supervisor.hpp"

#include <algorithm>

#include "actors/claiming.hpp"
#include "actors/lease_keeper.hpp"
#include "core/job_state.hpp"
#include "core/log.hpp"
#include "scheduler/agenda.hpp"
#include "storage/settle_apart.hpp"

namespace sluice::actors {
namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr duration first_retry = 50ms;
constexpr duration last_retry = 5s;
constexpr std::size_t most_refused = 64;  // ends that a queue keeps, and goes on claiming
constexpr std::uint64_t claims = 0;       // among numbers of orders: the pause between claims is over

// CAF 0.17 never answers a dropped promise, so no actor of the host is waited for without end.
constexpr duration answer_patience = 10min;

// What is stored of a start that its throttlers did not let in.
settled_outcome deferred(const job& about, const admission_verdict& verdict, const throttle_plan& plan) {
  settled_outcome end;
  end.settlement.start = {about.id, about.fence};
  const bool again = plan.otherwise == throttle_action::retry || verdict.what == admission::refused;
  end.settlement.end = again ? run_end::deferred : run_end::removed;
  end.settlement.cause = "throttled";
  end.settlement.text = verdict.why;
  end.settlement.throttler = verdict.resource;
  end.settlement.delay = again ? std::max(plan.delay, verdict.after) : 0us;
  end.settlement.reason =
      again ? cat(verdict.why, "; again in ", format_duration(end.settlement.delay)) : cat("deleted: ", verdict.why);
  end.elected.what = end.settlement.end;
  end.elected.text = verdict.why;
  end.elected.delay = end.settlement.delay;
  return end;
}

}  // namespace

duration retry_delay(std::uint32_t failures) {
  return std::min<duration>(last_retry, first_retry * (1u << std::min(failures, 10u)));
}

void supervisor_state::start_up() {
  auto& workers = desk->workers;
  for (const auto& w : workers)
    self->monitor(w);
  while (workers.size() < desk->pool->options.workers)
    workers.push_back(spawn_worker(self, e, desk->pool));
  desk->pool->on_ended([me = supervisor_actor(self)] { caf::anon_send(me, ended_atom::value); });
  desk->pool->on_worker([me = supervisor_actor(self)] { caf::anon_send(me, pump_atom::value); });
  send_all();
  pump();
}

void supervisor_state::send_all() {
  for (const auto& order : desk->orders)
    if (order) send(*order);
  for (const auto& order : desk->refused)
    send(*order);
}

void supervisor_state::look_for_work() {
  look = true;
  pump();
}

// Bodies that are through in no time are settled by the handful: to ask for the first alone would make the others
// wait for two round trips.
void supervisor_state::ended() {
  const bool asking = std::any_of(desk->orders.begin(), desk->orders.end(), [](const auto& order) { return !!order; });
  if (asking || waits_for_more) return pump();
  const auto load = desk->pool->load();
  const auto soon = through_in(load, quickest);
  if (!soon) return pump();
  waits_for_more = true;
  self->delayed_send(self, *soon, pump_atom::value);
  if (const auto parts = shares(load)) desk->pool->tell_of_ended(parts->least);
}

std::optional<order_shares> supervisor_state::shares(const pool_load& load) const {
  if (!e->runner->has_two_ways()) return std::nullopt;
  return shares_of(load, desk->pool->options.prefetch);
}

void supervisor_state::pump() {
  waits_for_more = false;
  while (ask_store())
    continue;
}

bool supervisor_state::ask_store() {
  auto& orders = desk->orders;
  const auto free_lane = std::find(orders.begin(), orders.end(), nullptr);
  if (free_lane == orders.end()) return false;
  const auto open = std::find_if(orders.begin(), orders.end(), [](const auto& order) { return order != nullptr; });
  const auto parts = shares(desk->pool->load());
  std::vector<ended_start> ended;
  std::uint32_t coming = 0;
  if (open == orders.end()) {
    ended = desk->pool->take_ended(1, parts ? parts->most : SIZE_MAX);
  } else {
    if (!parts || (*open)->failures > 0) return false;  // nothing newer is tried before what the store refused
    ended = desk->pool->take_ended(parts->least, parts->most);
    if (ended.empty()) return false;
    coming = (*open)->wanted;
  }
  const auto load = desk->pool->load();
  if (parts) coming += load.ended;  // the next order asks for as many again
  claim_size size;
  if (!e->quiet && !claims_pause && !holds_too_many() && (look || !ended.empty()))
    size = plan_claim(load, desk->pool->options.prefetch, coming);
  if (size.free + size.ahead > 0 && !desk->pool->open_claim()) size = {};
  if (ended.empty() && size.free + size.ahead == 0) return false;
  if (size.free + size.ahead > 0) look = false;

  auto order = std::make_shared<open_order>();
  order->number = e->next_op++;
  order->lane = static_cast<std::uint32_t>(free_lane - orders.begin());
  order->wanted = size.free + size.ahead;
  storage::settle_request settle;
  settle.queue = desk->pool->queue;
  for (const auto& end : ended)
    settle.starts.push_back(end.settlement);
  if (order->wanted > 0) {
    order->op = order->number;
    if (const auto& refused = desk->refused_claim.at(order->lane);
        refused && steady_clock::now() < refused->sent + scheduler::renewal_interval(e->options)) {
      order->op = refused->op;
      order->sent = refused->sent;
    }
    // Whose end this order tells gives the place back with the answer: to want it now would wake everybody for us.
    const bool ends_one = std::any_of(ended.begin(), ended.end(),
                                      [](const auto& end) { return storage::is_suspect(end.start->about.losses); });
    order->suspect_reserved =
        suspect_waits && size.free > 0 && !ends_one && !std::exchange(others_first, false) && e->suspects.take();
    settle.next = storage::claim_request{e->id,
                                         desk->pool->queue,
                                         order->op,
                                         size.free,
                                         size.ahead,
                                         order->suspect_reserved,
                                         e->options.lease,
                                         e->types->known(),
                                         e->can_run->at_once,
                                         order->lane,
                                         e->can_run->permits};
  }
  if (ended.empty()) order->asked.emplace_back(std::move(*settle.next));
  else order->asked.emplace_back(std::move(settle));
  order->ending = std::move(ended);
  *free_lane = std::move(order);
  send(**free_lane);
  return true;
}

void supervisor_state::send(open_order& order) {
  // The lease of a claim that is asked again runs from the first time.
  if (order.sent == steady_point{}) order.sent = steady_clock::now();
  auto asked = std::make_shared<store_order>();
  asked->asked = order.asked;  // a copy: it may have to be asked again
  asked->done = [me = supervisor_actor(self), number = order.number](answers_ptr answers) {
    caf::anon_send(me, applied_atom::value, number, std::move(answers));
  };
  asked->beside = true;  // the order of what it settles and claims is not promised to anybody
  caf::anon_send(store, submit_atom::value, std::move(asked));
}

std::shared_ptr<open_order> supervisor_state::order_of(std::uint64_t number) const {
  for (const auto& order : desk->orders)
    if (order && order->number == number) return order;
  for (const auto& order : desk->refused)
    if (order->number == number) return order;
  return nullptr;
}

void supervisor_state::applied(std::uint64_t number, std::vector<storage::answer>& answers) {
  const auto order = order_of(number);
  if (!order) return;  // asked twice, answered twice
  if (const auto* failed = std::get_if<error>(&answers.at(0))) {
    if (order->ending.empty() && storage::concerns_one_end(failed->code)) return claim_refused(*order, *failed);
    const auto delay = retry_delay(order->failures++);
    if (order->failures == 1 || order->failures % 16 == 0)
      log::warn("queue ", desk->pool->queue.value, ": the store refused (", to_string(*failed), "); asking again");
    self->delayed_send(self, delay, again_atom::value, number);
    return;
  }
  if (order->failures == 0) {
    const auto took = std::chrono::duration_cast<duration>(steady_clock::now() - order->sent);
    quickest = quickest == 0us ? took : std::min(quickest + quickest / 16, took);
  }
  storage::claim_answer claimed;
  std::vector<ended_start> still;
  if (auto* told = std::get_if<storage::settle_answer>(&answers[0])) {
    still = settled(*order, told->each);
    claimed = std::move(told->next);
  } else if (auto* only = std::get_if<storage::claim_answer>(&answers[0])) {
    claimed = std::move(*only);
  }
  if (std::erase(desk->refused, order) > 0) return refused_again(*order, std::move(still));
  keep_refused(std::move(still), 1);
  if (order->wanted > 0 &&
      (claimed.jobs.size() >= order->wanted || claimed.parked >= storage::most_parked || claimed.cut))
    look = true;
  take_claimed(*order, claimed);
  if (order->wanted > 0) {
    desk->pool->claim_answered();
    auto& refused = desk->refused_claim.at(order->lane);
    if (claimed.cut && claimed.jobs.empty()) refused = {order->op, order->sent};  // beside its ends
    else refused_claims = 0, refused.reset();
  }
  desk->orders[order->lane].reset();
  // Without a free worker the next end asks. When the place is taken, whoever gives it back tells us.
  if (order->wanted > 0 && suspect_waits && !order->suspect_reserved &&
      plan_claim(desk->pool->load(), desk->pool->options.prefetch, 0).free > 0 && e->suspects.is_free())
    look = true;
  pump();
}

void supervisor_state::claim_refused(const open_order& order, const error& why) {
  if (refused_claims % 16 == 0)
    log::warn("queue ", desk->pool->queue.value, ": the store refused a claim (", to_string(why), "); asking again");
  claims_pause = true;
  desk->refused_claim.at(order.lane) = {order.op, order.sent};
  self->delayed_send(self, retry_delay(refused_claims++), again_atom::value, claims);
  if (order.suspect_reserved) give_back_suspect_place();
  desk->pool->claim_answered();
  desk->orders[order.lane].reset();
  pump();
}

void supervisor_state::take_claimed(const open_order& order, storage::claim_answer& claimed) {
  const auto lease_ends = order.sent + e->options.lease;
  bool suspect = false;
  auto earliest = steady_point::max();
  std::vector<start_ptr> starts, held;
  std::vector<admission_ask> asks;
  starts.reserve(claimed.jobs.size());
  for (auto& one : claimed.jobs) {
    auto start = std::make_shared<held_start>();
    start->about = std::move(one.job);
    start->failures = one.failures;
    start->timeout = timeout_of(e->options, start->about);
    start->elsewhere = e->can_run->elsewhere.contains(start->about.type.value);
    if (start->elsewhere && !start->timeout) start->timeout = answer_patience;
    start->now.lease_ends = lease_ends;
    suspect = suspect || storage::is_suspect(start->about.losses);
    if (start->timeout) earliest = std::min(earliest, steady_clock::now() + *start->timeout);
    const auto plan = e->can_run->throttles.find(start->about.type.value);
    if (plan == e->can_run->throttles.end() || plan->second.is_met_by(start->about, one.admitted)) {
      starts.push_back(std::move(start));
      continue;
    }
    held.push_back(start);
    asks.push_back({std::move(start), std::move(one.admitted)});
  }
  if (order.suspect_reserved && !suspect) give_back_suspect_place();
  if (suspect && !order.suspect_reserved) e->suspects.take();  // of a claim that was refused, and done
  if (order.wanted > 0) suspect_waits = claimed.suspect_waits;
  if (starts.empty() && held.empty()) return;
  desk->pool->accept(std::move(starts));
  if (!held.empty()) {
    const auto taken = desk->pool->hold(std::move(held));  // without those of a repeated answer
    std::erase_if(asks,
                  [&](const auto& ask) { return std::find(taken.begin(), taken.end(), ask.start) == taken.end(); });
    ask_gate(std::move(asks));
  }
  e->keeper->notice(std::min(earliest, order.sent + scheduler::renewal_interval(e->options)));
}

void supervisor_state::give_back_suspect_place() {
  if (!e->suspects.give_back()) return;
  others_first = true;
  caf::anon_send(store, hint_atom::value);
}

std::vector<ended_start> supervisor_state::settled(open_order& order, const std::vector<errc>& each) {
  std::vector<ended_start> still, not_tried;
  for (std::size_t i = 0; i < order.ending.size(); ++i) {
    auto& one = order.ending[i];
    if (!order.bodies_over) body_over(one);
    if (each[i] == errc::storage_busy) not_tried.push_back(std::move(one));
    else if (storage::concerns_one_end(each[i])) {
      if (each[i] == errc::storage_damaged) desk->pool->wait_no_more_for(one.start);
      still.push_back(std::move(one));
    } else end_one(one, each[i]);
  }
  // Those first, so that each has its turn however many are refused.
  still.insert(still.begin(), std::make_move_iterator(not_tried.begin()), std::make_move_iterator(not_tried.end()));
  return still;
}

void supervisor_state::keep_refused(std::vector<ended_start> ends, std::uint32_t failures) {
  if (ends.empty()) return;
  auto order = std::make_shared<open_order>();
  order->number = e->next_op++;  // an answer that comes twice must not be read for fewer ends
  order->failures = failures;
  order->bodies_over = true;
  storage::settle_request settle;
  settle.queue = desk->pool->queue;
  for (const auto& end : ends)
    settle.starts.push_back(end.settlement);
  order->asked.emplace_back(std::move(settle));
  if (failures == 1 || failures % 16 == 0)
    log::warn("queue ", desk->pool->queue.value, ": the store cannot take the ends of ", ends.size(), " jobs, ",
              ends.back().start->about.id.value, " among them; asking again");
  order->ending = std::move(ends);
  self->delayed_send(self, retry_delay(failures), again_atom::value, order->number);
  desk->refused.push_back(std::move(order));
}

void supervisor_state::refused_again(const open_order& order, std::vector<ended_start> still) {
  keep_refused(std::move(still), order.failures + 1);
  look_for_work();  // there may be room again, here and in the store
}

bool supervisor_state::holds_too_many() const {
  std::size_t n = 0;
  for (const auto& order : desk->refused)
    n += order->ending.size();
  return n >= most_refused;
}

void supervisor_state::body_over(const ended_start& ended) {
  if (storage::is_suspect(ended.start->about.losses)) give_back_suspect_place();
  if (ended.start->now.admitted) tell_over(ended.start, ended.settlement.failure, ended.settlement.ran);
}

void supervisor_state::end_one(const ended_start& ended, errc answer) {
  const auto& about = ended.start->about;
  if (answer == errc::none) {
    const auto end = ended.settlement.end;
    const bool for_good = end == run_end::failed || end == run_end::given_up;
    if (ended.settlement.failure)
      log::write(for_good ? log::level::error : log::level::warn,
                 cat("job ", about.id.value, " (", about.type.value, "): ", ended.settlement.reason));
    tell_applied(*e->can_run, about, ended.elected);
    if (!goes_on(end)) e->watched.ended(about.id);
  } else {
    log::warn("the end (", ended.settlement.cause, ") of job ", about.id.value, " was refused: ", describe(answer));
  }
  desk->pool->release(about.fence);  // at last: a stop waits for this
}

void supervisor_state::again(std::uint64_t number) {
  if (number == claims) {
    claims_pause = false;
    return look_for_work();
  }
  if (const auto order = order_of(number)) send(*order);
}

void supervisor_state::use(const storage_actor& other) {
  store = other;
  send_all();       // what the old one had taken along
  look_for_work();  // and hints
}

void supervisor_state::use(const gate_actor& other) {
  gate = other;
  std::vector<admission_ask> asks;
  for (const auto& start : desk->pool->admitting())
    asks.push_back({start, {}});  // permits are the same grant again; a slot may be spent
  if (!asks.empty()) ask_gate(std::move(asks));
}

void supervisor_state::ask_gate(std::vector<admission_ask> asks) {
  caf::anon_send(gate, admit_atom::value, judged_actor(self),
                 asks_ptr(std::make_shared<const std::vector<admission_ask>>(std::move(asks))));
}

void supervisor_state::judged(const std::vector<admission_verdict>& verdicts) {
  std::vector<start_ptr> admitted;
  for (const auto& verdict : verdicts) {
    const auto& about = verdict.start->about;
    const auto plan = e->can_run->throttles.find(about.type.value);
    look = look || verdict.what != admission::granted;  // its place may be another's
    switch (verdict.what) {
      case admission::granted: admitted.push_back(verdict.start); break;
      case admission::parked:
      case admission::gone:
        if (desk->pool->drop(verdict.start) && storage::is_suspect(about.losses)) give_back_suspect_place();
        break;
      case admission::later:
      case admission::refused: desk->pool->turn_away(verdict.start, deferred(about, verdict, plan->second)); break;
      case admission::rejected: {
        auto end = elect(*e->can_run, about, verdict.start->failures, outcome::do_not_retry(verdict.why), 0us);
        end.settlement.cause = "rejected";
        desk->pool->turn_away(verdict.start, std::move(end));
        break;
      }
    }
  }
  for (const auto& start : desk->pool->admit(admitted))
    tell_over(start, false, 0us);
  pump();
}

// Custom throttlers of the host count whom they let in until they are told of its end.
void supervisor_state::tell_over(const start_ptr& start, bool failed, duration ran) {
  const auto plan = e->can_run->throttles.find(start->about.type.value);
  if (plan == e->can_run->throttles.end() || plan->second.custom.empty()) return;
  caf::anon_send(gate, over_atom::value,
                 std::vector<throttled_end>{{std::shared_ptr<const job>(start, &start->about), failed, ran}});
}

void supervisor_state::overdue(sluice::fence f) {
  if (const auto worker = desk->pool->runs(f)) desk->pool->retire_worker(*worker, "it ignored its stop request");
}

void supervisor_state::sweep() {
  refill();
  desk->pool->give_back_older(steady_clock::now() - e->options.sweep_interval);
  look_for_work();
}

void supervisor_state::worker_gone(const caf::actor_addr& who) {
  std::erase_if(desk->workers, [&](const worker_actor& w) { return w.address() == who; });
  // A thread that cannot be made now is asked for again in a while, not at once and for ever.
  if (steady_clock::now() - last_refill < first_retry) {
    self->delayed_send(self, last_retry / 10, sweep_atom::value);
    return;
  }
  refill();
  pump();
}

void supervisor_state::refill() {
  last_refill = steady_clock::now();
  while (desk->workers.size() < desk->pool->options.workers)
    desk->workers.push_back(spawn_worker(self, e, desk->pool));
}

}  // namespace sluice::actors
