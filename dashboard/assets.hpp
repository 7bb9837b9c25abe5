// The files of the pages, under one hash of all of them, so that a browser never has parts of two versions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sluice::web {

// As they were when this was built. The list of names is closed.
struct asset {
  std::string_view name, type;
  std::string_view plain, packed;  // by gzip
};
struct built_assets {
  std::string_view hash;
  std::span<const asset> all;
};
const built_assets& built_in();

// As they are served: these; or, built to be debugged, as the same files stand in the source tree now, which are not
// packed. Throws when such a file cannot be read.
struct served_asset {
  std::string_view type;
  std::string plain, packed;
};
std::string hash_of_assets();
std::optional<served_asset> find_asset(std::string_view name);

}  // namespace sluice::web
