#include "cli/exec/children.hpp"

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <vector>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sluice::exec {
namespace {

std::mutex guards_own;
std::vector<pid_t> own_children;  // that nobody has waited for

bool is_own(pid_t pid) { return std::find(own_children.begin(), own_children.end(), pid) != own_children.end(); }

// Whoever holds the mutex. The kernel shows one ended child, the same each time until it is waited for. Where that one
// is our own, its wait_for() goes on from here.
void reap_held() {
  if (!adopts_orphans()) return;
  for (;;) {
    siginfo_t seen{};
    if (::waitid(P_ALL, 0, &seen, WEXITED | WNOHANG | WNOWAIT) != 0 || seen.si_pid == 0 || is_own(seen.si_pid)) return;
    ::waitpid(seen.si_pid, nullptr, WNOHANG);
  }
}

}  // namespace

pid_t fork_own() {
  const std::lock_guard hold(guards_own);  // no orphans are reaped before the child is known as ours
  own_children.reserve(own_children.size() + 1);
  const pid_t made = ::fork();
  if (made > 0) own_children.push_back(made);
  return made;
}

bool has_ended(pid_t own) {
  siginfo_t seen{};
  if (::waitid(P_PID, static_cast<id_t>(own), &seen, WEXITED | WNOWAIT | WNOHANG) != 0) return errno == ECHILD;
  return seen.si_pid == own;
}

void await_end(pid_t own) {
  siginfo_t seen{};
  while (::waitid(P_PID, static_cast<id_t>(own), &seen, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
}

int wait_for(pid_t own) {
  await_end(own);  // outside of the mutex, which others need meanwhile
  const std::lock_guard hold(guards_own);
  int status = 0;
  while (::waitpid(own, &status, 0) < 0 && errno == EINTR) {
  }
  std::erase(own_children, own);
  reap_held();
  return status;
}

bool adopts_orphans() {
  int is_subreaper = 0;
  return ::getpid() == 1 || (::prctl(PR_GET_CHILD_SUBREAPER, &is_subreaper) == 0 && is_subreaper != 0);
}

void reap_orphans() {
  const std::lock_guard hold(guards_own);
  reap_held();
}

}  // namespace sluice::exec
