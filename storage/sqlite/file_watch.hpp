// Wakes this process when another one wrote to a file, by inotify.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "storage/store.hpp"

namespace sluice::storage::sqlite {

// Null, and a line in the log, when the system has no watch to give: the sweep still finds work.
std::unique_ptr<watch> watch_file(const std::string& path, std::function<void()> changed);

}  // namespace sluice::storage::sqlite
