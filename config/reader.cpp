#include "config/reader.hpp"

#include <algorithm>

#include "core/instant.hpp"
#include "core/never_destroyed.hpp"
#include "core/text.hpp"

namespace sluice::config {
namespace {

const json& nothing() {
  static const auto& empty = *never_destroyed<json>(json::object());
  return empty;
}

// A value as it is quoted in a fault: short, escaped, and never a whole object.
std::string shown(const json& value) {
  if (value.is_structured()) return value.is_object() ? "an object" : "a list";
  return printable(value.dump(-1, ' ', false, json::error_handler_t::replace), 60);
}

}  // namespace

bool is_misspelt(const json& value, const std::string& field) {
  if (!value.is_object() || value.contains(field)) return false;
  const auto items = value.items();
  return std::any_of(items.begin(), items.end(),
                     [&](const auto& item) { return !did_you_mean(item.key(), {field}).empty(); });
}

reader::reader(const json& value, std::string pointer, std::vector<fault>& faults)
    : value_(value.is_object() ? value : nothing()), pointer_(std::move(pointer)), faults_(faults) {
  if (!value.is_object()) faults_.push_back({pointer_, cat("must be an object, not ", shown(value))});
}

reader::~reader() {
  for (const auto& [key, value] : value_.items()) {
    if (std::find(asked_.begin(), asked_.end(), key) != asked_.end()) continue;
    const auto meant = nearest(key, asked_);
    std::string allowed;
    for (const auto& name : asked_)
      allowed += (allowed.empty() ? "" : ", ") + name;
    faults_.push_back(
        {pointer_ + "/" + pointer_part(printable(key, 100)),
         meant ? cat("is not known; did you mean '", *meant, "'?") : cat("is not known; known here: ", allowed)});
  }
}

std::string reader::pointer(std::string_view key) const {
  return key.empty() ? pointer_ : pointer_ + "/" + pointer_part(key);
}

void reader::fault_at(std::string_view key, std::string problem) {
  faults_.push_back({pointer(key), std::move(problem)});
}

const json* reader::find(std::string_view key) {
  if (std::find(asked_.begin(), asked_.end(), key) == asked_.end()) asked_.emplace_back(key);
  const auto at = value_.find(std::string(key));
  return at == value_.end() ? nullptr : &*at;
}

std::vector<std::string> reader::texts(std::string_view key) {
  std::vector<std::string> all;
  const auto* list = any(key);
  if (!list) return all;
  bool is_fine = list->is_array();
  for (std::size_t i = 0; is_fine && i < list->size(); ++i) {
    is_fine = (*list)[i].is_string() && !(*list)[i].get_ref<const std::string&>().empty();
    if (is_fine) all.push_back((*list)[i].get<std::string>());
  }
  if (!is_fine) fault_at(key, "must be a list of texts");
  return all;
}

const json* reader::any(std::string_view key) { return find(key); }

const json* reader::wrong_type(std::string_view key, const json& value, std::string_view wanted) {
  fault_at(key, cat("must be ", wanted, ", not ", shown(value)));
  return nullptr;
}

std::optional<std::string> reader::text(std::string_view key) {
  const auto* at = find(key);
  if (at && !at->is_string()) at = wrong_type(key, *at, "a text");
  if (at && at->get_ref<const std::string&>().empty()) {
    fault_at(key, "must not be empty; leave it out where there is none");
    return std::nullopt;
  }
  return at ? std::optional(at->get<std::string>()) : std::nullopt;
}

std::optional<bool> reader::flag(std::string_view key) {
  const auto* at = find(key);
  if (at && !at->is_boolean()) at = wrong_type(key, *at, "true or false");
  return at ? std::optional(at->get<bool>()) : std::nullopt;
}

std::optional<std::uint64_t> reader::number(std::string_view key, ranges::range<std::uint64_t> allowed) {
  const auto* at = find(key);
  if (!at) return std::nullopt;
  const auto range = cat("a whole number from ", allowed.least, " to ", allowed.most);
  if (!at->is_number_integer()) return wrong_type(key, *at, range), std::nullopt;
  const bool negative = !at->is_number_unsigned() && at->get<std::int64_t>() < 0;
  const auto n = negative ? 0 : at->get<std::uint64_t>();
  if (negative || !allowed.contains(n))
    return fault_at(key, cat("must be ", range, ", not ", shown(*at))), std::nullopt;
  return n;
}

std::optional<double> reader::fraction(std::string_view key) {
  const auto* at = find(key);
  if (!at) return std::nullopt;
  if (!at->is_number() || !(at->get<double>() >= 0 && at->get<double>() <= 1))
    return wrong_type(key, *at, "a number from 0 to 1"), std::nullopt;
  return at->get<double>();
}

std::optional<duration> reader::time(std::string_view key, ranges::range<duration> allowed) {
  const auto* at = find(key);
  if (!at) return std::nullopt;
  const auto range = cat("a time from \"", with_days(allowed.least), "\" to \"", with_days(allowed.most), "\"");
  if (at->is_number())
    return fault_at(key, cat("needs a unit, as \"", shown(*at), "s\" or \"", shown(*at), "m\": it must be ", range)),
           std::nullopt;
  if (!at->is_string()) return wrong_type(key, *at, range), std::nullopt;
  const auto read = parse_duration(at->get<std::string>());
  if (const auto one = in_one_unit(at->get<std::string>()))
    return fault_at(key, cat("needs one number with one unit, for units cannot be joined: write \"", *one, "\" for ",
                             shown(*at), "; it must be ", range)),
           std::nullopt;
  if (!read) return fault_at(key, cat("must be ", range, " (units: us ms s m h d), not ", shown(*at))), std::nullopt;
  if (!allowed.contains(*read)) return fault_at(key, cat("must be ", range, ", not ", shown(*at))), std::nullopt;
  return read;
}

std::optional<std::size_t> reader::choice(std::string_view key, const std::vector<std::string>& words) {
  const auto* at = find(key);
  if (!at) return std::nullopt;
  std::string list;
  for (const auto& word : words)
    list += (list.empty() ? "" : ", ") + word;
  if (!at->is_string()) return wrong_type(key, *at, "one of " + list), std::nullopt;
  const auto found = std::find(words.begin(), words.end(), at->get<std::string>());
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  return fault_at(key, cat("must be one of ", list, ", not ", shown(*at), did_you_mean(at->get<std::string>(), words))),
         std::nullopt;
}

}  // namespace sluice::config
