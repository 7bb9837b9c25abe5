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
void note(storage::store& store, storage::log_action_request noted) {
  if (noted.count == 0) return;
  const auto answers = store.apply(std::vector<storage::request>{std::move(noted)});
  if (const auto* failed = std::get_if<error>(&answers.at(0)))
    cli::note(cat("it was done, and could not be noted in the operator log: ", sentence_of(*failed)));
}

int repair(storage::store& store, const command& c) {
  storage::log_action_request mended{options_of(c).by, "repair", {}, 0};
  bool is_left = false;
  const auto gone = store.repair([&](const storage::repaired_finding& found) {
    const auto& [finding, done] = found;
    if (done.empty()) is_left = true;
    else if (++mended.count <= storage::max_about) mended.about.push_back(finding);
    print_line(c.json ? cat("{\"finding\":", json_quoted(finding),
                            ",\"repaired\":", done.empty() ? "null" : json_quoted(done), "}")
                      : printable(cat(finding, done.empty() ? "; left as it is" : "; repaired: ", done)));
  });
  const bool is_right = gone.ok() && !is_left && mended.count == 0;
  note(store, std::move(mended));
  if (!gone) return failed(gone.error());
  if (!c.json && is_right) print_line("nothing is wrong");
  return is_left ? 1 : 0;
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
