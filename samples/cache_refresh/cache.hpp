// The caches that the jobs fill: a folder with one JSON file for each entry.
#pragma once

#include <filesystem>
#include <string>

#include <sluice/types.hpp>

namespace sample {

class cache {
public:
  // Makes the folder. Throws std::filesystem::filesystem_error.
  explicit cache(std::filesystem::path folder);

  // Replaces the whole entry at once: readers see the old text or the new, and a second run does no harm. The fence is
  // for the name of the file on its way, which two runs of one job must not share. Throws std::runtime_error.
  void write(const std::string& name, sluice::fence fence, const std::string& text) const;

private:
  std::filesystem::path folder_;
};

}  // namespace sample
