#include "storage/machine/audit.hpp"

#include <deque>
#include <set>

#include "core/text.hpp"

namespace sluice::storage::machine {
namespace {

constexpr std::uint32_t slice = 100;

// Something that is gone through, as the script names it.
struct place {
  std::string what, key;
};

}  // namespace

result<std::vector<std::string>> audit(const asking& ask) {
  std::vector<std::string> findings;
  std::set<std::string> told;  // a scan may come upon something twice
  const auto tell = [&](std::string finding) {
    if (findings.size() < max_findings && told.insert(finding).second) findings.push_back(std::move(finding));
  };
  std::deque<place> left;
  left.push_back({"all", ""});
  for (; !left.empty() && findings.size() < max_findings; left.pop_front()) {
    std::string cursor = "0";
    do {
      call c(script::audit);
      c.add(left.front().what).add(left.front().key).add(cursor).add(slice);
      cursor = "0";
      const auto asked = ask(std::move(c), [&](const item& reply) {
        if (reply.size() < 3) return;
        cursor = reply[0].text();
        for (std::size_t i = 0; i < reply[1].size(); ++i)
          tell(printable(reply[1][i].text(), 500));
        for (std::size_t i = 0; i + 2 <= reply[2].size(); i += 2)
          left.push_back({std::string(reply[2][i].text()), std::string(reply[2][i + 1].text())});
      });
      if (asked) continue;
      // A key of another type than it should be: what else there is can be looked at all the same.
      if (asked.error().code != errc::storage_damaged || left.front().what == "all") return asked.error();
      tell(printable(cat(left.front().what, " ", left.front().key, " cannot be looked at: ", asked.error().message),
                     500));
    } while (cursor != "0" && findings.size() < max_findings);
  }
  cut_findings(findings);
  return findings;
}

void cut_findings(std::vector<std::string>& findings) {
  if (findings.size() < max_findings) return;
  findings.resize(max_findings);
  findings.emplace_back("there may be more; nothing else was looked at");
}

}  // namespace sluice::storage::machine
