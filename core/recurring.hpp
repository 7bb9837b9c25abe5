// How schedules of recurring jobs are written: their definitions, and what a store keeps of one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/error.hpp>
#include <sluice/recurring.hpp>

#include "core/json_object.hpp"
#include "core/text.hpp"

namespace sluice {

inline constexpr std::size_t max_recurring_args_bytes = 32 * 1024;

// The words of each rule, in its order.
const std::vector<std::string>& catch_up_rules();
const std::vector<std::string>& overlap_rules();
const std::vector<std::string>& stagger_rules();

// 1 to 150 bytes of a name: with an instant behind it, it is still a job's id.
bool valid_schedule_name(std::string_view name);

// "NAME:2026-03-08T07:00:00.000Z".
job_id occurrence_id(const std::string& name, time_point at);

// "NAME:ID", where the ID is new: of a job that is triggered by hand. So each job of a schedule has its name.
job_id triggered_id(const std::string& name, time_point now);

// What is shown of a const value, and read into one that is not.
inline given_json as_json(const std::string& text) { return {text}; }
inline std::string& as_json(std::string& text) { return text; }
inline std::string as_text(const duration& time) { return format_duration(time); }
inline duration& as_text(duration& time) { return time; }

// The members of a definition as it is stored and shown: all that is not as it is by default.
void members_of(auto& d, auto& v) {
  const recurring plain;
  v("name", d.name)("job", d.job);
  v("args", as_json(d.args), {.is_content = true, .is_given = d.args != plain.args});
  v("cron", d.cron, {.is_given = d.cron != plain.cron});
  v("every", as_text(d.every), {.is_given = d.every != plain.every});
  v("zone", d.zone, {.is_given = d.zone != plain.zone})("queue", d.queue, {.is_given = d.queue != plain.queue});
  v("stagger", d.stagger, {.is_given = d.stagger != plain.stagger});
  v("catch_up", d.catch_up, {.is_given = d.catch_up != plain.catch_up});
  v("catch_up_max", d.catch_up_max, {.is_given = d.catch_up_max != plain.catch_up_max});
  v("overlap", d.overlap, {.is_given = d.overlap != plain.overlap});
  v("headers", d.headers, {.is_content = true, .is_given = !d.headers.empty()});
}
void show(auto& v, const recurring& d) { members_of(d, v); }

// The stored form: JSON. Equal definitions give equal texts, for ever.
std::string write_recurring(const recurring& definition);
// damaged_record for whatever was not written so. The values may make no sense together.
result<recurring> read_recurring(std::string_view text);

// As those may see it who may not see what jobs are about.
recurring without_content(recurring definition);

// What a store keeps of a schedule.
struct schedule_record {
  std::string definition;  // write_recurring
  std::string config;      // the text of the configuration that was applied last
  std::string zones;       // the version of the zone files by which it was planned
  time_point mark{};       // no occurrence up to this instant will ever be enqueued
  bool paused = false;
  std::string problem;  // why no job could be made
};
std::string encode(const std::string& name, const schedule_record& record);
// Nothing for any other bytes, and for those of another schedule.
std::optional<schedule_record> decode_schedule(const std::string& name, std::string_view bytes);

}  // namespace sluice
