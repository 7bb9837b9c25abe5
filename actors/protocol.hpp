// Every message between Sluice's actors, one comment each: the protocol is the architecture.
// Payloads that only travel inside the process are shared pointers.
#pragma once

#include <caf/all.hpp>

#include <sluice/actors.hpp>

#include "actors/server_context.hpp"
#include "execution/admission_request.hpp"
#include "execution/supervisor_link.hpp"

namespace sluice::actors {

// The store's answers, which come on its own thread: so they are sent on by message.
using answers_ptr = std::shared_ptr<std::vector<storage::answer>>;

using applied_atom = caf::atom_constant<caf::atom("applied")>;
using hint_atom = caf::atom_constant<caf::atom("hint")>;
using hinted_atom = caf::atom_constant<caf::atom("hinted")>;
using listen_atom = caf::atom_constant<caf::atom("listen")>;
using filters_atom = caf::atom_constant<caf::atom("filters")>;
using again_atom = caf::atom_constant<caf::atom("again")>;
using overdue_atom = caf::atom_constant<caf::atom("overdue")>;
using died_atom = caf::atom_constant<caf::atom("died")>;
using duty_atom = caf::atom_constant<caf::atom("duty")>;
using sweep_atom = caf::atom_constant<caf::atom("sweep")>;
using children_atom = caf::atom_constant<caf::atom("children")>;
using handed_atom = caf::atom_constant<caf::atom("handed")>;
using final_atom = caf::atom_constant<caf::atom("final")>;
using stopped_atom = caf::atom_constant<caf::atom("stopped")>;
using admit_atom = caf::atom_constant<caf::atom("admit")>;
using open_atom = caf::atom_constant<caf::atom("open")>;
using gate_atom = caf::atom_constant<caf::atom("gate")>;
using park_atom = caf::atom_constant<caf::atom("park")>;
using respawn_atom = caf::atom_constant<caf::atom("respawn")>;

using asks_ptr = std::shared_ptr<const std::vector<admission_request>>;
using names_ptr = std::shared_ptr<const std::vector<std::string>>;

// Who of those that look for new work should look.
using hint_ptr = std::shared_ptr<const storage::hint>;

// Reads each hint itself.
using hint_reader_actor = caf::typed_actor<caf::reacts_to<hint_atom, hint_ptr>>;

// The STORAGE ACTOR keeps the way to the store open and passes hints on.
using storage_actor = caf::typed_actor<
    // The store gave a hint: those who read every hint are to be told.
    caf::reacts_to<hinted_atom, bool>,
    // From now on this actor is told of every hint.
    caf::reacts_to<listen_atom, hint_reader_actor>>;

// The GATE has runs admitted: it asks each one's throttlers, one after the other, and keeps Sluice's own alive.
using gate_actor = caf::typed_actor<
    // May these begin? The verdicts go to the dispatchers of their queues as they come.
    caf::reacts_to<admit_atom, asks_ptr>,
    // Runs of types with custom throttlers have ended.
    caf::reacts_to<ended_runs_atom, std::vector<throttled_end>>,
    // Lines of these limiters may be looked at again.
    caf::reacts_to<open_atom, names_ptr>,
    // This actor of the host is the custom throttler of that name.
    caf::reacts_to<set_throttler_actor_atom, std::string, throttler_actor>,
    // Its own timer: ask again about those with this number.
    caf::reacts_to<again_atom, std::uint64_t>>;

// Sluice's own THROTTLERS: one for all permits, since those of a run are one question, and one for each limiter: a
// window, or a limiter of the user's.
using store_throttler_actor = throttler_actor::extend<
    // The store's answers to the question with this number.
    caf::reacts_to<applied_atom, std::uint64_t, answers_ptr>,
    // Its own timer: send the question with this number again.
    caf::reacts_to<again_atom, std::uint64_t>,
    // Its lines may be looked at again.
    caf::reacts_to<open_atom>,
    // These wait in its line, and are asked about again after so many microseconds.
    caf::replies_to<park_atom, std::vector<throttle_request>, std::uint64_t>::with<std::vector<throttle_verdict>>>;

// A SUPERVISOR owns one queue's workers and has its dispatcher claim.
using supervisor_actor = caf::typed_actor<
    // A timer of its dispatcher has come.
    caf::reacts_to<again_atom, timer>,
    // The filters are to be told of stored ends, or asked about rejected runs.
    caf::reacts_to<filters_atom>,
    // The gate was replaced by this one.
    caf::reacts_to<gate_atom, gate_actor>,
    // This run's handler ignores its stop request.
    caf::reacts_to<overdue_atom, std::uint64_t>,
    // Look whether anything was missed, and give back what waits too long.
    caf::reacts_to<sweep_atom>>;

// A WORKER stands for one thread of a pool: it ends when the thread dies, and the other way round. What
// runs on no thread of ours, it asks an actor of the host to run.
using worker_actor = caf::typed_actor<
    // The pool gave it a run that runs elsewhere.
    caf::reacts_to<handed_atom>,
    // Its thread died inside a handler.
    caf::reacts_to<died_atom>>;

// The TICKER does what is due because time passed.
using ticker_actor = caf::typed_actor<
    // Somebody may have scheduled something earlier than we knew, or will claim.
    caf::reacts_to<hint_atom, hint_ptr>,
    // Its own timer; only the latest one counts.
    caf::reacts_to<duty_atom, std::uint64_t>, caf::reacts_to<applied_atom, std::uint64_t, answers_ptr>,
    // The gate was replaced by this one.
    caf::reacts_to<gate_atom, gate_actor>>;

// The FACADE is what a host speaks to (sluice::server_actor), and minds the host's handler actors.
using facade_actor = server_actor::extend<
    // The store's answers to the question with this number.
    caf::reacts_to<applied_atom, std::uint64_t, answers_ptr>,
    // The gate was replaced by this one, or is there.
    caf::reacts_to<gate_atom, gate_actor>,
    // A watched job has ended here.
    caf::reacts_to<final_atom, job_id>,
    // Look for watched jobs that ended elsewhere.
    caf::reacts_to<sweep_atom>,
    // The server has stopped, with so many handlers unfinished.
    caf::reacts_to<stopped_atom, std::uint32_t>>;

// The ROOT keeps all of them alive: whoever dies is replaced.
using root_actor = caf::typed_actor<
    // New queues that match a pattern get their supervisors.
    caf::reacts_to<hint_atom, hint_ptr>,
    // From the ticker, every sweep interval.
    caf::reacts_to<sweep_atom>,
    // The names of the queues that exist, or that have work, for the patterns.
    caf::reacts_to<applied_atom, std::uint64_t, answers_ptr>,
    // Its own timer: replace what died too often just now.
    caf::reacts_to<respawn_atom>,
    // From the lease keeper: in this queue, this run's handler ignores its stop request.
    caf::reacts_to<overdue_atom, std::string, std::uint64_t>,
    // Whom it keeps alive now: the storage actor, the ticker, the gate, the supervisors.
    caf::replies_to<children_atom>::with<std::vector<caf::actor>>>;

}  // namespace sluice::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(sluice::actors::answers_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(sluice::actors::asks_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(sluice::actors::names_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(sluice::actors::hint_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(sluice::execution::timer)
