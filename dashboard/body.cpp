#include "dashboard/body.hpp"

#include <algorithm>

#include "core/pipeline.hpp"
#include "core/text.hpp"

namespace sluice::web {
namespace {

// A key as it stands in a pointer.
std::string escaped(std::string_view key) {
  std::string out;
  for (const char c : key)
    out += c == '~' ? std::string("~0") : c == '/' ? std::string("~1") : std::string(1, c);
  return out;
}

}  // namespace

body_reader::body_reader(const std::string& text, std::string at) : at_(std::move(at)) {
  if (const auto sound = check_json(text, max_json_depth); !sound) {
    faults_.push_back({at_, sound.error().message});
    return;
  }
  tree_ = json::parse(text, nullptr, false);
  if (!tree_.is_object()) faults_.push_back({at_, "must be a JSON object"});
}

const body_reader::json* body_reader::any(std::string_view key) {
  asked_.emplace_back(key);
  if (!tree_.is_object()) return nullptr;
  const auto found = tree_.find(key);
  return found == tree_.end() || found->is_null() ? nullptr : &*found;
}

std::optional<std::string> body_reader::text(std::string_view key) {
  const auto* at = any(key);
  if (!at) return std::nullopt;
  if (at->is_string()) return at->get<std::string>();
  fault(key, "must be a text");
  return std::nullopt;
}

std::optional<std::uint64_t> body_reader::number(std::string_view key, std::uint64_t most) {
  const auto* at = any(key);
  if (!at) return std::nullopt;
  if (at->is_number_unsigned() && at->get<std::uint64_t>() <= most) return at->get<std::uint64_t>();
  fault(key, cat("must be a whole number of 0 to ", most));
  return std::nullopt;
}

std::optional<std::vector<std::string>> body_reader::texts(std::string_view key, std::size_t most) {
  const auto* at = any(key);
  if (!at) return std::nullopt;
  std::vector<std::string> all;
  bool is_fine = at->is_array() && !at->empty() && at->size() <= most;
  for (std::size_t i = 0; is_fine && i < at->size(); ++i) {
    is_fine = (*at)[i].is_string();
    if (is_fine) all.push_back((*at)[i].get<std::string>());
  }
  if (is_fine) return all;
  fault(key, cat("must be a list of 1 to ", most, " texts"));
  return std::nullopt;
}

std::vector<std::pair<std::string, std::string>> body_reader::pairs(std::string_view key) {
  std::vector<std::pair<std::string, std::string>> all;
  const auto* at = any(key);
  if (!at) return all;
  bool is_fine = at->is_object();
  if (is_fine)
    for (const auto& [name, value] : at->items()) {
      is_fine = is_fine && value.is_string();
      if (is_fine) all.emplace_back(name, value.get<std::string>());
    }
  if (!is_fine) fault(key, "must be an object whose values are texts");
  return all;
}

void body_reader::fault(std::string_view key, std::string problem) {
  faults_.push_back({cat(at_, "/", escaped(key)), std::move(problem)});
}

std::optional<http_response> body_reader::wrong() {
  if (tree_.is_object())
    for (const auto& [key, value] : tree_.items()) {
      if (std::find(asked_.begin(), asked_.end(), key) != asked_.end()) continue;
      const auto meant = nearest(key, asked_);
      fault(key, meant ? cat("is not known; did you mean '", *meant, "'?") : std::string("is not known"));
    }
  if (faults_.empty()) return std::nullopt;
  return wrong_body(faults_);
}

}  // namespace sluice::web
