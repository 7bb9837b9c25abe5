// A throttler that is an actor: it learns how many calls the bank bears. And the actor that owns it.
#pragma once

#include <sluice/actors.hpp>

namespace sample {

// The most it ever lets in: fewer than the bank bears in all, so that jobs of other types find room beside these.
inline constexpr unsigned max_inside = 4;

using up_atom = caf::atom_constant<caf::atom("up")>;
using kill_atom = caf::atom_constant<caf::atom("kill")>;
using count_atom = caf::atom_constant<caf::atom("count")>;

// Takes:
//   (up_atom, server_actor)    the server is there: spawns a doorman and names it
//   (kill_atom)                kills the doorman, to see what comes of it; another is there a moment later
//   (count_atom)               passed on to the doorman, who answers how many he lets in at once and how many are
//                              inside; an error while there is none
caf::behavior owner_of_doorman(caf::event_based_actor* self);

}  // namespace sample
