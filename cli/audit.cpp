#include <algorithm>
#include <cstdio>

#include <sluice/client.hpp>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/words.hpp"
#include "core/text.hpp"
#include "storage/store.hpp"

namespace sluice::cli {
namespace {

// In the operator log, with the first of what was mended. The repair stands, whatever becomes of its note.
void note(storage::store& store, const command& c, const std::vector<storage::repaired_finding>& found) {
  storage::log_action_request noted{options_of(c).by, "repair", {}, 0};
  for (const auto& one : found) {
    if (one.done.empty()) continue;
    ++noted.count;
    if (noted.about.size() < storage::max_about) noted.about.push_back(one.finding);
  }
  if (noted.count == 0) return;
  const auto answers = store.apply(std::vector<storage::request>{std::move(noted)});
  if (const auto* failed = std::get_if<error>(&answers.at(0)))
    std::fprintf(stderr, "sluice: it was done, and could not be noted in the operator log: %s\n",
                 printable(to_string(*failed)).c_str());
}

int repair(storage::store& store, const command& c) {
  const auto found = store.repair();
  if (!found) return failed(found.error());
  note(store, c, *found);
  for (const auto& [finding, done] : *found)
    print_line(c.json ? cat("{\"finding\":", json_quoted(finding),
                            ",\"repaired\":", done.empty() ? "null" : json_quoted(done), "}")
                      : printable(cat(finding, done.empty() ? "; left as it is" : "; repaired: ", done)));
  if (!c.json && found->empty()) print_line("nothing is wrong");
  return std::all_of(found->begin(), found->end(), [](const auto& one) { return !one.done.empty(); }) ? 0 : 1;
}

}  // namespace

int audit(const command& c) {
  const auto store = storage::open_store(c.store, nullptr, mode_of(c));
  if (!store) return failed(store.error());
  if (c.repair) return repair(**store, c);
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
