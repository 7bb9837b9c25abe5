/// Where Sluice's own lines go: standard error, from `info` up, unless the program says otherwise. Lines
/// are escaped and secrets in them masked before anybody sees them.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace sluice {

enum class log_level : std::uint8_t { debug, info, warn, error, off };

void set_log_level(log_level least);

/// From now on lines go to `sink`; an empty one is standard error again. It is called from any of
/// Sluice's threads, one or more at a time, and perhaps once more while it is being replaced: it must be
/// quick, bear that, and call nothing of Sluice. What it throws is dropped.
using log_sink = std::function<void(log_level, std::string_view line)>;
void set_log_sink(log_sink sink);

}  // namespace sluice
