#include "core/recurring.hpp"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <set>

#include <nlohmann/json.hpp>

#include "core/never_destroyed.hpp"
#include "core/text.hpp"

namespace sluice {
namespace {

using nlohmann::json;

constexpr std::size_t longest_name = 150;

error damaged(const std::string& what) { return {errc::damaged_record, "the definition of a schedule " + what}; }

template <class Rule>
bool take_word(const json& value, const std::vector<std::string>& words, Rule& into) {
  if (!value.is_string()) return false;
  const auto at = std::find(words.begin(), words.end(), value.get<std::string>());
  if (at != words.end()) into = static_cast<Rule>(at - words.begin());
  return at != words.end();
}

// Whether a value is one of its kind.
bool take(const json& value, catch_up_rule& into) { return take_word(value, catch_up_rules(), into); }
bool take(const json& value, overlap_rule& into) { return take_word(value, overlap_rules(), into); }
bool take(const json& value, stagger_rule& into) { return take_word(value, stagger_rules(), into); }
bool take(const json& value, std::string& into) {
  if (value.is_string()) into = value.get<std::string>();
  return value.is_string();
}
bool take(const json& value, has_one_value auto& into) { return take(value, into.value); }
bool take(const json& value, duration& into) {
  const auto read = value.is_string() ? parse_duration(value.get<std::string>()) : std::nullopt;
  if (read) into = *read;
  return read.has_value();
}
bool take(const json& value, std::uint32_t& into) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > std::numeric_limits<std::uint32_t>::max())
    return false;
  into = value.get<std::uint32_t>();
  return true;
}
bool take(const json& value, std::map<std::string, std::string>& into) {
  if (!value.is_object()) return false;
  for (const auto& [name, text] : value.items())
    if (!take(text, into[name])) return false;
  return true;
}

// Reads the members that there are. `left`: the names that nobody asked for, or that stand before none of their kind.
class member_reader {
public:
  explicit member_reader(const json& from) : from_(from) {
    for (const auto& [name, value] : from.items())
      left.insert(name);
  }

  template <class T>
  member_reader& operator()(const std::string& name, T& into, const field& = {}) {
    if (const auto at = from_.find(name); at != from_.end() && take(*at, into)) left.erase(name);
    return *this;
  }

  std::set<std::string> left;

private:
  const json& from_;
};

using word_list = std::initializer_list<std::string>;

}  // namespace

const std::vector<std::string>& catch_up_rules() {
  static const auto& words = *never_destroyed<std::vector<std::string>>(word_list{"last", "none", "all"});
  return words;
}
const std::vector<std::string>& overlap_rules() {
  static const auto& words = *never_destroyed<std::vector<std::string>>(word_list{"allow", "skip", "queue_one"});
  return words;
}
const std::vector<std::string>& stagger_rules() {
  static const auto& words = *never_destroyed<std::vector<std::string>>(word_list{"true", "even", "false"});
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
  member_reader members(tree);
  members_of(read, members);
  if (!members.left.empty()) return damaged(cat("has a bad '", printable(*members.left.begin(), 60), "'"));
  return read;
}

}  // namespace sluice
