// Reads `dashboard`: what is answered over HTTP. Whether it can be is seen when it starts.
#pragma once

#include "config/reader.hpp"

namespace sluice::config {

void read_dashboard(reader& from, const checks& by, server_options& options);
// What is allowed and opens more than it may seem, as sentences.
void warn_of(const dashboard_options& its, const server_options& options, std::vector<std::string>& warnings);

}  // namespace sluice::config
