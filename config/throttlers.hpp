// What a configuration says of throttlers.
#pragma once

#include "config/reader.hpp"

namespace sluice::config {

// "throttlers" of the whole file: definitions by name.
void read_throttlers(reader& from, server_options& options);

// What one job type says of them. A throttler that the file does not define may stand in the store.
void read_throttling(reader& from, const std::string& type, type_options& job);

}  // namespace sluice::config
