#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "storage/store.hpp"

namespace sluice::cli {

namespace {

// Names of libraries have letters, digits and _ alone.
std::string in_json(const std::vector<std::string>& names) {
  std::string all;
  for (const auto& name : names)
    all += cat(all.empty() ? "[\"" : ",\"", name, "\"");
  return all.empty() ? "[]" : all + "]";
}

// Of libraries that other versions have left in this Redis, which other programs may share.
void tell_of(const std::vector<std::string>& libraries, bool deleted) {
  for (const auto& name : libraries)
    print_line(cat(deleted ? "deleted" : "there is", " the library ", name, " of another version"));
  if (!libraries.empty())
    print_line(deleted ? "a program that still uses one of them loads it again, if it may and Redis has room"
                       : "once no program of these versions uses this Redis, `sluice upgrade --yes` deletes them");
}

}  // namespace

int upgrade(const command& c) {
  const auto said = storage::raise_layout(c.store);
  if (!said) return failed(said.error());
  if (!said->waits_for.empty()) return failed(storage::waits_for_servers(c.store, *said));
  const auto others = storage::other_libraries(c.store, c.yes);
  if (c.json) {
    print_line(cat("{\"from\":", said->from, ",\"to\":", said->to, ",\"other_libraries\":",
                   others ? in_json(*others) : "null", ",\"deleted\":", others && c.yes ? "true" : "false", "}"));
  } else {
    if (said->from == said->to) print_line(cat("the store has layout ", said->to, " already"));
    else print_line(cat("the store was raised from layout ", said->from, " to ", said->to));
    tell_of(others ? *others : std::vector<std::string>(), c.yes);
  }
  return others ? 0 : failed(others.error());
}

}  // namespace sluice::cli
