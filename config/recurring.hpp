// Reads `recurring`: schedules by name. `text` is what the tree was read from, without what was laid over it.
#pragma once

#include "config/reader.hpp"

namespace sluice::config {

void read_recurring(reader& from, const checks& by, const std::string& text, server_options& options);

}  // namespace sluice::config
