// Schedules of recurring jobs, as a client changes them and looks at them.
#include <sluice/cron.hpp>

#include <algorithm>

#include "client/parts.hpp"
#include "core/instant.hpp"
#include "core/no_job.hpp"
#include "core/recurring.hpp"
#include "core/text.hpp"
#include "operations/schedules.hpp"
#include "throttling/explain.hpp"

namespace sluice {
namespace {

constexpr std::uint32_t max_instants = 1000;
constexpr std::string_view no_next_run = "never";  // greater than any instant

bool occurs(std::string_view part, std::string_view in) { return lowered(in).find(lowered(part)) != std::string::npos; }

bool asks_for_some(const recurring_query& query) {
  return !query.name_part.empty() || query.paused || !query.queue.empty() || !query.type.empty();
}
bool is_asked_for(const recurring_query& query, const recurring_status& one) {
  if (!occurs(query.name_part, one.name) || (query.paused && !one.paused)) return false;
  if (!query.queue.empty() && !(one.definition && one.definition->queue == query.queue)) return false;
  return query.type.empty() || (one.definition && one.definition->job == query.type);
}

// Where one stands in the order: these texts sort as it does, and say where a page ended.
std::string place_of(const recurring_status& one, recurring_order order) {
  if (order == recurring_order::by_name) return one.name;
  return cat(one.next_at ? format_time(*one.next_at) : std::string(no_next_run), '/', one.name);
}

bool is_place(const std::string& text, recurring_order order) {
  if (order == recurring_order::by_name) return valid_schedule_name(text);
  const auto slash = text.find('/');  // which no name has
  if (slash == std::string::npos || !valid_schedule_name(text.substr(slash + 1))) return false;
  const auto instant = text.substr(0, slash);
  const auto at = parse_time(instant);
  return instant == no_next_run || (at && format_time(*at) == instant);
}

}  // namespace

result<storage::update_schedule_answer> client::parts::swap_schedule(const std::string& name,
                                                                     const scheduler::schedule_change& change) {
  return carry_out<storage::update_schedule_answer>(
      [&](const auto& store, const auto& then) { operations::change_schedule(store, name, change, then); });
}

result<void> client::parts::change_schedule(std::string_view what, const std::string& name,
                                            const scheduler::schedule_change& change) {
  const auto done = swap_schedule(name, change);
  if (!done) return done.error();
  if (done->updated) note(what, {name});
  return {};
}

result<void> client::set_recurring(const recurring& definition) {
  return parts_->change_schedule("set schedule", definition.name, scheduler::putting(definition, time_zone_version()));
}

result<void> client::remove_recurring(const std::string& name) {
  return parts_->change_schedule("remove schedule", name, scheduler::removing(name));
}

result<void> client::pause_recurring(const std::string& name) {
  return parts_->change_schedule("pause schedule", name, scheduler::pausing(name, true, {}));
}

result<void> client::resume_recurring(const std::string& name) {
  return parts_->change_schedule("resume schedule", name, scheduler::pausing(name, false, time_zone_version()));
}

result<job_id> client::trigger_recurring(const std::string& name, const job_id& wanted) {
  const auto id = wanted.empty() ? triggered_id(name, parts_->shared_store->now()) : wanted;
  storage::enqueue_request made;
  const auto prepare = [&](new_job job) {
    auto ready = parts_->pipeline.prepare(std::move(job), parts_->shared_store->now());
    if (ready) made.jobs = {*ready};
    return ready;
  };
  const auto done = parts_->swap_schedule(name, scheduler::triggering(name, id, prepare));
  if (!done) return done.error();
  const bool was_there = done->each == std::vector{storage::update_schedule_answer::how::there};
  if (wanted.empty() || !was_there) {
    parts_->note("trigger schedule", {name});
    return id;
  }
  // To enqueue it tells whether what is there is the same job.
  const auto compared = parts_->ask_for<storage::enqueue_answer>(std::move(made));
  if (!compared) return compared.error();
  return compared->each.front() == errc::none ? result<job_id>(id) : no_job(id, compared->each.front());
}

result<std::vector<recurring_status>> client::recurring_jobs() {
  const auto rows = parts_->carry_out<std::vector<storage::schedule_row>>(operations::all_schedules);
  if (!rows) return rows.error();
  std::vector<recurring_status> all;
  for (const auto& row : *rows)
    all.push_back(scheduler::status_of(row));
  return all;
}

// A problem too: nobody takes the last of its jobs, since no server serves their queue, or knows their type.
void client::parts::add_unserved(std::vector<recurring_status>& all) {
  storage::shared_store::requests asked;
  std::vector<recurring_status*> of;
  for (auto& one : all) {
    if (!one.problem.empty() || one.last_job.empty()) continue;
    asked.push_back(storage::explain_request{one.last_job});
    of.push_back(&one);
  }
  if (asked.empty()) return;
  asked.push_back(storage::servers_request{});
  const auto answers = sluice::ask(*shared_store, asked, options.deadline);
  const auto* known = std::get_if<storage::servers_answer>(&answers.back());
  for (std::size_t i = 0; i < of.size(); ++i) {
    const auto* seen = std::get_if<storage::explain_answer>(&answers[i]);
    if (!seen || !seen->found) continue;
    const auto why =
        throttling::explain(*seen, shared_store->now(), known ? known->servers : std::vector<server_info>());
    if (why.reason == explain_reason::unserved || why.reason == explain_reason::unknown_type)
      of[i]->problem = cat("job ", of[i]->last_job.value, " waits: ", why.text);
  }
}

// Reads no more than it shows, or when only some are asked for, until it has these and one more.
result<recurring_page> client::parts::schedules_by_name(const recurring_query& query) {
  const bool some = asks_for_some(query);
  recurring_page page;
  const auto last_shown = [&] { return page.schedules.back().name; };
  storage::schedules_request wanted{storage::largest_page, query.after};
  do {
    const auto left = query.limit - static_cast<std::uint32_t>(page.schedules.size());
    if (!some) wanted.limit = std::min(left, storage::largest_page);
    auto got = ask_for<storage::schedules_answer>(wanted);
    if (!got) return got.error();
    for (const auto& row : got->rows) {
      auto one = scheduler::status_of(row);
      if (!is_asked_for(query, one)) continue;
      if (page.schedules.size() == query.limit) {
        page.next = last_shown();
        return page;
      }
      page.schedules.push_back(std::move(one));
    }
    wanted.after = std::move(got->next);
    if (!some && page.schedules.size() == query.limit && !wanted.after.empty()) {
      page.next = last_shown();
      return page;
    }
  } while (!wanted.after.empty());
  return page;
}

result<recurring_page> client::recurring_jobs(const recurring_query& query) {
  if (query.limit == 0) return error{errc::invalid_argument, "limit must be at least 1"};
  if (!query.after.empty() && !is_place(query.after, query.order))
    return error{errc::invalid_argument,
                 cat("'", printable(query.after, 200), "' is not where a page of this list ended")};
  if (query.order == recurring_order::by_name) {
    auto page = parts_->schedules_by_name(query);
    if (page) parts_->add_unserved(page->schedules);
    return page;
  }
  auto all = recurring_jobs();
  if (!all) return all.error();
  std::vector<std::pair<std::string, recurring_status*>> found;
  for (auto& one : *all)
    if (auto place = place_of(one, query.order); place > query.after && is_asked_for(query, one))
      found.emplace_back(std::move(place), &one);
  std::sort(found.begin(), found.end());
  recurring_page page;
  if (found.size() > query.limit) {
    found.resize(query.limit);
    page.next = found.back().first;
  }
  for (auto& [place, one] : found)
    page.schedules.push_back(std::move(*one));
  parts_->add_unserved(page.schedules);
  return page;
}

result<recurring_outlook> client::recurring_job(const std::string& name, std::uint32_t instants) {
  const auto seen = parts_->ask_for<storage::schedule_answer>(storage::schedule_request{name});
  if (!seen) return seen.error();
  if (seen->row) {
    std::vector<recurring_status> one{scheduler::status_of(*seen->row)};
    parts_->add_unserved(one);
    return recurring_outlook{std::move(one[0]),
                             scheduler::next_instants(*seen->row, seen->now, std::min(instants, max_instants))};
  }
  return parts_->carry_out<recurring_outlook>([&](const auto& store, const auto& then) {
    operations::tell_missing_schedule(store, name, [then](const error& why) { then(why); });
  });
}

}  // namespace sluice
