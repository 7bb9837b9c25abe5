/// The version of the library these headers belong to, and the language that they need.
#pragma once

#define SLUICE_VERSION "0.1.0"

#if __cplusplus < 202002L && !(defined _MSVC_LANG && _MSVC_LANG >= 202002L)
#error "Sluice needs C++20: compile with -std=c++20, or by CMake with target_compile_features(app PRIVATE cxx_std_20)"
#include <sluice/needs_cpp20>  // there is none: the compiler ends here, before its errors about all that follows
#endif
