// Who should look, since something changed: the supervisors of queues that got work, the timers, when something may
// fall due sooner than they know, and whoever runs jobs, when one of them was asked to end.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

namespace sluice::storage {

struct hint {
  std::set<std::string, std::less<>> queues{};
  bool all_queues = false;
  bool timers = false;
  bool cancels = false;

  // That there may be work; and whatever there may be.
  static hint of_any_work() { return {{}, true, true, false}; }
  static hint for_everybody() { return {{}, true, true, true}; }

  bool operator==(const hint&) const = default;
  explicit operator bool() const { return has_work() || cancels; }
  bool has_work() const { return all_queues || timers || !queues.empty(); }

  void add_queue(std::string_view name) {
    if (!queues.contains(name)) queues.emplace(name);
  }

  void add(const hint& other) {
    queues.insert(other.queues.begin(), other.queues.end());
    all_queues = all_queues || other.all_queues;
    timers = timers || other.timers;
    cancels = cancels || other.cancels;
  }

  // As a call says it (rules/hints.lua): names with spaces between, * for all queues, @ for the timers,
  // ! for what was asked to end.
  void add_encoded(std::string_view words) {
    while (!words.empty()) {
      const auto word = words.substr(0, words.find(' '));
      words.remove_prefix(std::min(word.size() + 1, words.size()));
      if (word == "*") all_queues = true;
      else if (word == "@") timers = true;
      else if (word == "!") cancels = true;
      else if (!word.empty()) add_queue(word);
    }
  }
};

}  // namespace sluice::storage
