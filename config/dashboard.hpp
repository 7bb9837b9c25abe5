// Reads `dashboard`: what is answered over HTTP. Whether it can be is seen when it starts.
#pragma once

#include "config/reader.hpp"

namespace sluice::config {

void read_dashboard(reader& from, const checks& by, server_options& options);

}  // namespace sluice::config
