// Where a job's arguments do not fit the type that its handler takes.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include <sluice/json.hpp>

#include "core/log.hpp"
#include "core/per_process.hpp"
#include "core/text.hpp"

namespace sluice::json_fit {
namespace {

using nlohmann::json;

// Without the library's own code in front of it.
std::string sentence_of(const std::string& what) {
  const auto end = what.starts_with("[json.exception.") ? what.find("] ") : std::string::npos;
  const auto sentence = end == std::string::npos ? what : what.substr(end + 2);
  for (const std::string members : {"cannot use at() with ", "cannot use value() with "})
    if (sentence.starts_with(members)) return "type must be object, but is " + sentence.substr(members.size());
  return sentence;
}

constexpr std::size_t most_tries = 1000, most_bytes_tried = 1U << 20U;

// Finds the part that a failure speaks of, by what it says when the part is another.
struct search {
  json tree;
  const std::function<std::string(const json&)>& failure;
  std::string first = failure(tree);
  std::size_t tries_left = std::min(most_tries, most_bytes_tried / (1 + tree.dump().size()));

  bool may_try() { return tries_left > 0 && tries_left-- > 0; }
  // Its last word is the type that was found; of a part that is another in its place, that other's. Of three, since one
  // may be what is wanted.
  bool has_wrong_type(json& part) {
    const std::string found = part.type_name();
    if (!first.ends_with(" " + found)) return false;
    for (auto other : {json(), json::array(), json(false)}) {
      if (other.type() == part.type() || !may_try()) continue;
      const std::string told = first.substr(0, first.size() - found.size()) + other.type_name();
      std::swap(part, other);
      const bool is_it = failure(tree) == told;
      std::swap(part, other);
      if (is_it) return true;
    }
    return false;
  }
  bool lacks_key(json& part, const std::string& key) {
    if (key.empty() || !part.is_object() || part.contains(key) || !may_try()) return false;
    part[key] = nullptr;
    const bool is_it = failure(tree) != first;
    part.erase(key);
    return is_it;
  }
  std::string missing_key() const {
    const auto begin = first.find("key '"), end = first.rfind("' not found");
    return begin == std::string::npos || end == std::string::npos ? "" : first.substr(begin + 5, end - begin - 5);
  }
  std::optional<std::string> path_from(json& part, const std::string& path) {
    if (has_wrong_type(part) || lacks_key(part, missing_key())) return path;
    std::size_t place = 0;
    for (auto at = part.begin(); part.is_structured() && at != part.end(); ++at, ++place)
      if (auto found = path_from(*at, cat(path, "/", part.is_object() ? at.key() : std::to_string(place))))
        return found;
    return std::nullopt;
  }
};

// Whether an integer is what is left of the bits of another. Not of 8 bits: what clamps or maps would often seem so.
template <class... Narrow>
bool is_left_of(std::uint64_t wanted, const json& made) {
  return ((made == json(static_cast<Narrow>(wanted))) || ...);
}
bool is_negative(const json& number) { return !number.is_number_unsigned() && number.get<std::int64_t>() < 0; }

// What the processor makes of a number that is too large for an integer.
bool is_no_integer(const json& made) {
  return made == json(std::numeric_limits<std::int32_t>::min()) ||
         made == json(std::numeric_limits<std::int64_t>::min()) || made == json(std::uint64_t{1} << 63U);
}

bool is_another(double wanted, const json& made) {
  if (made.is_number_float()) return std::isfinite(wanted) && !std::isfinite(made.get<double>());
  if (!made.is_number_integer() || made.get<double>() == wanted) return false;
  const bool is_too_large = std::abs(wanted) >= 2147483648.0;         // for 32 bits at least
  const bool fits_none = std::abs(wanted) >= 18446744073709551616.0;  // of 64, it leaves no bits
  return (is_too_large && is_no_integer(made)) || (fits_none && made == json(0));
}

// Any other difference may be what the type means: one that writes whole seconds may have read a part of one.
bool is_another(const json& wanted, const json& made) {
  if (wanted.is_number_float()) return is_another(wanted.get<double>(), made);
  if (!wanted.is_number_integer() || !made.is_number_integer()) return false;
  if (is_negative(wanted) == is_negative(made) && wanted == made) return false;
  return is_left_of<std::int16_t, std::uint16_t, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t>(
      wanted.get<std::uint64_t>(), made);
}

bool stands_in(const json& list, const json& value) { return std::find(list.begin(), list.end(), value) != list.end(); }

// The rest of the path, and what does not fit there. Nothing is made where all fits, as it mostly does.
std::string cut_in(const json& value, const json& made) {
  if (value.is_number() && is_another(value, made))
    return cat(": ", value.dump(), " does not fit the number that it is read as");
  if (!value.is_structured() || value.type() != made.type()) return {};
  if (value.is_array() && value.size() != made.size()) return {};  // a set
  std::size_t place = 0;
  for (auto at = value.begin(); at != value.end(); ++at, ++place) {
    const auto other = value.is_object() ? made.find(at.key()) : made.begin() + static_cast<std::ptrdiff_t>(place);
    const auto found = other == made.end() ? std::string() : cut_in(*at, *other);
    if (found.empty()) continue;
    if (value.is_array() && stands_in(made, *at)) return {};  // a set is in another order
    return cat("/", value.is_object() ? at.key() : std::to_string(place), found);
  }
  return {};
}

}  // namespace

std::string why_not(const json& value, const std::function<std::string(const json&)>& failure) {
  search s{value, failure};
  const auto path = s.path_from(s.tree, {}).value_or("");
  return cat(path, path.empty() ? "" : ": ", sentence_of(s.first));
}

std::string cut_number(const json& value, const json& made) {
  auto found = cut_in(value, made);
  return found.starts_with(": ") ? found.substr(2) : found;
}

// What jobs bring must not fill the memory.
constexpr std::size_t most_slips = 1'000;

void warn_of_slip(const std::string& type, const json& value, const json& made) {
  if (!value.is_object() || !made.is_object()) return;
  std::vector<std::string> unread, lacked;
  for (const auto& [key, given] : value.items())
    if (!made.contains(key)) unread.push_back(key);
  if (unread.empty()) return;
  static constinit per_process<std::pair<std::mutex, std::set<std::string>>> told;  // "type member"
  auto& [lock, slips] = told.here();
  const std::lock_guard hold(lock);
  for (const auto& [key, of_made] : made.items())
    if (!value.contains(key)) lacked.push_back(key);
  for (const auto& key : unread)
    if (slips.size() < most_slips && !slips.contains(cat(type, " ", key)))
      if (const auto meant = did_you_mean(key, lacked); !meant.empty()) {
        slips.insert(cat(type, " ", key));
        log::warn("args of ", type, " have '", printable(key, 200), "', which seems to be misspelt", meant);
      }
}

std::string written(const json& value) {
  try {
    return value.dump();
  } catch (const json::type_error& e) {
    static std::atomic<bool> is_told{false};
    if (!is_told.exchange(true))
      log::warn("a value is stored with replacement characters, since it holds text that is no UTF-8: ", e.what());
  }
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace sluice::json_fit
