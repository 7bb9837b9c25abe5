/// Options from a file: one JSON document, comments allowed; docs/configuration.md has every key.
#pragma once

#include <string>
#include <vector>

#include <sluice/client.hpp>
#include <sluice/error.hpp>
#include <sluice/options.hpp>

namespace sluice {

/// Reads and checks a configuration. The environment (SLUICE_LEASE, SLUICE_QUEUES__DEFAULT__WORKERS)
/// overrides the file, `sets` ("/queues/default/workers=2") override both. Errors: io_error;
/// invalid_config, whose message has every fault on a line of its own, with its JSON pointer.
result<server_options> load_options(const std::string& path, const std::vector<std::string>& sets = {});

}  // namespace sluice
