#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>

#include <unistd.h>

#include "config/document.hpp"
#include "core/text.hpp"

namespace sluice::config {
namespace {

constexpr std::string_view prefix = "SLUICE_";

// As environment variables can spell it: GAME_CACHE_QUEUE for game-cache-queue.
std::string folded(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::isalnum(c) ? static_cast<char>(std::tolower(c)) : '_'; });
  return text;
}

bool set_at(json& tree, const std::vector<std::string>& path, json value) {
  json* at = &tree;
  for (const auto& key : path) {
    if (at->is_null()) *at = json::object();
    if (!at->is_object()) return false;
    at = &(*at)[key];
  }
  *at = std::move(value);
  return true;
}

// The keys that a variable names, as they stand in the tree where they do.
std::vector<std::string> path_of(const json& tree, const std::string& name) {
  std::vector<std::string> path;
  const json* at = &tree;
  for (std::size_t from = prefix.size(); from <= name.size();) {
    const auto end = std::min(name.find("__", from), name.size());
    auto key = folded(name.substr(from, end - from));
    if (at && at->is_object())
      for (const auto& [existing, below] : at->items())
        if (folded(existing) == key) key = existing;
    at = at && at->is_object() && at->contains(key) ? &at->at(key) : nullptr;
    path.push_back(key);
    from = end + 2;
  }
  return path;
}

// A name that an override adds to those of a map, and that is like one of them, is mostly mistyped: a queue of that
// name would have servers of its own. `file` is what stood before any override; without queues it has the default one.
void warn_of_added(const json& file, const std::vector<std::string>& path, std::string_view said_by, loaded& into) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> things{
      {{"queues", "queue"}, {"jobs", "job type"}, {"throttlers", "throttler"}, {"recurring", "schedule"}}};
  const auto* const thing = std::find_if(things.begin(), things.end(),
                                         [&](const auto& one) { return path.size() >= 2 && one.first == path[0]; });
  if (thing == things.end()) return;
  std::vector<std::string> names;
  if (const auto map = file.find(path[0]); map != file.end() && map->is_object())
    for (const auto& [name, value] : map->items())
      names.push_back(name);
  else if (thing->second == "queue") names.emplace_back("default");
  if (std::find(names.begin(), names.end(), path[1]) != names.end()) return;
  if (const auto meant = nearest(path[1], names))
    into.warnings.push_back(cat(said_by, " adds the ", thing->second, " '", printable(path[1], 200),
                                "', which the file does not have; did you mean '", printable(*meant, 200), "'?"));
}

void apply_variable(json& tree, const json& file, const std::string& name, const std::string& value,
                    const std::vector<std::string>& known, loaded& into) {
  const auto path = path_of(tree, name);
  const auto& first = path.front();
  const bool is_ours = tree.contains(first) || std::find(known.begin(), known.end(), first) != known.end();
  if (!is_ours && !first.empty() && !nearest(first, known)) {
    into.warnings.push_back(
        cat("the environment variable ", printable(name, 200), " names no setting and is left out"));
    return;
  }
  if (first == "storage" && tree.contains(first) && tree[first] != json(value))
    into.warnings.push_back(cat("SLUICE_STORAGE of the environment is stronger than the file: it works on ",
                                printable(value, 300), ", not on ", printable(tree[first].dump(), 300)));
  warn_of_added(file, path, cat("the environment variable ", printable(name, 200)), into);
  if (!set_at(tree, path, value_of(value)))
    into.faults.push_back(
        {"", cat("environment variable ", name, " names a place inside something that is no object")});
}

std::string unescaped(std::string_view key) {
  std::string out;
  for (std::size_t i = 0; i < key.size(); ++i) {
    if (key[i] == '~' && i + 1 < key.size() && (key[i + 1] == '0' || key[i + 1] == '1'))
      out += key[++i] == '0' ? '~' : '/';
    else out += key[i];
  }
  return out;
}

void apply_set(json& tree, const json& file, const std::string& set, loaded& into) {
  const auto sign = set.find('=');
  if (set.empty() || set[0] != '/' || sign == std::string::npos) {
    into.faults.push_back({"", cat("--set ", printable(set, 100), " must look like /queues/default/workers=2")});
    return;
  }
  std::vector<std::string> path;
  const auto pointer = std::string_view(set).substr(0, sign);
  for (std::size_t from = 1; from <= pointer.size();) {
    const auto end = std::min(pointer.find('/', from), pointer.size());
    path.push_back(unescaped(pointer.substr(from, end - from)));
    from = end + 1;
  }
  warn_of_added(file, path, cat("--set ", printable(pointer, 200)), into);
  if (!set_at(tree, path, value_of(set.substr(sign + 1))))
    into.faults.push_back({std::string(pointer), "--set names a place inside something that is no object"});
}

}  // namespace

json value_of(const std::string& text) {
  auto parsed = json::parse(text, nullptr, false);
  return parsed.is_discarded() ? json(text) : parsed;
}

json value_of_words(const std::vector<std::string>& words, const char* example, std::vector<fault>& faults) {
  json value = json::object();
  for (const auto& word : words) {
    const auto sign = word.find('=');
    const auto key = word.substr(0, sign);
    if (sign == std::string::npos || key.empty())
      faults.push_back({"", cat("'", printable(word, 100), "' must look like ", example)});
    else if (value.contains(key)) faults.push_back({"/" + pointer_part(key), "is given twice; keep one"});
    else value[key] = value_of(word.substr(sign + 1));
  }
  return value;
}

json apply_overrides(const json& file, const source& from, const std::vector<std::string>& known, loaded& into) {
  auto tree = file;
  for (const auto& [name, value] : from.environment)
    apply_variable(tree, file, name, value, known, into);
  for (const auto& set : from.sets)
    apply_set(tree, file, set, into);
  return tree;
}

void name_variables(const source& from, const json& file, const json& tree, std::vector<fault>& faults) {
  for (const auto& [name, value] : from.environment) {
    std::string pointer;
    for (const auto& key : path_of(tree, name))
      pointer += "/" + pointer_part(key);
    // A place that the variable names, or one around it that it has made.
    const auto has_set = [&](const std::string& place) {
      return place == pointer ||
             (!place.empty() && pointer.starts_with(place + "/") && !file.contains(json::json_pointer(place)));
    };
    for (auto& f : faults)
      if (has_set(f.pointer)) f.problem += cat(" (set by the environment variable ", printable(name, 200), ")");
  }
}

std::vector<std::pair<std::string, std::string>> environment() {
  std::vector<std::pair<std::string, std::string>> found;
  for (char** at = ::environ; at && *at; ++at) {
    const std::string_view entry(*at);
    const auto sign = entry.find('=');
    if (entry.starts_with(prefix) && sign != std::string_view::npos && sign > prefix.size())
      found.emplace_back(entry.substr(0, sign), entry.substr(sign + 1));
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace sluice::config
