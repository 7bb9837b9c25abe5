/// Where Sluice's own lines go: standard error, from `info` up, unless the program says otherwise. Lines
/// are escaped and secrets in them masked before anybody sees them. Logging never waits: a thread of its own
/// gives the lines out, and those that find no room, because it is held up, are lost. Their number is told by
/// a line of its own, "7 lines of the log were lost", as soon as lines go out again. A program that returns
/// from main or calls exit() waits up to half a second for what is not out yet.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace sluice {

enum class log_level : std::uint8_t { debug, info, warn, error, off };

void set_log_level(log_level least);

/// Of standard error. `text`: `2026-03-08T07:00:00.000Z info MESSAGE`; `json`: one object a line, as
/// `{"time":"2026-03-08T07:00:00.000Z","level":"info","message":"MESSAGE"}`. Levels are debug, info, warning, error.
enum class log_format : std::uint8_t { text, json };

void set_log_format(log_format format);

/// From now on lines go to `sink`, also those that are not out yet; an empty one is standard error again. It is
/// called from the log's own thread, with one line at a time, so that one that blocks stops nothing but the log.
/// What it throws is dropped. Once another has replaced it, at most the call that was under way goes on. Let it own
/// what it uses: it may be called until the process is gone. It must call nothing of Sluice. A child made by
/// fork() has no sink of its parent's, whose locks another thread may have held: its lines go to standard error.
using log_sink = std::function<void(log_level, std::string_view line)>;
void set_log_sink(log_sink sink);

}  // namespace sluice
