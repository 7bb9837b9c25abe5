// A fork copies what SQLite remembers of open files and of its locks on them; the kernel gives the child none of those
// locks. A connection that the child opened to such a file would rely on locks which nobody holds, and the parent's
// last close would remove the log under it, with what the child has committed. So the child is refused.
#pragma once

#include <string>

namespace sluice::storage::sqlite {

struct opened_file;

// Held as long as this process has a file open. What is in memory, or not there, is nobody's.
class open_here {
public:
  explicit open_here(const std::string& path);
  ~open_here();
  open_here(const open_here&) = delete;

private:
  opened_file* file_ = nullptr;
};

// Throws failure where a process that this one was forked from had the file open at the fork.
void refuse_inherited(const std::string& path);

}  // namespace sluice::storage::sqlite
