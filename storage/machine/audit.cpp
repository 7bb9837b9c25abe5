#include "storage/machine/audit.hpp"

#include <deque>

#include "core/text.hpp"

namespace sluice::storage::machine {
namespace {

constexpr std::uint32_t slice = 100;
constexpr std::size_t most_findings = 1'000;

// Something that is gone through, as the script names it.
struct place {
  std::string what, key;
};

}  // namespace

result<std::vector<std::string>> audit(const asking& ask) {
  std::vector<std::string> findings;
  std::deque<place> left;
  left.push_back({"all", ""});
  for (; !left.empty(); left.pop_front()) {
    std::string cursor = "0";
    do {
      call c(script::audit);
      c.add(left.front().what).add(left.front().key).add(cursor).add(slice);
      cursor = "0";
      const auto asked = ask(std::move(c), [&](const item& reply) {
        if (reply.size() < 3) return;
        cursor = reply[0].text();
        for (std::size_t i = 0; i < reply[1].size(); ++i)
          findings.push_back(printable(reply[1][i].text(), 500));
        for (std::size_t i = 0; i + 2 <= reply[2].size(); i += 2)
          left.push_back({std::string(reply[2][i].text()), std::string(reply[2][i + 1].text())});
      });
      if (!asked) return asked.error();
    } while (cursor != "0" && findings.size() < most_findings);
  }
  return findings;
}

}  // namespace sluice::storage::machine
