// Every message between Sluice's actors, one comment each: the protocol is the architecture.
// Payloads that only travel inside the process are shared pointers.
#pragma once

#include <caf/all.hpp>

#include <sluice/actors.hpp>

#include "actors/engine.hpp"

namespace sluice::actors {

// Requests for the store, and who gets the answers (on the runner's thread, so by message only).
struct store_order {
  std::vector<storage::request> asked;
  std::function<void(std::shared_ptr<std::vector<storage::answer>>)> done;
  bool beside = false;  // as the runner's submit has it
};
using order_ptr = std::shared_ptr<store_order>;
using answers_ptr = std::shared_ptr<std::vector<storage::answer>>;

using submit_atom = caf::atom_constant<caf::atom("submit")>;
using applied_atom = caf::atom_constant<caf::atom("applied")>;
using hint_atom = caf::atom_constant<caf::atom("hint")>;
using hinted_atom = caf::atom_constant<caf::atom("hinted")>;
using listen_atom = caf::atom_constant<caf::atom("listen")>;
using ended_atom = caf::atom_constant<caf::atom("ended")>;
using pump_atom = caf::atom_constant<caf::atom("pump")>;
using store_atom = caf::atom_constant<caf::atom("store")>;
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
using judged_atom = caf::atom_constant<caf::atom("judged")>;
using open_atom = caf::atom_constant<caf::atom("open")>;
using gate_atom = caf::atom_constant<caf::atom("gate")>;
using park_atom = caf::atom_constant<caf::atom("park")>;
using respawn_atom = caf::atom_constant<caf::atom("respawn")>;

// Starts that were claimed and may run only when their throttlers let them in, with what each has already.
struct admission_ask {
  start_ptr start;
  std::vector<std::string> admitted;
};
using asks_ptr = std::shared_ptr<const std::vector<admission_ask>>;

// What became of one. later: its type's policy is not to wait, and it may be let in `after` this. refused: it is
// scheduled again whatever its type's policy, `after` this or later.
struct admission_verdict {
  start_ptr start;
  admission what = admission::granted;
  duration after{0};
  std::string why{};
  std::string resource{};  // later: of which throttler
};
using verdicts_ptr = std::shared_ptr<const std::vector<admission_verdict>>;
using names_ptr = std::shared_ptr<const std::vector<std::string>>;

// Who of those that look for new work should look.
using hint_ptr = std::shared_ptr<const storage::hint>;

// Looks for the work of one queue.
using hinted_actor = caf::typed_actor<caf::reacts_to<hint_atom>>;
// Reads each hint itself.
using hint_reader_actor = caf::typed_actor<caf::reacts_to<hint_atom, hint_ptr>>;

// The STORAGE ACTOR hands requests to the store's runner and spreads hints.
using storage_actor = caf::typed_actor<
    // Apply these; the order says who is told.
    caf::reacts_to<submit_atom, order_ptr>,
    // There may be new work for anybody.
    caf::reacts_to<hint_atom>,
    // The runner gave a hint. Passed on to those whom it concerns.
    caf::reacts_to<hinted_atom>,
    // From the store: of the queues that were looked at, these have jobs that wait.
    caf::reacts_to<hint_atom, names_ptr>,
    // From now on this actor is told of work in that queue, instead of who was told before.
    caf::reacts_to<listen_atom, std::string, hinted_actor>,
    // From now on this actor is told of every hint.
    caf::reacts_to<listen_atom, hint_reader_actor>>;

// Whoever is told what became of claimed starts.
using judged_actor = caf::typed_actor<caf::reacts_to<judged_atom, verdicts_ptr>>;

// The GATE has starts admitted: it asks each one's throttlers, one after the other, and keeps Sluice's own alive.
using gate_actor = caf::typed_actor<
    // May these run? The verdicts go to that actor as they come.
    caf::reacts_to<admit_atom, judged_actor, asks_ptr>,
    // Starts of types with custom throttlers have ended.
    caf::reacts_to<over_atom, std::vector<throttled_end>>,
    // Lines of these cells may be looked at again.
    caf::reacts_to<open_atom, names_ptr>,
    // This actor of the host is the custom throttler of that name.
    caf::reacts_to<throttle_atom, std::string, throttler_actor>,
    // Its own timer: ask again about those with this number.
    caf::reacts_to<again_atom, std::uint64_t>, caf::reacts_to<store_atom, storage_actor>>;

// Sluice's own throttlers. All PERMITS of a start are one question, so one actor answers it.
using permits_actor = throttler_actor::extend<
    // The store's answers to the order with this number.
    caf::reacts_to<applied_atom, std::uint64_t, answers_ptr>,
    // Its own timer: send the order with this number again.
    caf::reacts_to<again_atom, std::uint64_t>, caf::reacts_to<store_atom, storage_actor>>;

// The throttler whose state is one CELL: a window, or a limiter of the user's.
using cell_actor = permits_actor::extend<
    // Its lines may be looked at again.
    caf::reacts_to<open_atom>,
    // These wait in its line, and are asked about again after so many microseconds.
    caf::replies_to<park_atom, std::vector<throttle_request>, std::uint64_t>::with<std::vector<throttle_verdict>>>;

// A SUPERVISOR owns one queue's pool: claims what it can take, settles what has ended.
using supervisor_actor = caf::typed_actor<
    // There may be work.
    caf::reacts_to<hint_atom>,
    // From the pool: the out-tray has something, or a handful.
    caf::reacts_to<ended_atom>,
    // What was waited for has ended by now: ask the store.
    caf::reacts_to<pump_atom>,
    // The store's answers to the order with this number.
    caf::reacts_to<applied_atom, std::uint64_t, answers_ptr>,
    // From the gate: what became of claimed starts.
    caf::reacts_to<judged_atom, verdicts_ptr>,
    // The gate was replaced by this one.
    caf::reacts_to<gate_atom, gate_actor>,
    // Its own timer: send the order with this number again.
    caf::reacts_to<again_atom, std::uint64_t>,
    // The storage actor was replaced by this one.
    caf::reacts_to<store_atom, storage_actor>,
    // This start's body ignores its stop request.
    caf::reacts_to<overdue_atom, std::uint64_t>,
    // Look whether anything was missed, and give back what waits too long.
    caf::reacts_to<sweep_atom>>;

// A WORKER stands for one thread of a pool: it ends when the thread dies, and the other way round. What
// runs on no thread of ours, it asks an actor of the host to run.
using worker_actor = caf::typed_actor<
    // The pool gave it a start that runs elsewhere.
    caf::reacts_to<handed_atom>,
    // Its thread died inside a handler.
    caf::reacts_to<died_atom>>;

// The TICKER does what is due because time passed.
using ticker_actor = caf::typed_actor<
    // Somebody may have scheduled something earlier than we knew, or will claim.
    caf::reacts_to<hint_atom, hint_ptr>,
    // Its own timer; only the latest one counts.
    caf::reacts_to<duty_atom, std::uint64_t>, caf::reacts_to<applied_atom, std::uint64_t, answers_ptr>,
    caf::reacts_to<store_atom, storage_actor>,
    // The gate was replaced by this one.
    caf::reacts_to<gate_atom, gate_actor>>;

// The DOOR is what a host speaks to (sluice::server_actor), and minds the host's handler actors.
using door_actor = server_actor::extend<
    // The store's answers to the order with this number.
    caf::reacts_to<applied_atom, std::uint64_t, answers_ptr>,
    // The storage actor was replaced by this one, or is there.
    caf::reacts_to<store_atom, storage_actor>,
    // And so the gate.
    caf::reacts_to<gate_atom, gate_actor>,
    // A watched job has ended here.
    caf::reacts_to<final_atom, job_id>,
    // Look for watched jobs that ended elsewhere.
    caf::reacts_to<sweep_atom>,
    // The server has stopped, with so many bodies unfinished.
    caf::reacts_to<stopped_atom, std::uint32_t>>;

// The ROOT keeps all of them alive: whoever dies is replaced.
using root_actor = caf::typed_actor<
    // New queues that match a pattern get their supervisors.
    caf::reacts_to<hint_atom, hint_ptr>,
    // From the ticker, every sweep interval.
    caf::reacts_to<sweep_atom>,
    // The names of the queues that exist, for the patterns.
    caf::reacts_to<applied_atom, std::uint64_t, answers_ptr>,
    // Its own timer: replace what died too often just now.
    caf::reacts_to<respawn_atom>,
    // From the lease keeper: in this queue, this start's body ignores its stop request.
    caf::reacts_to<overdue_atom, std::string, std::uint64_t>,
    // Whom it keeps alive now: the storage actor, the ticker, the gate, the supervisors.
    caf::replies_to<children_atom>::with<std::vector<caf::actor>>>;

}  // namespace sluice::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(sluice::actors::order_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(sluice::actors::answers_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(sluice::actors::asks_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(sluice::actors::verdicts_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(sluice::actors::names_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(sluice::actors::hint_ptr)
