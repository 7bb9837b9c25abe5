#include "core/early_end.hpp"

#include <utility>

#include "core/log.hpp"
#include "core/text.hpp"

namespace sluice {
namespace {

thread_local std::optional<run_end> asked;

}  // namespace

void end_early(outcome how) {
  asked = how.what;
  throw ended_early{std::move(how)};
}

std::optional<run_end> take_early_end() { return std::exchange(asked, std::nullopt); }

void warn_of_second_handler(const std::string& type) {
  log::warn("type ", printable(type, 200), " was given a second handler: it takes the place of the first");
}

}  // namespace sluice
