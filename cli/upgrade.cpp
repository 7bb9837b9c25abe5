#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "storage/store.hpp"

namespace sluice::cli {

namespace {

// Of libraries that other versions have left in this Redis, which other programs may share.
void tell_of(const std::vector<std::string>& libraries, bool deleted) {
  for (const auto& name : libraries)
    print_line(cat(deleted ? "deleted" : "there is", " the library ", name, " of another version"));
  if (!libraries.empty())
    print_line(deleted ? "a program that still uses one of them loads it again"
                       : "once no program of these versions uses this Redis, `sluice upgrade --yes` deletes them");
}

}  // namespace

int upgrade(const command& c) {
  const auto said = storage::raise_layout(c.store);
  if (!said) return failed(said.error());
  if (!said->waits_for.empty()) return failed(storage::waits_for_servers(c.store, *said));
  const auto others = storage::other_libraries(c.store, c.yes);
  if (c.json) {
    const auto names = nlohmann::json(others ? *others : std::vector<std::string>()).dump();
    print_line(cat("{\"from\":", said->from, ",\"to\":", said->to, ",\"other_libraries\":", names,
                   ",\"deleted\":", others && c.yes ? "true" : "false", "}"));
  } else {
    if (said->from == said->to) print_line(cat("the store has layout ", said->to, " already"));
    else print_line(cat("the store was raised from layout ", said->from, " to ", said->to));
    tell_of(others ? *others : std::vector<std::string>(), c.yes);
  }
  return others ? 0 : failed(others.error());
}

}  // namespace sluice::cli
