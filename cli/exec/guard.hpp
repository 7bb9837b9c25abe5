// A small process that outlives ours by a moment: when this process ends, by whatever signal, the
// kernel closes its end of a pipe, and the guard kills every process group written into it.
#pragma once

#include <sys/types.h>

#include <sluice/error.hpp>

namespace sluice::exec {

class guard {
public:
  // Forks the guard. Call it before anything else runs in this process.
  static result<guard> start();
  guard(guard&& other) noexcept;
  // The guard sees the end of the pipe and kills what is still registered.
  ~guard();

  // For the child, between fork and exec (async-signal-safe): its group dies with this process. The
  // child holds the pipe open until exec, so its word arrives before the end of the pipe does.
  bool enter(pid_t group) const noexcept;
  // The group has ended. Call it before its leader is reaped: then its number is still ours.
  void leave(pid_t group) const noexcept;

private:
  guard(int pipe, pid_t child) : pipe_(pipe), child_(child) {}
  int pipe_ = -1;
  pid_t child_ = -1;
};

}  // namespace sluice::exec
