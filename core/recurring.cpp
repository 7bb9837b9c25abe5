#include "core/recurring.hpp"

#include <algorithm>
#include <limits>

#include <nlohmann/json.hpp>

#include "core/text.hpp"

namespace sluice {
namespace {

using nlohmann::json;

constexpr std::size_t longest_name = 150;

error damaged(const std::string& what) { return {errc::damaged_record, "the definition of a schedule " + what}; }

// The word of a rule, or nothing.
template <class Rule>
bool take_rule(const json& value, const std::vector<std::string>& words, Rule& into) {
  if (!value.is_string()) return false;
  const auto at = std::find(words.begin(), words.end(), value.get<std::string>());
  if (at != words.end()) into = static_cast<Rule>(at - words.begin());
  return at != words.end();
}

bool take_text(const json& value, std::string& into) {
  if (value.is_string()) into = value.get<std::string>();
  return value.is_string();
}

bool take_time(const json& value, duration& into) {
  const auto read = value.is_string() ? parse_duration(value.get<std::string>()) : std::nullopt;
  if (read) into = *read;
  return read.has_value();
}

bool take_number(const json& value, std::uint32_t& into) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > std::numeric_limits<std::uint32_t>::max())
    return false;
  into = value.get<std::uint32_t>();
  return true;
}

bool take_headers(const json& value, std::map<std::string, std::string>& into) {
  if (!value.is_object()) return false;
  for (const auto& [name, text] : value.items())
    if (!take_text(text, into[name])) return false;
  return true;
}

bool take_field(recurring& r, const std::string& key, const json& value) {
  if (key == "name") return take_text(value, r.name);
  if (key == "job") return take_text(value, r.job.value);
  if (key == "args") return take_text(value, r.args);
  if (key == "cron") return take_text(value, r.cron);
  if (key == "every") return take_time(value, r.every);
  if (key == "zone") return take_text(value, r.zone);
  if (key == "queue") return take_text(value, r.queue.value);
  if (key == "stagger") return take_rule(value, stagger_rules(), r.stagger);
  if (key == "catch_up") return take_rule(value, catch_up_rules(), r.catch_up);
  if (key == "catch_up_max") return take_number(value, r.catch_up_max);
  if (key == "overlap") return take_rule(value, overlap_rules(), r.overlap);
  if (key == "headers") return take_headers(value, r.headers);
  return false;
}

}  // namespace

const std::vector<std::string>& catch_up_rules() {
  static const std::vector<std::string> words{"last", "none", "all"};
  return words;
}
const std::vector<std::string>& overlap_rules() {
  static const std::vector<std::string> words{"allow", "skip", "queue_one"};
  return words;
}
const std::vector<std::string>& stagger_rules() {
  static const std::vector<std::string> words{"true", "even", "false"};
  return words;
}

std::string_view name_of(catch_up_rule rule) noexcept { return catch_up_rules()[static_cast<std::size_t>(rule)]; }
std::string_view name_of(overlap_rule rule) noexcept { return overlap_rules()[static_cast<std::size_t>(rule)]; }
std::string_view name_of(stagger_rule rule) noexcept { return stagger_rules()[static_cast<std::size_t>(rule)]; }

bool valid_schedule_name(std::string_view name) { return name.size() <= longest_name && valid_name(name); }

job_id occurrence_id(const std::string& name, time_point at) { return job_id(cat(name, ":", format_time(at))); }

job_id triggered_id(const std::string& name, time_point now) { return job_id(cat(name, ":", make_job_id(now).value)); }

std::string write_recurring(const recurring& definition) { return json_for({.is_store = true}, definition); }

recurring without_content(recurring definition) {
  definition.args = recurring().args;
  definition.headers.clear();
  return definition;
}

result<recurring> read_recurring(std::string_view text) {
  const auto tree = json::parse(text, nullptr, false);
  if (!tree.is_object()) return damaged("is no JSON object");
  recurring read;
  for (const auto& [key, value] : tree.items())
    if (!take_field(read, key, value)) return damaged(cat("has a bad '", printable(key, 60), "'"));
  return read;
}

}  // namespace sluice
