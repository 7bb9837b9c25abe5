// What a window remembers: how many runs each key had in each bucket of the store's time. Buckets are aligned to the
// unix epoch. Pure values; instants and widths are whole microseconds.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/throttling.hpp>

namespace sluice::throttling {

// How time is cut: bucket i is [i * width, (i + 1) * width). A run counts in its own bucket and in the `spans` after
// it.
struct grid {
  std::int64_t width = 1;
  std::int64_t buckets = 1;  // of an interval
  std::int64_t spans = 0;

  std::int64_t interval() const { return buckets * width; }
  std::int64_t bucket_of(std::int64_t instant) const;
  std::int64_t begin_of(std::int64_t bucket) const { return bucket * width; }
};

// An interval that cannot be cut into equal buckets of whole microseconds is counted as one that can, longer by less
// than a microsecond a bucket.
grid grid_of(const throttler& definition);

struct bucket_count {
  std::int64_t bucket = 0;
  std::uint64_t count = 0;  // never 0
};

struct key_counts {
  std::string key;
  std::vector<bucket_count> buckets;  // the oldest first, never empty
};

struct counts {
  std::int64_t width = 1;
  std::int64_t newest = 0;                // the present bucket; it is never rewound
  std::optional<std::int64_t> lost{};     // nothing is known of what was before this instant
  std::optional<std::int64_t> dropped{};  // the end of the last bucket whose counts were let go
  std::vector<key_counts> keys;           // in order of activation

  // Where the clock stands, or would if it had not been set back.
  std::int64_t at(time_point now) const;
};

// The form in the store: of use to `load` only. Its size goes with what counts, not with the number of buckets.
std::string write(const counts& kept);

// The state as it is at `now`, without what counts no more. What cannot be read is lost. "" has never counted anything.
// - A clock that stands behind the newest bucket is taken for that bucket's begin, so that setting it back grants
//   nothing twice. If it stands behind by more than all that is summed and one interval, that would stop everything
//   until it is there again, perhaps for a year. Then the instants that the counts bear mean nothing any more, and they
//   are lost instead: by then at most one interval is waited. So after a clock was set back starts are late, never too
//   many.
// - Counts of another grid, after the definition was changed, move into this one as if each run had been at the last
//   instant of its old bucket, but not after now: some count longer than they need, none shorter.
counts load(const grid& by, std::string_view state, time_point now);

// Until then nothing may start, since what was before `lost` or `dropped` could still be within an interval that also
// holds a run of now. `dropped` matters only to an interval that was made longer.
std::int64_t full_until(const grid& by, const counts& kept);

}  // namespace sluice::throttling
