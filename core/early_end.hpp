// What a handler asked to end as, and nobody has caught yet.
#pragma once

#include <optional>

#include <sluice/handler.hpp>

namespace sluice {

// Of this thread; from now on there is none.
std::optional<run_end> take_early_end();

}  // namespace sluice
