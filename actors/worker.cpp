#include "actors/spawn.hpp"
#include "core/text.hpp"

namespace sluice::actors {
namespace {

// The actor and its thread end together: whichever goes first takes the other along.
struct worker_state {
  static inline const char* name = "worker";
  worker_actor::pointer self = nullptr;
  engine_ptr e;
  std::shared_ptr<pool> of;
  pool::worker_id id = 0;

  ~worker_state() {
    if (of) of->retire_worker(id, "its worker was ended from outside");
  }

  // Asks the host's actor to run `start`, and what the pool hands over after it.
  void run_elsewhere(start_ptr start) {
    while (start) {
      const auto& type = start->about.type.value;
      const auto place = e->types->place_of(type);
      if (!place.actor) {
        start = of->put_elsewhere(id, start, outcome::give_back(cat("the actor that handles ", type, " is gone")));
        continue;
      }
      caf::message content;
      try {
        content = place.route->message_for(
            run_job(std::shared_ptr<const job>(start, &start->about), start->stop.get_token()));
      } catch (const std::exception& failed) {
        start = of->put_elsewhere(id, start, outcome::failed(failed.what()));
        continue;
      }
      ask(place.actor, start, std::move(content));
      return;
    }
  }

  void ask(const caf::actor& actor, const start_ptr& start, caf::message content) {
    of->asked(start, actor.id());
    const auto ended = [this, start](outcome how) { run_elsewhere(of->put_elsewhere(id, start, std::move(how))); };
    const auto asked = self->request(actor, caf::infinite, std::move(content));
    // Not `then`: several kinds of answers are welcome.
    self->add_multiplexed_response_handler(
        asked.id(), caf::behavior{
                        [ended] { ended(outcome::succeeded()); },
                        [ended](std::string& text) { ended(outcome::succeeded(std::move(text))); },
                        [ended](outcome& how) { ended(std::move(how)); },
                        [this, ended, who = actor.id()](caf::error& failed) { ended(failure(failed, who)); },
                    });
  }

  outcome failure(const caf::error& failed, caf::actor_id who) {
    if (failed == caf::sec::unexpected_response)
      return outcome::failed(
          "its actor answered what is no outcome; nothing, a text and sluice::outcome are understood");
    auto result = outcome::failed(printable(self->system().render(failed)));
    if (failed.category() == caf::atom("sluice")) result.text = to_string(error_of(failed));
    if (failed == caf::sec::request_receiver_down) {
      e->types->actor_gone(who);  // before the next start is sent after it
      result = outcome::failed("the actor that handles it died");
      result.cause = "handler_died";
    }
    return result;
  }
};

worker_actor::behavior_type worker(worker_actor::stateful_pointer<worker_state> self, engine_ptr e,
                                   const std::shared_ptr<pool>& of) {
  arm(self, e, "worker");
  auto& s = self->state;
  s.self = self;
  s.e = std::move(e);
  s.of = of;
  s.id = of->add_worker({[me = worker_actor(self)] { caf::anon_send(me, died_atom::value); },
                         [me = worker_actor(self)] { caf::anon_send(me, handed_atom::value); }});
  return {
      [self](handed_atom) { self->state.run_elsewhere(self->state.of->in_hand(self->state.id)); },
      [self](died_atom) { self->quit(caf::exit_reason::unhandled_exception); },
  };
}

}  // namespace

worker_actor spawn_worker(caf::local_actor* parent, engine_ptr e, std::shared_ptr<pool> p) {
  auto made = parent->system().spawn(worker, std::move(e), std::move(p));
  parent->monitor(made);
  return made;
}

}  // namespace sluice::actors
