// A small process that outlives ours by a moment: when this process ends, by whatever signal, the
// kernel closes its end of a pipe, and the guard kills every process group written into it.
#pragma once

#include <memory>

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

  // What a child says between fork and exec, so async-signal-safe.
  class words {
  public:
    // Its group dies with this process. It holds the pipe open until exec, so its word arrives before the end of the
    // pipe does. False when the guard is gone, or reads nothing.
    bool enter(pid_t group) const noexcept;

  private:
    friend class guard;
    explicit words(int pipe) : pipe_(pipe) {}
    int pipe_;
  };
  words to_guard() const;

  // The same by us, for a guard that is started anew. Any thread.
  void note(pid_t group);
  // The group has ended. Call it before its leader is reaped: then its number is still ours.
  void leave(pid_t group) noexcept;
  // In place of one that its commands, which may be of our user, have ended or stopped: it learns of all groups.
  void renew();

private:
  struct parts;
  explicit guard(std::unique_ptr<parts> p);
  std::unique_ptr<parts> parts_;
};

}  // namespace sluice::exec
