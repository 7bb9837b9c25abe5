// Reads `recurring`: schedules by name.
#pragma once

#include "config/reader.hpp"

namespace sluice::config {

void read_recurring(reader& from, const checks& by, server_options& options);

}  // namespace sluice::config
