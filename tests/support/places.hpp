// Where the tests' own programs and the source tree are. Paths stand in one unit, places.cpp: on the command line of
// each test they would keep a compiler's cache from serving another folder.
#pragma once

#include <string>
#include <string_view>

namespace sluice::test {

// A file or folder of the source tree; by itself the tree.
std::string source_path(std::string_view inside = {});

// A file that the build made, in its folder.
std::string built_path(std::string_view inside);

// What the build put beside the running test: a program, or a library to preload.
std::string program_path(std::string_view name);

}  // namespace sluice::test
