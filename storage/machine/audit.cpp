#include "storage/machine/audit.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <set>

#include "core/text.hpp"

namespace sluice::storage::machine {
namespace {

constexpr std::uint32_t slice = 100;

// Something that is gone through, as the rules name it.
struct audit_turn {
  std::string what, key;
};

// What rules/mending.lua has rules for, in the order in which it is mended: first what the others are
// mended by: each job has a place. A group is counted when its members are right, and who awaits is released when its
// parents are known.
constexpr std::array<std::string_view, 11> mendable{"unplaced", "queues", "members",  "held_keys", "flow", "after",
                                                    "groups",   "agenda", "awaiting", "permit",    "count"};

// Behind all keys, of which some are places of their own, and what cannot be mended.
std::size_t turn_of(std::string_view what) {
  if (what == "all" || what == "keys") return 0;
  const auto* found = std::find(mendable.begin(), mendable.end(), what);
  return found == mendable.end() ? 1 : 2 + static_cast<std::size_t>(found - mendable.begin());
}

enum class doing : std::uint8_t { look, mend };

// Told each finding, and what was done about it if something was; it ends when the answer is false.
using hearing = std::function<bool(std::string finding, std::string done)>;

result<void> go_through(const asking& ask, doing what_to_do, const hearing& hear) {
  std::map<std::size_t, std::deque<audit_turn>> left;  // by turn
  left[0].push_back({"all", ""});
  bool goes_on = true;
  while (goes_on && !left.empty()) {
    const auto turn = left.begin()->first;
    const auto at = std::move(left.begin()->second.front());
    left.begin()->second.pop_front();
    if (left.begin()->second.empty()) left.erase(left.begin());
    std::string cursor = "0";
    do {
      call c(what_to_do == doing::mend && turn > 1 ? verb::repair : verb::audit);
      c.add(at.what).add(at.key).add(cursor).add(slice);
      cursor = "0";
      std::vector<repaired_finding> found;  // told once the step stands
      const auto asked = ask(std::move(c), [&](const item& reply) {
        if (reply.size() < 3) return;
        cursor = reply[0].text();
        for (std::size_t i = 0; i < reply[1].size(); ++i)
          found.push_back({printable(reply[1][i].text(), 500),
                           reply.size() > 3 ? printable(reply[3][i].text(), 500) : std::string()});
        for (std::size_t i = 0; i + 2 <= reply[2].size(); i += 2) {
          const auto what = reply[2][i].text();
          left[turn_of(what)].push_back({std::string(what), std::string(reply[2][i + 1].text())});
        }
      });
      if (!asked) {
        // A key of another type than it should be: what else there is can be looked at all the same.
        if (asked.error().code != errc::storage_damaged || at.what == "all") return asked.error();
        cursor = "0";
        found = {{printable(cat(at.what, " ", at.key, " cannot be looked at: ", asked.error().message), 500), ""}};
      }
      std::set<std::string> heard;  // a slice may come upon something twice
      for (auto& one : found)
        if (heard.insert(one.finding).second) goes_on = hear(std::move(one.finding), std::move(one.done)) && goes_on;
    } while (cursor != "0" && goes_on);
  }
  return {};
}

}  // namespace

result<std::vector<std::string>> audit(const asking& ask) {
  std::vector<std::string> findings;
  std::set<std::string> told;  // a scan may come upon something twice
  const auto gone = go_through(ask, doing::look, [&](std::string finding, const std::string&) {
    if (findings.size() < max_findings && told.insert(finding).second) findings.push_back(std::move(finding));
    return findings.size() < max_findings;
  });
  if (!gone) return gone.error();
  cut_findings(findings);
  return findings;
}

result<void> repair(const asking& ask, const telling& tell) {
  std::set<std::string> left, left_before;  // by this pass, and by those before it
  bool are_all = true, has_mended = true;
  for (int pass = 0; has_mended && pass < max_passes; ++pass) {
    left_before.merge(left);
    left.clear();
    are_all = true;
    has_mended = false;
    auto gone = go_through(ask, doing::mend, [&](std::string finding, std::string done) {
      if (!done.empty()) {
        has_mended = true;
        left_before.erase(finding);
        tell({std::move(finding), std::move(done)});
      } else if (left.size() < max_findings || left.contains(finding)) {
        left.insert(std::move(finding));
      } else {
        are_all = false;
      }
      return true;
    });
    if (!gone) return gone;
  }
  for (const auto& finding : left_before)
    if (are_all && !left.contains(finding)) tell({finding, "it is right by what else was done"});
  for (const auto& finding : left)
    tell({finding, ""});
  if (!are_all) tell({words_for_more_left, ""});
  if (has_mended) tell({words_for_more_passes, ""});
  return {};
}

void cut_findings(std::vector<std::string>& findings) {
  if (findings.size() < max_findings) return;
  findings.resize(max_findings);
  findings.emplace_back(words_for_more);
}

}  // namespace sluice::storage::machine
