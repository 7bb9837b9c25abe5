#include "samples/cache_refresh_bench/schedules.hpp"

#include <algorithm>

namespace sample {
namespace {

using namespace std::chrono_literals;

using stored_schedules = std::map<std::string, sluice::recurring_status>;

sluice::result<stored_schedules> look(sluice::client& client) {
  auto all = client.recurring_jobs();
  if (!all) return all.error();
  stored_schedules by_name;
  for (auto& status : *all)
    by_name[status.name] = std::move(status);
  return by_name;
}

sluice::result<void> let_fire(sluice::client& client, const std::vector<sluice::recurring>& schedules) {
  const auto stored = look(client);
  if (!stored) return stored.error();
  for (const auto& schedule : schedules) {
    const auto known = stored->find(schedule.name);
    if (known == stored->end())
      if (const auto set = client.set_recurring(schedule); !set) return set.error();
    if (known != stored->end() && known->second.paused)
      if (const auto resumed = client.resume_recurring(schedule.name); !resumed) return resumed.error();
  }
  return {};
}

sluice::result<int> peak_of_a_minute(const std::vector<sluice::recurring>& schedules, sluice::stagger_rule rule) {
  auto client = sluice::client::open({.storage = "sqlite::memory:peaks"});
  if (!client) return client.error();
  for (const auto& schedule : schedules) {
    sluice::recurring each_minute;
    each_minute.name = schedule.name;
    each_minute.job = schedule.job;
    each_minute.cron = "* * * * *";
    each_minute.stagger = rule;
    if (const auto set = client->set_recurring(each_minute); !set) return set.error();
  }
  const auto stored = client->recurring_jobs();
  if (!stored) return stored.error();
  std::map<std::int64_t, int> starts;  // by the second of the minute
  for (const auto& schedule : *stored)
    if (schedule.next_at) ++starts[schedule.next_at->time_since_epoch() % 1min / 1s];
  int most = 0;
  for (const auto& [second, count] : starts)
    most = std::max(most, count);
  return most;
}

}  // namespace

bool is_heavy(const std::string& args) { return args.find("/catalogues/") != std::string::npos; }

sluice::result<run_plan> begin_run(sluice::client& client, const std::vector<sluice::recurring>& schedules,
                                   sluice::time_point start) {
  run_plan plan;
  plan.start = start;
  if (const auto done = let_fire(client, schedules); !done) return done.error();
  const auto stored = look(client);
  if (!stored) return stored.error();
  for (const auto& schedule : schedules)
    if (const auto& next = stored->at(schedule.name).next_at) plan.schedules[schedule.name] = {schedule.every, *next};
  return plan;
}

sluice::result<bool> has_fired(sluice::client& client, const run_plan& plan) {
  const auto stored = look(client);
  if (!stored) return stored.error();
  return std::all_of(plan.schedules.begin(), plan.schedules.end(), [&](const auto& of_run) {
    const auto known = stored->find(of_run.first);
    return known == stored->end() || !known->second.next_at || *known->second.next_at >= plan.end;
  });
}

sluice::result<void> end_run(sluice::client& client, const run_plan& plan) {
  for (const auto& [name, schedule] : plan.schedules)
    if (const auto paused = client.pause_recurring(name); !paused && paused.error().code != sluice::errc::not_found)
      return paused.error();
  return {};
}

sluice::result<minute_peaks> peaks_of_a_minute(const std::vector<sluice::recurring>& schedules) {
  const auto off = peak_of_a_minute(schedules, sluice::stagger_rule::off);
  const auto by_name = peak_of_a_minute(schedules, sluice::stagger_rule::by_name);
  const auto even = peak_of_a_minute(schedules, sluice::stagger_rule::even);
  for (const auto* one : {&off, &by_name, &even})
    if (!*one) return one->error();
  return minute_peaks{*off, *by_name, *even};
}

}  // namespace sample
