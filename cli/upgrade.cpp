#include <cstdio>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "storage/store.hpp"

namespace sluice::cli {

int upgrade(const command& c) {
  const auto said = storage::raise_layout(c.store);
  if (!said) return failed(said.error());
  if (!said->waits_for.empty()) return failed(storage::waits_for_servers(c.store, *said));
  if (c.json) print_line(cat("{\"from\":", said->from, ",\"to\":", said->to, "}"));
  else if (said->from == said->to) print_line(cat("the store has layout ", said->to, " already"));
  else print_line(cat("the store was raised from layout ", said->from, " to ", said->to));
  return 0;
}

}  // namespace sluice::cli
