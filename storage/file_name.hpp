// What a file is called, whatever led to it.
#pragma once

#include <string>

namespace sluice::storage {

// The one name of a file: absolute, without links. So it is also for a file that is not there yet and that a link
// names already, since its lock stands beside what the link leads to.
std::string real_name(const std::string& path);

}  // namespace sluice::storage
