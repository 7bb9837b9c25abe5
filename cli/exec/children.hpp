// The child processes of this process: those that it starts and waits for itself, and those that it was given because
// their parents have ended, as the first process of a container is. Any thread may call these.
#pragma once

#include <sys/types.h>

namespace sluice::exec {

// fork() of a child that its caller waits for by wait_for(): nobody else does, not even when it ends at once.
pid_t fork_own();

// True once such a child has ended; it is still to be waited for.
bool has_ended(pid_t own);
// Returns when it has ended; it is still to be waited for, and its number is its own until then.
void await_end(pid_t own);
// Waits for it, answers its wait status, and then reaps orphans.
int wait_for(pid_t own);

// True for the first process of a container and for what Linux calls a subreaper: others' children become ours.
bool adopts_orphans();
// Waits for those that have ended, so that none stays a zombie. Call it at SIGCHLD where adopts_orphans().
void reap_orphans();

}  // namespace sluice::exec
