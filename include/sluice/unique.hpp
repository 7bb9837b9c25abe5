/// Unique keys: not the same job twice. docs/unique.md
#pragma once

#include <cstdint>
#include <string>

#include <sluice/types.hpp>

namespace sluice {

/// How long a job has its unique key.
enum class unique_until : std::uint8_t {
  end,     ///< Until it has ended for good, through its retries.
  start,   ///< Until it is claimed to be run. It has it again when that run came to nothing and nobody else has it.
  period,  ///< For `unique_rule::period` from its enqueue on, whatever becomes of it.
};
/// What is done with a new job when another has its key.
enum class when_taken : std::uint8_t {
  skip,      ///< It is not stored; the other stands for it.
  refuse,    ///< `unique_conflict`.
  replace,   ///< The other is deleted, and this one stored in its place, in one step. As skip, when the other runs.
  extend,    ///< As skip, and a scheduled other is due this one's delay from now.
  coalesce,  ///< As skip while the other waits. While it runs, this one waits for its end, in place of whoever did so.
};
/// Of all jobs of a type with one key, one at a time is stored. It is no mutex: of two with `until` start, both may
/// run. `type_options::without_overlap` has them run one at a time. docs/unique.md
struct unique_rule {
  /// A template over args, as "{customer_id}": jobs for which it gives the same text have one key. Empty, or "*": all
  /// args, byte by byte. "constant:TEXT": one key for all jobs of the type. Without a placeholder, and without one of
  /// these, it is `invalid_argument`.
  std::string by{};
  unique_until until = unique_until::end;
  duration period{0};  ///< 1 ms to 10 years, with `unique_until::period`.
  when_taken then = when_taken::skip;
  bool per_queue = false;  ///< Of one queue only.
  duration at_most{0};     ///< Of extend alone: never due later than so long after its own enqueue. 0: however late.
};

}  // namespace sluice
