// What statics are made of that somebody may use until the process is gone: a server of static lifetime stops when its
// program ends, and whatever was made after the server is destroyed before that.
#pragma once

#include <utility>

namespace sluice {

// A pointer: GCC 14 takes a reference that is answered for one to a temporary of the arguments.
template <class T, class... With>
T* never_destroyed(With&&... with) {
  return new T(std::forward<With>(with)...);
}

}  // namespace sluice
