#include <array>
#include <charconv>

#include "actors/spawn.hpp"
#include "core/text.hpp"
#include "execution/dispatcher.hpp"

namespace sluice::actors {
namespace {

std::string shortest_text(double n) {
  std::array<char, 32> digits{};
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), n).ptr};
}

// An actor that ends closes its mailbox, then answers what lay in it, and only then counts as cleaned up.
bool has_ended(const caf::actor& who) {
  auto* const actor = caf::actor_cast<caf::abstract_actor*>(who);
  if (actor->getf(caf::abstract_actor::is_cleaned_up_flag)) return true;
  if (auto* const scheduled = dynamic_cast<caf::scheduled_actor*>(actor)) return scheduled->mailbox().closed();
  if (auto* const blocking = dynamic_cast<caf::blocking_actor*>(actor)) return blocking->mailbox().closed();
  return false;
}

// The actor and its worker of the pool end together: whichever goes first takes the other along.
struct worker_state {
  static inline const char* name = "worker";
  worker_actor::pointer self = nullptr;
  server_context_ptr e;
  served_queue of;
  worker_id id = 0;

  ~worker_state() {
    if (of.pool) of.pool->workers.retire(id, "its worker was ended from outside");
  }

  // Asks the host's actor to run `run`, and what the pool hands over after it.
  void run_by_actor(run_ptr run) {
    while (run) {
      const auto& type = run->about.type.value;
      if (of.pool->is_stopping(run)) {
        run = of.pool->workers.actor_answered(id, run, outcome::give_back("stopped before it began"));
        continue;
      }
      const auto place = e->types->place_of(type);
      if (!place.actor) {
        run = of.pool->workers.actor_answered(id, run,
                                              outcome::give_back(cat("the actor that handles ", type, " is gone")));
        continue;
      }
      caf::message content;
      try {
        content = place.route->message_for(run_job(about_of(run), run->stop.get_token(),
                                                   std::shared_ptr<const std::atomic<stop_reason>>(run, &run->reason)));
      } catch (const args_mismatch& failed) {
        run = of.pool->workers.actor_answered(id, run, outcome::do_not_retry(message_of(failed)));
        continue;
      } catch (const std::exception& failed) {
        run = of.pool->workers.actor_answered(id, run, outcome::failed(message_of(failed)));
        continue;
      } catch (...) {
        run = of.pool->workers.actor_answered(
            id, run, outcome::failed("the conversion of its args threw something that is no std::exception"));
        continue;
      }
      ask(*place.route, place.actor, run, std::move(content));
      return;
    }
  }

  void ask(const actor_route& route, const caf::actor& actor, const run_ptr& run, caf::message content) {
    of.pool->lock()->state_of(run).actor = actor.id();
    if (execution::claimer::needs_threads(*e)) of.dispatcher->runs_ended();  // it has no use for its share
    // Weak: an answer that never comes must not hold the job for ever.
    const auto asked_for = std::weak_ptr(run);
    const auto ended = [this, asked_for](outcome how) {
      if (const auto still = asked_for.lock()) run_by_actor(of.pool->workers.actor_answered(id, still, std::move(how)));
    };
    const auto asked = self->request(actor, caf::infinite, std::move(content));
    // Not `then`: several kinds of answers are welcome.
    caf::message_handler understood{
        [ended] { ended(outcome::succeeded()); },
        [ended](std::string& text) { ended(outcome::succeeded(std::move(text))); },
        [ended](outcome& how) { ended(std::move(how)); },
        [ended](bool is) { ended(outcome::succeeded(is ? "true" : "false")); },
        [ended](std::int32_t n) { ended(outcome::succeeded(std::to_string(n))); },
        [ended](std::uint32_t n) { ended(outcome::succeeded(std::to_string(n))); },
        [ended](std::int64_t n) { ended(outcome::succeeded(std::to_string(n))); },
        [ended](std::uint64_t n) { ended(outcome::succeeded(std::to_string(n))); },
        [ended](double n) { ended(outcome::succeeded(shortest_text(n))); },
        [this, ended, actor, asked_for](caf::error& failed) {
          if (const auto still = asked_for.lock()) ended(failure(*still, failed, actor));
        },
    };
    self->add_multiplexed_response_handler(asked.id(), caf::behavior{understood.or_else(route.answers(ended))});
  }

  outcome failure(const claimed_run& run, const caf::error& failed, const caf::actor& who) {
    if (failed == caf::sec::unexpected_response)
      return outcome::failed(
          "its actor answered what is no outcome; understood are nothing, a text, a number, a bool, sluice::outcome "
          "and "
          "the type that handle_by_actor names");
    auto result = outcome::failed(printable(self->system().render(failed)));
    if (failed.category() == caf::atom("sluice")) result.text = to_string(error_of(failed));
    // What an exception said, as `caught` passes it on; of one that ended the actor CAF does not tell.
    if (failed == caf::sec::runtime_error && failed.context().match_elements<std::string>())
      result.text = printable(failed.context().get_as<std::string>(0));
    // A living actor may pass on such an error of somebody else's.
    if (has_ended(who)) {
      e->types->actor_gone(who.id());  // before the next run is sent after it
      result = handler_died(run, cat("the actor that handles it died (", result.text, ")"));
    }
    return result;
  }
};

worker_actor::behavior_type worker(worker_actor::stateful_pointer<worker_state> self, server_context_ptr e,
                                   served_queue of) {
  install_handlers(self, e, "worker");
  auto& s = self->state;
  s.self = self;
  s.e = std::move(e);
  s.of = std::move(of);
  s.id = s.of.pool->workers.add({[me = worker_actor(self)] { caf::anon_send(me, died_atom::value); },
                                 [me = worker_actor(self)] { caf::anon_send(me, handed_atom::value); }});
  s.of.dispatcher->claim_if_free();  // who asked for work before asked for too little
  return {
      [self](handed_atom) { self->state.run_by_actor(self->state.of.pool->workers.actor_run_of(self->state.id)); },
      [self](died_atom) { self->quit(caf::exit_reason::unhandled_exception); },
  };
}

}  // namespace

worker_actor spawn_worker(caf::local_actor* parent, server_context_ptr e, served_queue of) {
  count_actor(e);
  auto made = parent->system().spawn(worker, std::move(e), std::move(of));
  parent->monitor(made);
  return made;
}

}  // namespace sluice::actors
