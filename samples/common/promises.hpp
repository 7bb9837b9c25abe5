// What a sample promises and whether it was kept; the exit code says it to scripts.
#pragma once

#include <cstdio>
#include <string>

namespace sample {

class promises {
public:
  void check(bool kept, const std::string& what) {
    std::printf("%s %s\n", kept ? "kept:  " : "BROKEN:", what.c_str());
    broken_ = broken_ || !kept;
  }
  int exit_code() const { return broken_ ? 1 : 0; }

private:
  bool broken_ = false;
};

}  // namespace sample
