// What people can do about an error that Redis answers.
#pragma once

#include <string>
#include <string_view>

namespace sluice::storage::redis {

// What is told behind the words of Redis, from "; " on. Empty for those that say it themselves.
std::string help_with(std::string_view what);

}  // namespace sluice::storage::redis
