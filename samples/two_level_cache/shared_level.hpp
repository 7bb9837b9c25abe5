// The second level of the cache: what all processes see. An entry is a head, which says how long it counts as fresh,
// and its pages; a single value has one page.
//
// Every write carries the fence of the lock that its writer holds, and one that is lower than that of an earlier writer
// of the entry is refused: a writer that was frozen, and whose lock another has now, changes nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <sluice/types.hpp>

namespace sample {

struct cached_head {
  sluice::fence fence{};              // of the rebuild that was completed last; pages below it are of earlier ones
  std::uint32_t pages = 0;            // numbered from 1
  sluice::time_point active_until{};  // the state's time to live: from then on it should be rebuilt
};

struct cached_page {
  std::shared_ptr<const std::string> value{};
  sluice::fence fence{};      // of the rebuild that wrote it
  sluice::time_point ends{};  // the data's time to live: until then it may be read
};

// All calls may be made from any thread and throw std::runtime_error when the level cannot be reached.
class shared_level {
public:
  virtual ~shared_level() = default;

  // None: no rebuild was ever completed. Pages may be there before: the first rebuild shows them as they come.
  virtual std::optional<cached_head> head(const std::string& key) = 0;
  // Also one whose time is over.
  virtual std::optional<cached_page> page(const std::string& key, std::uint32_t number) = 0;

  // Replaces a page at once. False: one with a higher fence has written, and nothing was changed.
  virtual bool store(const std::string& key, std::uint32_t number, const cached_page& content) = 0;
  // Ends a rebuild: its pages may be read until `ends`, those above `pages` are gone. False: as above.
  virtual bool complete(const std::string& key, const cached_head& head, sluice::time_point ends) = 0;
  // Drops what may not be read any more, of all entries.
  virtual void prune(sluice::time_point now) = 0;
};

}  // namespace sample
