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

// Something that is gone through, as the script names it.
struct place {
  std::string what, key;
};

// What lua/shared/mendable_rules.lua has rules for, in the order in which it is mended: first what the others are
// mended by. A group is counted when its members are right, and who awaits is released when its parents are known.
constexpr std::array<std::string_view, 8> mendable{"queues", "members", "held_keys", "flow",
                                                   "after",  "groups",  "agenda",    "awaiting"};

// Behind all keys, of which some are places of their own, and what cannot be mended.
std::size_t turn_of(std::string_view what) {
  if (what == "all" || what == "keys") return 0;
  const auto* found = std::find(mendable.begin(), mendable.end(), what);
  return found == mendable.end() ? 1 : 2 + static_cast<std::size_t>(found - mendable.begin());
}

enum class doing : std::uint8_t { look, mend };

// Tells each finding, and what was done about it if something was; ends when the answer is false.
using telling = std::function<bool(std::string finding, std::string done)>;

result<void> go_through(const asking& ask, doing what_to_do, const telling& tell) {
  std::map<std::size_t, std::deque<place>> left;  // by turn
  left[0].push_back({"all", ""});
  bool goes_on = true;
  while (goes_on && !left.empty()) {
    const auto turn = left.begin()->first;
    const auto at = std::move(left.begin()->second.front());
    left.begin()->second.pop_front();
    if (left.begin()->second.empty()) left.erase(left.begin());
    std::string cursor = "0";
    do {
      call c(what_to_do == doing::mend && turn > 1 ? script::repair : script::audit);
      c.add(at.what).add(at.key).add(cursor).add(slice);
      cursor = "0";
      const auto asked = ask(std::move(c), [&](const item& reply) {
        if (reply.size() < 3) return;
        cursor = reply[0].text();
        for (std::size_t i = 0; i < reply[1].size(); ++i)
          goes_on = tell(printable(reply[1][i].text(), 500),
                         reply.size() > 3 ? printable(reply[3][i].text(), 500) : std::string()) &&
                    goes_on;
        for (std::size_t i = 0; i + 2 <= reply[2].size(); i += 2) {
          const auto what = reply[2][i].text();
          left[turn_of(what)].push_back({std::string(what), std::string(reply[2][i + 1].text())});
        }
      });
      if (asked) continue;
      // A key of another type than it should be: what else there is can be looked at all the same.
      if (asked.error().code != errc::storage_damaged || at.what == "all") return asked.error();
      goes_on = tell(printable(cat(at.what, " ", at.key, " cannot be looked at: ", asked.error().message), 500), "") &&
                goes_on;
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

result<std::vector<repaired_finding>> repair(const asking& ask) {
  std::vector<repaired_finding> all;
  std::set<std::string> known, told;
  for (bool has_mended = true; has_mended;) {
    has_mended = false;
    told.clear();
    const auto gone = go_through(ask, doing::mend, [&](std::string finding, std::string done) {
      told.insert(finding);
      if (known.insert(finding).second) {
        has_mended = has_mended || !done.empty();
        all.push_back({std::move(finding), std::move(done)});
      }
      return told.size() < max_findings;
    });
    if (!gone) return gone.error();
  }
  const bool is_whole = told.size() < max_findings;
  for (auto& one : all)
    if (told.contains(one.finding)) one.done.clear();
    else if (one.done.empty() && is_whole) one.done = "it is right by what else was done";
  if (!is_whole) all.push_back({words_for_more, ""});
  return all;
}

void cut_findings(std::vector<std::string>& findings) {
  if (findings.size() < max_findings) return;
  findings.resize(max_findings);
  findings.emplace_back(words_for_more);
}

}  // namespace sluice::storage::machine
