#include <cstdio>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "core/log.hpp"
#include "storage/store.hpp"

namespace sluice::cli {
namespace {

int failed(const error& e) {
  std::fprintf(stderr, "sluice: %s\n", printable(log::redact(to_string(e))).c_str());
  return 1;
}

}  // namespace

int audit(const command& c) {
  const auto store = storage::open_store(c.store);
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
