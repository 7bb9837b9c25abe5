#include "scheduler/schedules.hpp"

#include <algorithm>

#include <sluice/cron.hpp>
#include <sluice/exec_key.hpp>

#include "core/log.hpp"
#include "core/recurring.hpp"
#include "core/text.hpp"
#include "scheduler/recurrence.hpp"

namespace sluice::scheduler {
namespace {

using storage::update_schedule_request;
using namespace std::chrono_literals;

// How long one is left to other servers, which may know its zone, when no instant of it can be computed here; and how
// soon it is looked at again when none of them fires it.
constexpr duration recheck_interval = 1min;

// Behind this no instants are computed: a next run that nobody wrote may stand at the end of all numbers.
constexpr duration farthest = 2000 * 366 * 24h;

using maybe_update = std::optional<update_schedule_request>;

constexpr const char* unreadable = "what is stored of it cannot be read; set it again, or remove it";

// An update that leaves the row as it is.
update_schedule_request same(const storage::schedule_row& row) {
  update_schedule_request r;
  r.name = row.name;
  r.version = row.version;
  r.record = row.record;
  r.next_at = row.next_at;
  r.place = row.place;
  return r;
}

// The version of the zone files that decides when this runs; empty: none does.
std::string zones_of(const recurring& r, const std::string& zones) {
  return r.cron.empty() || r.zone == "UTC" ? std::string() : zones;
}

bool same_timing(const recurring& a, const recurring& b) {
  return a.cron == b.cron && a.every == b.every && a.zone == b.zone && a.stagger == b.stagger;
}

// A new place for an evenly staggered schedule, unless it has one that fits.
void find_place(const recurring& definition, const storage::schedule_answer& seen, update_schedule_request& into) {
  into.place.reset();
  if (definition.stagger != stagger_rule::even) return;
  const auto span = span_of(definition);
  if (seen.row && seen.row->place && seen.row->place->span == span) {
    into.place = seen.row->place;
    return;
  }
  std::uint64_t last = 0;
  auto others = seen.places;
  for (const auto& place : others)
    last = std::max(last, place.number);
  if (seen.row && seen.row->place)
    std::erase_if(others, [&](const auto& p) { return p.number == seen.row->place->number; });
  into.place = storage::schedule_place{middle_of_largest_gap(others, span), span, 0};
  into.expected_last_place = last;
}

new_job job_of(const recurring& definition) {
  new_job job;
  job.type = definition.job;
  job.args = definition.args;
  job.queue = definition.queue;
  job.headers = definition.headers;
  job.headers[recurring_header] = definition.name;
  return job;
}

// The job of an id that must not be changed on its way: it is what makes it one.
result<prepared_job> prepare_as(const job_id& id, new_job job, const preparation& prepare) {
  job.id = id;
  job.delay = duration::zero();
  auto ready = prepare(std::move(job));
  if (ready && ready->id != id) return error{errc::refused, "an enqueue filter changed the id of a schedule's job"};
  return ready;
}

struct read_schedule {
  schedule_record record;
  recurring definition;
};
std::optional<read_schedule> read(const storage::schedule_row& row) {
  auto record = decode_schedule(row.name, row.record);
  if (!record) return std::nullopt;
  auto definition = read_recurring(record->definition);
  if (!definition || definition->name != row.name) return std::nullopt;
  return read_schedule{std::move(*record), std::move(*definition)};
}

// The next instant by what is in the record; what cannot be computed is said there.
std::optional<time_point> plan(schedule_record& record, const recurring& definition,
                               const std::optional<storage::schedule_place>& place, const std::string& zones) {
  record.problem.clear();
  record.zones = zones_of(definition, zones);
  const auto all = recurrence::of(definition, place);
  if (!all) record.problem = all.error().message;
  return all && !record.paused ? all->next(record.mark) : std::nullopt;
}

}  // namespace

schedule_change putting(recurring definition, std::string zones, std::string config) {
  return [definition = std::move(definition), zones = std::move(zones),
          config = std::move(config)](const storage::schedule_answer& seen) -> planned_update {
    if (auto fine = check(definition); !fine) return fine.error();
    update_schedule_request r;
    r.name = definition.name;
    r.version = seen.row ? seen.row->version : 0;
    schedule_record record;
    record.mark = seen.now;
    const auto before = seen.row ? read(*seen.row) : std::nullopt;
    const auto text = write_recurring(definition);
    if (before) {
      if (!config.empty() && before->record.config == config) return maybe_update();
      const bool as_it_was = before->record.definition == text && before->record.problem.empty();
      if (as_it_was && config.empty()) return maybe_update();
      record = before->record;
      if (!same_timing(before->definition, definition)) record.mark = std::max(record.mark, seen.now);
    }
    record.definition = text;
    if (!config.empty()) record.config = config;
    find_place(definition, seen, r);
    r.next_at = plan(record, definition, r.place, zones);
    r.record = encode(r.name, record);
    return maybe_update(std::move(r));
  };
}

schedule_change removing(std::string name) {
  return [name = std::move(name)](const storage::schedule_answer& seen) -> planned_update {
    if (!seen.row) return maybe_update();
    update_schedule_request r;
    r.name = name;
    r.version = seen.row->version;
    return maybe_update(std::move(r));
  };
}

schedule_change pausing(std::string name, bool paused, std::string zones) {
  return [name = std::move(name), paused,
          zones = std::move(zones)](const storage::schedule_answer& seen) -> planned_update {
    if (!seen.row) return no_schedule(name);
    auto known = read(*seen.row);
    if (!known) return error{errc::damaged_record, cat("schedule ", name, ": ", unreadable)};
    if (known->record.paused == paused) return maybe_update();
    auto r = same(*seen.row);
    known->record.paused = paused;
    if (!paused) known->record.mark = std::max(known->record.mark, seen.now);
    r.next_at = plan(known->record, known->definition, r.place, zones);
    // Stored without a next run, nobody would fire it.
    if (!paused && !known->record.problem.empty()) return error{errc::invalid_argument, known->record.problem};
    r.record = encode(name, known->record);
    return maybe_update(std::move(r));
  };
}

schedule_change triggering(std::string name, job_id id, preparation prepare) {
  return [name = std::move(name), id = std::move(id),
          prepare = std::move(prepare)](const storage::schedule_answer& seen) -> planned_update {
    if (!seen.row) return no_schedule(name);
    const auto known = read(*seen.row);
    if (!known) return error{errc::damaged_record, cat("schedule ", name, ": ", unreadable)};
    auto ready = prepare_as(id, job_of(known->definition), prepare);
    if (!ready) return ready.error();
    auto r = same(*seen.row);
    r.enqueue.push_back({seen.now, std::move(*ready)});
    r.by_hand = true;
    return maybe_update(std::move(r));
  };
}

fired_schedule firing(const storage::schedule_row& due, time_point now, const std::string& zones,
                      const preparation& prepare) {
  fired_schedule fired{.update = same(due)};
  auto& r = *fired.update;
  r.next_at.reset();
  auto known = read(due);
  if (!known) {
    if (due.record.empty()) r.record.reset();  // a name that was left over
    fired.problem = unreadable;
    return fired;
  }
  if (known->record.paused) return fired;
  auto& record = known->record;
  record.problem.clear();
  if (const auto all = recurrence::of(known->definition, due.place); !all) {
    record.problem = all.error().message;
    if (due.next_at && now < *due.next_at + recheck_interval)
      return {.problem = record.problem, .left_to_others_for = *due.next_at + recheck_interval - now};
    r.next_at = now + recheck_interval;
  } else {
    const auto found = due_of(*all, known->definition, record.mark, now);
    record.zones = zones_of(known->definition, zones);
    record.mark = found.mark;
    r.next_at = found.next;
    r.overlap = known->definition.overlap;
    for (const auto at : found.enqueue) {
      auto job = job_of(known->definition);
      job.headers[occurrence_header] = format_time(at);
      auto ready = prepare_as(occurrence_id(due.name, at), std::move(job), prepare);
      if (ready) r.enqueue.push_back({at, std::move(*ready)});
      else record.problem = to_string(ready.error());
    }
  }
  fired.problem = record.problem;
  r.record = encode(due.name, record);
  return fired;
}

std::optional<update_schedule_request> planning_anew(const storage::schedule_row& row, const std::string& zones) {
  auto known = read(row);
  if (!known || known->record.paused || known->record.zones.empty() || known->record.zones == zones)
    return std::nullopt;
  auto r = same(row);
  r.next_at = plan(known->record, known->definition, row.place, zones);
  if (!known->record.problem.empty()) return std::nullopt;  // these files do not have its zone
  r.record = encode(row.name, known->record);
  return r;
}

recurring_status status_of(const storage::schedule_row& row) {
  recurring_status status;
  status.name = row.name;
  status.next_at = row.next_at;
  if (!row.runs.empty()) {
    status.last_at = row.runs.back().at;
    status.last_job = row.runs.back().id;
  }
  const auto known = read(row);
  if (!known) {
    status.problem = unreadable;
    return status;
  }
  status.definition = known->definition;
  status.paused = known->record.paused;
  status.problem = known->record.problem;
  return status;
}

std::vector<time_point> next_instants(const storage::schedule_row& row, time_point now, std::size_t most) {
  std::vector<time_point> all;
  if (row.next_at && most > 0) all.push_back(*row.next_at);
  const auto known = read(row);
  if (!known || !(row.next_at || known->record.paused)) return all;
  const auto times = recurrence::of(known->definition, row.place);
  const auto last = now + farthest;
  auto from = std::max(now, row.next_at.value_or(known->record.mark));
  while (times && all.size() < most && from < last) {
    const auto next = times->next(from);
    if (!next) break;
    all.push_back(from = *next);
  }
  return all;
}

error no_schedule(const std::string& name) {
  return {errc::not_found, cat("there is no schedule ", printable(name, 200)), error_subject::schedule};
}

bool is_configured(const storage::schedule_row& row) {
  const auto record = decode_schedule(row.name, row.record);
  return record && !record->config.empty();
}

}  // namespace sluice::scheduler
