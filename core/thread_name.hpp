// Names of threads, as debuggers and `ps -T` show them.
#pragma once

#include <string>

#include <pthread.h>

namespace sluice {

// At most 15 characters.
inline void name_this_thread(const char* name) { ::pthread_setname_np(::pthread_self(), name); }

inline std::string name_of_this_thread() {
  char name[16] = {};
  ::pthread_getname_np(::pthread_self(), name, sizeof name);
  return name;
}

}  // namespace sluice
