// The facade: what a host's actors speak to. Its parts stand in actors/facade_parts.hpp; here it is wired, and stopped.
#include "actors/facade_parts.hpp"

namespace sluice {

caf::error to_caf(const error& e) {
  const auto subject = static_cast<std::uint8_t>(e.subject);
  return {static_cast<std::uint8_t>(e.code), caf::atom("sluice"), caf::make_message(e.message, subject)};
}

error error_of(const caf::error& e) {
  if (e.category() == caf::atom("sluice")) {
    const auto& told = e.context();
    if (!told.match_elements<std::string, std::uint8_t>()) return {static_cast<errc>(e.code()), {}};
    return {static_cast<errc>(e.code()), told.get_as<std::string>(0),
            static_cast<error_subject>(told.get_as<std::uint8_t>(1))};
  }
  if (e == caf::sec::request_receiver_down || e.category() == caf::atom("exit"))
    return {errc::not_running, "the server is gone"};
  return {errc::io_error, caf::to_string(e)};
}

namespace actors {
namespace {

using change_group = storage::change_group_request::what;

// All of a facade. It begins when its actor does.
struct facade_body {
  facade_actor::pointer self;
  server_context_ptr e;
  std::function<void()> stop;
  enqueue_pipeline pipeline;
  facade_store store;
  facade_jobs jobs;
  facade_handlers handlers;
  gate_actor gate;
  std::map<std::string, throttler_actor> throttlers;  // custom ones, as the host has named them
  std::vector<caf::typed_response_promise<std::uint32_t>> stoppers;
  std::optional<std::uint32_t> unfinished;  // once the server has stopped: what waits is answered, then we end

  facade_body(facade_actor::pointer me, const server_context_ptr& context, std::function<void()> stopping)
      : self(me),
        e(context),
        stop(std::move(stopping)),
        pipeline(context->config->filters, context->options.jobs, context->options.queues),
        store(me, context),
        jobs(store, context, pipeline),
        handlers(me, context) {}
  facade_body(const facade_body&) = delete;

  // Ended by somebody who did not ask: what is promised is answered, and the server stops without its facade.
  ~facade_body() {
    store.give_up({errc::unknown_outcome, "the server's actor was ended; ask again with the same id"});
    for (auto& p : stoppers)
      p.deliver(to_caf({errc::not_running, "the server's actor was ended"}));
    ask_to_stop();
  }

  void use(const gate_actor& other) {
    gate = other;
    for (const auto& [custom, actor] : throttlers)
      caf::anon_send(gate, set_throttler_actor_atom::value, custom, actor);
  }

  void name_throttler(const std::string& custom, const throttler_actor& actor) {
    throttlers[custom] = actor;
    if (gate) caf::anon_send(gate, set_throttler_actor_atom::value, custom, actor);
  }

  // --- Stopping.

  caf::typed_response_promise<std::uint32_t> promise_to_stop() {
    auto promise = self->make_response_promise<std::uint32_t>();
    stoppers.push_back(promise);
    ask_to_stop();
    return promise;
  }

  void ask_to_stop() {
    if (!stop) return;
    std::exchange(stop, nullptr)();
  }

  // The other actors are gone: all watched jobs are looked at once more.
  void stopped(std::uint32_t handlers_left) {
    if (unfinished) return;
    stop = nullptr;
    unfinished = handlers_left;
    store.close();
    jobs.check_all_watches();
    end_when_answered();
  }

  void end_when_answered() {
    if (!unfinished || !store.all_answered()) return;
    for (auto& p : std::exchange(stoppers, {}))
      p.deliver(*unfinished);
    self->quit();
  }
};

struct facade_state {
  static inline const char* name = "facade";
  std::unique_ptr<facade_body> body;
};

facade_actor::behavior_type facade(facade_actor::stateful_pointer<facade_state> self, const server_context_ptr& e,
                                   std::function<void()> stop) {
  install_handlers(self, e, "facade");
  self->state.body = std::make_unique<facade_body>(self, e, std::move(stop));
  auto* d = self->state.body.get();
  self->set_down_handler([d](caf::down_msg& down) { d->handlers.died(down); });
  self->set_exit_handler([d](caf::exit_msg&) { d->ask_to_stop(); });
  e->watched.on_end([me = caf::actor_cast<caf::actor_addr>(facade_actor(self))](const job_id& id) {
    if (const auto alive = caf::actor_cast<facade_actor>(me)) caf::anon_send(alive, final_atom::value, id);
  });
  d->handlers.monitor_all();
  return {
      [d](enqueue_atom, new_job& job) { return d->jobs.enqueue(std::move(job), nullptr); },
      [d](enqueue_atom, new_job& job, const caf::actor& observer) { return d->jobs.enqueue(std::move(job), observer); },
      [d](enqueue_reporting_atom, new_job& job) { return d->jobs.enqueue_reporting(std::move(job)); },
      [d](enqueue_all_atom, std::vector<new_job>& jobs) { return d->jobs.enqueue_all(std::move(jobs)); },
      [d](watch_atom, const job_id& id, const caf::actor& observer) { d->jobs.watch(id, observer); },
      [d](find_atom, const job_id& id) { return d->jobs.find(id); },
      [d](explain_atom, const job_id& id) { return d->jobs.explain(id); },
      [d](cancel_atom, const job_id& id) { return d->jobs.cancel(id); },
      [d](group_atom, const new_group& group) { return facade_groups::change(d->store, change_group::create, group); },
      [d](group_atom, const group_name& name) { return facade_groups::describe(d->store, name); },
      [d](seal_group_atom, const group_name& name) {
        return facade_groups::change(d->store, change_group::seal, {name});
      },
      [d](cancel_group_atom, const group_name& name) {
        return facade_groups::change(d->store, change_group::cancel, {name});
      },
      [d](requeue_failed_atom, const group_name& name) { return facade_groups::requeue_failed(d->store, name); },
      [d](set_handler_atom, const job_type& type, const caf::actor& actor) { d->handlers.name(type, actor); },
      [d](set_throttler_actor_atom, const std::string& custom, const throttler_actor& actor) {
        d->name_throttler(custom, actor);
      },
      [d](lock_atom, take_lock& wish) { return facade_locks::take(d->store, std::move(wish)); },
      [d](lock_atom, const renew_lock& wish) { return facade_locks::renew(d->store, wish); },
      [d](lock_atom, const release_lock& wish) { return facade_locks::release(d->store, wish); },
      [d](schedule_atom, const recurring& definition) { return facade_schedules::set(d->store, definition, *d->e); },
      [d](remove_schedule_atom, const std::string& name) { return facade_schedules::remove(d->store, name); },
      [d](trigger_schedule_atom, const std::string& name) {
        return facade_schedules::trigger(d->store, name, d->pipeline, d->e);
      },
      [d](pause_schedule_atom, const std::string& name, bool paused) {
        return facade_schedules::pause(d->store, name, paused, *d->e);
      },
      [d](schedule_atom) { return facade_schedules::all(d->store); },
      [d](throttler_atom, const throttler& definition) { return facade_throttlers::set(d->store, definition); },
      [d](remove_throttler_atom, const throttler_name& which) { return facade_throttlers::remove(d->store, which); },
      [d](describe_atom, const throttler_name& which) { return facade_throttlers::describe(d->store, which); },
      [d](describe_atom) { return facade_throttlers::all(d->store); },
      [d](quiet_atom) { d->e->quiet = true; },
      [d](stop_atom) { return d->promise_to_stop(); },
      [d](applied_atom, std::uint64_t number, const answers_ptr& answers) {
        d->store.applied(number, *answers);
        d->end_when_answered();
      },
      [d](gate_atom, const gate_actor& other) { d->use(other); },
      [d](final_atom, const job_id& id) { d->jobs.check_jobs({id}); },
      [d](sweep_atom) { d->jobs.sweep(); },
      [d](stopped_atom, std::uint32_t unfinished) { d->stopped(unfinished); },
  };
}

}  // namespace

facade_actor spawn_facade(caf::actor_system& system, server_context_ptr e, std::function<void()> stop) {
  count_actor(e);
  return system.spawn(facade, std::move(e), std::move(stop));
}

}  // namespace actors
}  // namespace sluice
