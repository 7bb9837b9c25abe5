// What statics are made of that somebody may use until the process is gone: a server of static lifetime stops when its
// program ends, and whatever was made after the server is destroyed before that.
#pragma once

#include <utility>

namespace sluice {

template <class T, class... With>
T& never_destroyed(With&&... with) {
  return *new T(std::forward<With>(with)...);
}

}  // namespace sluice
