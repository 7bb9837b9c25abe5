// What people can do about an error that Redis answers.
#pragma once

#include <string>
#include <string_view>

namespace sluice::storage::redis {

// What is told behind the words of Redis, from "; " on. Empty for those that say it themselves.
std::string help_with(std::string_view what);

// Of an error's message: somebody has to change the URL, or Redis's settings, before it can be opened.
bool needs_a_person(std::string_view message);

}  // namespace sluice::storage::redis
