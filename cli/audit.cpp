#include <cstdio>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "core/text.hpp"
#include "storage/store.hpp"

namespace sluice::cli {
int audit(const command& c) {
  const auto store = storage::open_store(c.store, nullptr, mode_of(c));
  if (!store) return failed(store.error());
  const auto findings = (*store)->audit();
  if (!findings) return failed(findings.error());
  for (const auto& finding : *findings) {
    const auto line = c.json ? "{\"finding\":" + json_quoted(finding) + "}" : printable(finding);
    std::fprintf(stdout, "%s\n", line.c_str());
  }
  if (!c.json && findings->empty()) std::fprintf(stdout, "nothing is wrong\n");
  return findings->empty() ? 0 : 1;
}

}  // namespace sluice::cli
