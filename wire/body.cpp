#include "wire/body.hpp"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "core/pipeline.hpp"
#include "core/text.hpp"

namespace sluice::wire {
namespace {

using nlohmann::json;

// All that follows is asked of well-formed JSON only.

constexpr std::string_view blanks = " \t\r\n";

std::size_t end_of_text(std::string_view text, std::size_t at) {
  for (++at; text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return at + 1;
}

// Of the value that begins at `at`, with the blanks behind it.
std::size_t end_of_value(std::string_view text, std::size_t at) {
  int depth = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    const bool is_end = c == '}' || c == ']';
    if (depth == 0 && (is_end || c == ',')) break;
    if (c == '"') at = end_of_text(text, at) - 1;
    else if (c == '{' || c == '[') ++depth;
    else if (is_end) --depth;
  }
  return at;
}

// Without the blanks.
std::string_view value_of(std::string_view text, std::size_t from, std::size_t to) {
  const auto value = text.substr(from, to - from);
  return value.substr(0, value.find_last_not_of(blanks) + 1);
}

// Nothing when it is no list, too.
std::vector<std::string> elements_of(std::string_view text) {
  std::vector<std::string> all;
  if (!text.starts_with('[')) return all;
  for (std::size_t at = 1; at < text.size();) {
    const auto from = text.find_first_not_of(blanks, at);
    if (text[from] == ']') break;
    const auto to = end_of_value(text, from);
    all.emplace_back(value_of(text, from, to));
    at = to + 1;
  }
  return all;
}

// Nothing when it is no object.
std::optional<json_members> members_of(std::string_view text) {
  const auto first = text.find_first_not_of("\xEF\xBB\xBF \t\r\n");
  if (first == std::string_view::npos || text[first] != '{') return std::nullopt;
  json_members all;
  for (auto at = text.find('"', first); at < text.size();) {
    const auto behind = end_of_text(text, at);
    const auto from = text.find_first_not_of(blanks, text.find(':', behind) + 1);
    const auto to = end_of_value(text, from);
    all.emplace_back(json::parse(text.substr(at, behind - at)).get<std::string>(), value_of(text, from, to));
    at = text.find('"', to);
  }
  return all;
}

}  // namespace

body_reader::body_reader(std::string text, std::string at) : at_(std::move(at)), text_(std::move(text)) {
  if (const auto sound = check_json(text_, max_json_depth); !sound) {
    faults_.push_back({at_, sound.error().message});
    return;
  }
  auto members = members_of(text_);
  if (!members) {
    faults_.push_back({at_, "must be a JSON object"});
    return;
  }
  members_ = std::move(*members);
  std::set<std::string_view> seen;
  for (const auto& [key, value] : members_)
    if (!seen.insert(key).second) fault(key, "stands there twice");
}

std::optional<std::string_view> body_reader::find(std::string_view key) {
  asked_.emplace_back(key);
  const auto found = std::find_if(members_.begin(), members_.end(), [&](const auto& m) { return m.first == key; });
  if (found == members_.end() || found->second == "null") return std::nullopt;
  return found->second;
}

std::optional<std::string> body_reader::raw_text(std::string_view key) {
  const auto at = find(key);
  return at ? std::optional<std::string>(*at) : std::nullopt;
}

std::optional<std::string> body_reader::text(std::string_view key) {
  const auto at = find(key);
  if (!at) return std::nullopt;
  if (at->starts_with('"')) return json::parse(*at).get<std::string>();
  fault(key, "must be a text");
  return std::nullopt;
}

std::optional<std::uint64_t> body_reader::number(std::string_view key, std::uint64_t most) {
  const auto at = find(key);
  if (!at) return std::nullopt;
  const auto read = json::parse(*at);
  if (read.is_number_unsigned() && read.get<std::uint64_t>() <= most) return read.get<std::uint64_t>();
  fault(key, cat("must be a whole number of 0 to ", most));
  return std::nullopt;
}

std::optional<bool> body_reader::flag(std::string_view key) {
  const auto at = find(key);
  if (!at) return std::nullopt;
  if (*at == "true" || *at == "false") return *at == "true";
  fault(key, "must be true or false");
  return std::nullopt;
}

std::optional<std::vector<std::string>> body_reader::texts(std::string_view key, std::size_t most) {
  const auto at = find(key);
  if (!at) return std::nullopt;
  const auto list = json::parse(*at);
  std::vector<std::string> all;
  bool is_fine = list.is_array() && !list.empty() && list.size() <= most;
  for (std::size_t i = 0; is_fine && i < list.size(); ++i) {
    is_fine = list[i].is_string();
    if (is_fine) all.push_back(list[i].get<std::string>());
  }
  if (is_fine) return all;
  fault(key, cat("must be a list of 1 to ", most, " texts"));
  return std::nullopt;
}

std::optional<std::vector<std::string>> body_reader::values(std::string_view key, std::size_t most) {
  const auto at = find(key);
  if (!at) return std::nullopt;
  auto all = elements_of(*at);
  if (!all.empty() && all.size() <= most) return all;
  fault(key, cat("must be a list of 1 to ", most, " values"));
  return std::nullopt;
}

std::vector<std::pair<std::string, std::string>> body_reader::pairs(std::string_view key) {
  std::vector<std::pair<std::string, std::string>> all;
  const auto at = find(key);
  if (!at) return all;
  const auto members = members_of(*at);
  std::set<std::string_view> seen;
  bool is_fine = members.has_value();
  if (is_fine)
    for (const auto& [name, value] : *members) {
      is_fine = is_fine && value.starts_with('"') && seen.insert(name).second;
      if (is_fine) all.emplace_back(name, json::parse(value).get<std::string>());
    }
  if (!is_fine) fault(key, "must be an object whose values are texts, each name once");
  return all;
}

void body_reader::fault(std::string_view key, std::string problem) {
  if (faults_.size() < max_faults_told) faults_.push_back({cat(at_, "/", pointer_part(key)), std::move(problem)});
}

const std::vector<body_fault>& body_reader::faults() {
  for (const auto& [key, value] : members_) {
    if (faults_.size() >= max_faults_told) break;
    if (std::find(asked_.begin(), asked_.end(), key) != asked_.end()) continue;
    const auto meant = nearest(first_bytes(key, 300), asked_);
    fault(key, meant ? cat("is not known; did you mean '", *meant, "'?") : std::string("is not known"));
  }
  return faults_;
}

body_with_args with_exact_args(const std::string& body) {
  body_reader read(body);
  const auto args = read.raw_text("args");
  auto exact = read.text("args_text");
  if (args && exact && json::parse(*args) != json::parse(*exact, nullptr, false))
    read.fault("args_text", "is not what args says: give one of them");
  if (!read.faults_.empty()) return {{}, false, read.faults_};
  if (args && !exact) exact = args->starts_with('"') ? json::parse(*args).get<std::string>() : *args;
  std::string text = exact ? cat("\"args\":", json_quoted(*exact)) : std::string();
  for (const auto& [key, value] : read.members_)
    if (key != "args" && key != "args_text") text += cat(text.empty() ? "" : ",", json_quoted(key), ":", value);
  return {cat("{", text, "}"), exact.has_value(), {}};
}

}  // namespace sluice::wire
