#include "execution/duties.hpp"

#include "core/log.hpp"
#include "core/text.hpp"

namespace sluice::execution {
namespace {

using namespace std::chrono_literals;

constexpr duration retry_after_refusal = 1s;
constexpr std::uint64_t much_in_quarantine = 64ULL << 20;  // bytes
constexpr duration between_warnings = 1h;
constexpr std::size_t max_types_told = 200;

}  // namespace

duties::requests duties::due(steady_point now) {
  requests asked;
  schedules_.use_zones(others_.zones_version());
  for (const auto what : timetable_.take_due(now))
    add(what, asked);
  if (auto planning = schedules_.next_planning()) asked.push_back(std::move(*planning));
  return keep(std::move(asked));
}

void duties::add(duty what, requests& asked) {
  const auto& options = of_.options;
  switch (what) {
    case duty::promote: asked.emplace_back(storage::promote_request{1'000, options.sweep_interval}); break;
    case duty::find_lost: asked.emplace_back(storage::expired_request{}); break;
    case duty::prune:
      asked.emplace_back(storage::prune_request{options.retention, scheduler::server_silent_after});
      break;
    case duty::heartbeat: asked.emplace_back(beat()); break;
    case duty::sweep:
      if (reconcile_from_.empty()) others_.sweep();
      asked.emplace_back(storage::reconcile_request{1'000, reconcile_from_});
      break;
    case duty::fire: asked.emplace_back(schedules_.next_look()); break;
    case duty::zones: others_.read_zones(); break;
  }
}

storage::heartbeat_request duties::beat() const {
  storage::heartbeat_request request{self_};
  request.server.queues = of_.queues.served();
  for (const auto& [named, how] : of_.options.queues)
    if (named.find('*') != std::string::npos) request.server.queues.push_back(cat(named, ":", how.workers));
  for (const auto& p : of_.queues.pools())
    request.server.running += p->load().running;
  const auto types = of_.known_types();
  for (auto type = types->begin(); type != types->end() && request.server.types.size() < max_types_told; ++type)
    request.server.types.emplace_back(*type);
  request.server.all_types = request.server.types.size() == types->size();
  return request;
}

duties::requests duties::keep(requests asked) {
  is_open_ = !asked.empty();
  are_updates_.clear();
  for (const auto& r : asked)
    are_updates_.push_back(std::holds_alternative<storage::update_schedule_request>(r));
  return asked;
}

duties::requests duties::answered(std::vector<storage::answer>& answers, steady_point now) {
  const bool refused = note_refusals(answers, now);
  requests asked;
  for (auto& a : answers) {
    // If nobody could renew, what was seen is forgotten.
    if (auto* expired = std::get_if<storage::expired_answer>(&a); expired && !refused) find_lost(*expired, now, asked);
    else std::visit([&](const auto& answer) { on(answer, now, asked); }, a);
  }
  return keep(std::move(asked));
}

// Whether the store refused what is no schedule's.
bool duties::note_refusals(const std::vector<storage::answer>& answers, steady_point now) {
  const error *refused = nullptr, *not_fired = nullptr;
  for (std::size_t i = 0; i < answers.size(); ++i)
    if (const auto* failed = std::get_if<error>(&answers[i])) (are_updates_[i] ? not_fired : refused) = failed;
  if (not_fired) timetable_.at(duty::fire, schedules_.refused(*not_fired, now));
  if (!refused) return false;
  log::warn("ticker: the store refused (", to_string(*refused), "); trying again in a while");
  leases_.forget();
  timetable_.at(duty::heartbeat, now + retry_after_refusal);  // it may come back empty
  timetable_.at(duty::find_lost, now + retry_after_refusal);
  return true;
}

// --- What follows from each answer.

void duties::on(const storage::promote_answer& promoted, steady_point now, requests&) {
  if (promoted.next_in) timetable_.at(duty::promote, now + *promoted.next_in);
  if (promoted.schedule_in) timetable_.at(duty::fire, schedules_.not_before(now + *promoted.schedule_in));
  if (!promoted.open.empty()) others_.look_at_lines(promoted.open);
}

void duties::on(const storage::reconcile_answer& reconciled, steady_point now, requests&) {
  reconcile_from_ = reconciled.next;
  if (!reconcile_from_.empty()) timetable_.at(duty::sweep, now);
}

void duties::go_on(due_schedules::next_step next, steady_point now, requests& asked) {
  std::move(next.requests.begin(), next.requests.end(), std::back_inserter(asked));
  if (next.look_in) timetable_.at(duty::fire, schedules_.not_before(now + *next.look_in));
}

void duties::on(const storage::heartbeat_answer& beaten, steady_point, requests&) { others_.beaten(beaten.known); }

// Nothing of it is ever pruned: a person has to decide.
void duties::on(const storage::prune_answer& pruned, steady_point now, requests&) {
  if (pruned.more) timetable_.at(duty::prune, now);
  if (pruned.quarantined_bytes < much_in_quarantine || now < next_warning_) return;
  next_warning_ = now + between_warnings;
  log::warn(pruned.quarantined_bytes >> 20, " MiB are in quarantine (", pruned.quarantined,
            pruned.quarantined == 1 ? " job" : " jobs",
            "), which nothing removes by itself: `sluice quarantine list` "
            "tells which, `requeue` enqueues what can be read by now, `drop` removes it");
}

// What is taken back is seen no more: the next look tells when the second look at the others is due.
void duties::on(const storage::reap_answer& reaped, steady_point now, requests&) {
  timetable_.at(duty::find_lost, now);
  leases_.answered(reaped);
}

void duties::find_lost(storage::expired_answer& expired, steady_point now, requests& asked) {
  auto reaps = leases_.look(std::move(expired.leases), now);
  if (reaps.empty() && leases_.next_look()) {
    asked.emplace_back(beat());
    timetable_.at(duty::find_lost, *leases_.next_look());
  }
  std::move(reaps.begin(), reaps.end(), std::back_inserter(asked));
  if (expired.next_in) timetable_.at(duty::find_lost, now + *expired.next_in + 1ms);
}

}  // namespace sluice::execution
