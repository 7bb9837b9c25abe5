// The door: what a host's actors speak to. It enqueues, tells observers of ends, and minds the actors of the
// host that handle jobs.
#include <algorithm>
#include <set>

#include <sluice/cron.hpp>

#include "actors/spawn.hpp"
#include "core/locks.hpp"
#include "core/log.hpp"
#include "core/no_job.hpp"
#include "core/pipeline.hpp"
#include "scheduler/schedules.hpp"
#include "throttling/managing.hpp"

namespace sluice {

caf::error to_caf(const error& e) {
  return {static_cast<std::uint8_t>(e.code), caf::atom("sluice"), caf::make_message(e.message)};
}

error error_of(const caf::error& e) {
  if (e.category() == caf::atom("sluice")) {
    const bool has_text = e.context().size() == 1 && e.context().match_element<std::string>(0);
    return {static_cast<errc>(e.code()), has_text ? e.context().get_as<std::string>(0) : std::string()};
  }
  if (e == caf::sec::request_receiver_down || e.category() == caf::atom("exit"))
    return {errc::not_running, "the server is gone"};
  return {errc::io_error, caf::to_string(e)};
}

namespace actors {
namespace {

// What the store has not answered yet, in this process; a host that sends faster is told so.
constexpr std::size_t most_waiting = 100'000;
// Jobs that one sweep looks after: bounds what watching costs.
constexpr std::size_t looked_at_once = 100;
constexpr std::size_t looked_in_a_sweep = 5'000;

struct door_state {
  static inline const char* name = "door";

  using answered = std::function<void(std::vector<storage::answer>&)>;
  struct waiting_order {
    std::vector<storage::request> asked;
    answered told;
  };
  struct observer_entry {
    caf::actor who;
    bool stored = true;  // false: its own enqueue is not answered yet
  };
  using watch = std::vector<observer_entry>;

  door_actor::pointer self = nullptr;
  engine_ptr e;
  storage_actor store;
  gate_actor gate;
  std::map<std::string, throttler_actor> throttlers;  // custom ones, as the host has named them
  std::function<void()> stop;
  std::optional<enqueue_pipeline> pipeline;
  std::uint64_t last_order = 0;
  std::map<std::uint64_t, waiting_order> waiting;
  std::map<job_id, watch> watches;
  job_id looked_until;
  std::size_t looks = 0;  // not answered yet
  std::vector<caf::typed_response_promise<std::uint32_t>> stoppers;
  std::optional<std::uint32_t> unfinished;  // once the server has stopped: what waits is answered, then we end
  std::set<caf::actor_id> minded;

  // Ended by somebody who did not ask: what is promised is answered, and the server stops without its door.
  ~door_state() {
    const error gone{errc::unknown_outcome, "the server's actor was ended; ask again with the same id"};
    for (auto& [number, order] : std::exchange(waiting, {})) {
      std::vector<storage::answer> answers(order.asked.size(), storage::answer(gone));
      order.told(answers);
    }
    for (auto& p : stoppers)
      p.deliver(to_caf({errc::not_running, "the server's actor was ended"}));
    ask_to_stop();
  }

  // --- The store.

  void ask(std::vector<storage::request> asked, answered told) {
    auto& order = waiting[++last_order];
    order = {std::move(asked), std::move(told)};
    if (store || unfinished) submit(last_order, order);
  }

  void submit(std::uint64_t number, const waiting_order& order) {
    auto o = std::make_shared<store_order>();
    o->asked = order.asked;  // a copy: it may have to be asked again
    o->done = [me = door_actor(self), number](answers_ptr answers) {
      caf::anon_send(me, applied_atom::value, number, std::move(answers));
    };
    if (!unfinished) return caf::anon_send(store, submit_atom::value, std::move(o));
    e->runner->submit(std::move(o->asked), [done = std::move(o->done)](std::vector<storage::answer> answers) {
      done(std::make_shared<std::vector<storage::answer>>(std::move(answers)));
    });
  }

  void applied(std::uint64_t number, std::vector<storage::answer>& answers) {
    const auto found = waiting.find(number);
    if (found == waiting.end()) return;  // asked twice, answered twice
    const auto told = std::move(found->second.told);
    waiting.erase(found);
    told(answers);
    end_when_answered();
  }

  // What the old one had taken along is asked again: every request may be.
  void use(const storage_actor& other) {
    store = other;
    for (const auto& [number, order] : waiting)
      submit(number, order);
  }

  void use(const gate_actor& other) {
    gate = other;
    for (const auto& [custom, actor] : throttlers)
      caf::anon_send(gate, throttle_atom::value, custom, actor);
  }

  void name_throttler(const std::string& custom, const throttler_actor& actor) {
    throttlers[custom] = actor;
    if (gate) caf::anon_send(gate, throttle_atom::value, custom, actor);
  }

  // --- Enqueueing and looking.

  std::optional<error> cannot_ask() const {
    if (unfinished) return error{errc::not_running, "the server has stopped"};
    if (waiting.size() >= most_waiting)
      return error{errc::overloaded, "too much is waiting for the store in this process"};
    return std::nullopt;
  }

  caf::result<job_id> enqueue(new_job job, const caf::actor& observer) {
    if (auto refused = cannot_ask()) return to_caf(*refused);
    auto ready = pipeline->prepare(std::move(job), e->runner->now());
    if (!ready) return to_caf(ready.error());
    const auto id = ready->id;
    if (observer) add_watch(id, observer, false);
    storage::enqueue_request request;
    request.jobs.push_back(std::move(*ready));
    auto promise = self->make_response_promise<job_id>();
    std::vector<storage::request> asked;
    asked.emplace_back(std::move(request));
    ask(std::move(asked), [this, id, observer, promise](std::vector<storage::answer>& answers) mutable {
      std::optional<error> refused;
      if (const auto* failed = std::get_if<error>(&answers.at(0))) refused = *failed;
      else if (const auto code = std::get<storage::enqueue_answer>(answers[0]).each.at(0); code != errc::none)
        refused = no_job(id, code);
      if (observer) settle_watch(id, observer, refused.has_value());
      if (refused) promise.deliver(to_caf(*refused));
      else promise.deliver(id);
    });
    return promise;
  }

  caf::result<job> find(const job_id& id) {
    if (auto refused = cannot_ask()) return to_caf(*refused);
    auto promise = self->make_response_promise<job>();
    std::vector<storage::request> asked;
    asked.emplace_back(storage::get_request{id});
    ask(std::move(asked), [id, promise](std::vector<storage::answer>& answers) mutable {
      auto* got = std::get_if<storage::get_answer>(&answers.at(0));
      if (!got) promise.deliver(to_caf(std::get<error>(answers[0])));
      else if (got->found) promise.deliver(std::move(*got->found));
      else promise.deliver(to_caf(no_job(id, got->code)));
    });
    return promise;
  }

  // --- Locks.

  // `told` makes an answer of the store's, which is no failure of the request as a whole.
  template <class Answer, class Told>
  caf::result<Answer> ask_lock(storage::lock_request asked, result<void> fine, Told told) {
    if (auto refused = cannot_ask()) return to_caf(*refused);
    if (!fine) return to_caf(fine.error());
    auto promise = self->make_response_promise<Answer>();
    std::vector<storage::request> all;
    all.emplace_back(std::move(asked));
    ask(std::move(all), [promise, told = std::move(told)](std::vector<storage::answer>& answers) mutable {
      auto* got = std::get_if<storage::lock_answer>(&answers.at(0));
      if (got) told(promise, *got);
      else promise.deliver(to_caf(std::get<error>(answers[0])));
    });
    return promise;
  }

  static caf::error no_longer(const std::string& resource, const storage::lock_answer& got) {
    return to_caf(
        {got.code, got.now ? held_by(resource, *got.now) : cat("nobody holds lock ", printable(resource, 200))});
  }

  caf::result<lock_verdict> take(take_lock wish) {
    if (wish.holder.empty()) wish.holder = this_process();
    auto fine = check_lock(wish.resource, wish.ttl);
    if (fine) fine = check_lock_holder(wish.holder);
    storage::lock_request r{.what = storage::lock_request::act::take,
                            .resource = std::move(wish.resource),
                            .holder = std::move(wish.holder),
                            .token = random_token(),
                            .lease = wish.ttl};
    return ask_lock<lock_verdict>(std::move(r), std::move(fine), [](auto& promise, storage::lock_answer& got) {
      promise.deliver(lock_verdict{got.code == errc::none, got.now.value_or(lock_holder())});
    });
  }

  caf::result<lock_holder> renew(const renew_lock& wish) {
    storage::lock_request r{
        .what = storage::lock_request::act::renew, .resource = wish.resource, .fence = wish.fence, .lease = wish.ttl};
    return ask_lock<lock_holder>(std::move(r), check_lock(wish.resource, wish.ttl),
                                 [resource = wish.resource](auto& promise, storage::lock_answer& got) {
                                   if (got.code != errc::none) promise.deliver(no_longer(resource, got));
                                   else promise.deliver(got.now.value_or(lock_holder()));
                                 });
  }

  caf::result<sluice::fence> release(const release_lock& wish) {
    storage::lock_request r{
        .what = storage::lock_request::act::release, .resource = wish.resource, .fence = wish.fence};
    return ask_lock<sluice::fence>(std::move(r), check_lock(wish.resource, usual_lock_ttl),
                                   [wish](auto& promise, storage::lock_answer& got) {
                                     if (got.code != errc::none) promise.deliver(no_longer(wish.resource, got));
                                     else promise.deliver(wish.fence);
                                   });
  }

  // --- Schedules.

  using row = std::optional<storage::schedule_row>;
  using changed = std::function<void(result<bool>, const row&)>;  // whether something was changed; how it stands

  // Reads, changes and swaps; again when another was first.
  void change_schedule(std::string which, scheduler::schedule_change change, changed told, int tries = 0) {
    if (tries == scheduler::most_tries) return told(scheduler::too_many_tries(which), {});
    ask(one(storage::schedule_request{which}), [this, which, change = std::move(change), told = std::move(told),
                                                tries](std::vector<storage::answer>& answers) {
      auto* seen = std::get_if<storage::schedule_answer>(&answers.at(0));
      if (!seen) return told(std::get<error>(answers[0]), {});
      auto wanted = change(*seen);
      if (!wanted) return told(wanted.error(), {});
      if (!*wanted) return told(false, seen->row);
      ask(one(std::move(**wanted)), [this, which, change, told, tries](std::vector<storage::answer>& said) {
        auto* swapped = std::get_if<storage::swap_schedule_answer>(&said.at(0));
        if (!swapped) told(std::get<error>(said[0]), {});
        else if (swapped->swapped) told(true, swapped->row);
        else change_schedule(which, change, told, tries + 1);
      });
    });
  }

  static std::vector<storage::request> one(storage::request r) {
    std::vector<storage::request> asked;
    asked.push_back(std::move(r));
    return asked;
  }

  caf::result<recurring_status> change_and_tell(const std::string& which, scheduler::schedule_change change) {
    if (auto refused = cannot_ask()) return to_caf(*refused);
    auto promise = self->make_response_promise<recurring_status>();
    change_schedule(which, std::move(change), [promise](const result<bool>& done, const row& now) mutable {
      if (!done) promise.deliver(to_caf(done.error()));
      else promise.deliver(now ? scheduler::status_of(*now) : recurring_status());
    });
    return promise;
  }

  caf::result<bool> remove_schedule(const std::string& which) {
    if (auto refused = cannot_ask()) return to_caf(*refused);
    auto promise = self->make_response_promise<bool>();
    change_schedule(which, scheduler::removing(which), [promise](const result<bool>& done, const row&) mutable {
      if (done) promise.deliver(*done);
      else promise.deliver(to_caf(done.error()));
    });
    return promise;
  }

  caf::result<job_id> trigger(const std::string& which) {
    if (auto refused = cannot_ask()) return to_caf(*refused);
    auto promise = self->make_response_promise<job_id>();
    const auto id = make_job_id(e->runner->now());
    const auto prepare = [this](new_job job) { return pipeline->prepare(std::move(job), e->runner->now()); };
    change_schedule(which, scheduler::triggering(which, id, prepare),
                    [promise, id](const result<bool>& done, const row&) mutable {
                      if (done) promise.deliver(id);
                      else promise.deliver(to_caf(done.error()));
                    });
    return promise;
  }

  caf::result<std::vector<recurring_status>> tell_schedules() {
    if (auto refused = cannot_ask()) return to_caf(*refused);
    auto promise = self->make_response_promise<std::vector<recurring_status>>();
    read_schedules({}, {}, promise);
    return promise;
  }

  void read_schedules(const std::string& after, std::vector<recurring_status> read,
                      caf::typed_response_promise<std::vector<recurring_status>> promise) {
    storage::schedules_request page;
    page.after = after;
    ask(one(std::move(page)), [this, read, promise](std::vector<storage::answer>& answers) mutable {
      auto* got = std::get_if<storage::schedules_answer>(&answers.at(0));
      if (!got) {
        promise.deliver(to_caf(std::get<error>(answers[0])));
        return;
      }
      for (const auto& r : got->rows)
        read.push_back(scheduler::status_of(r));
      if (got->next.empty()) promise.deliver(std::move(read));
      else read_schedules(got->next, std::move(read), promise);
    });
  }

  // --- Throttlers, and why a job waits.

  // Carries out what asks for one answer after the other.
  template <class T>
  caf::result<T> carry_out(const std::function<void(const storage::courier&, const storage::told<T>&)>& begin) {
    if (auto refused = cannot_ask()) return to_caf(*refused);
    auto promise = self->make_response_promise<T>();
    begin(
        [this](storage::request r, std::function<void(storage::answer&)> then) {
          ask(one(std::move(r)),
              [then = std::move(then)](std::vector<storage::answer>& answers) { then(answers.at(0)); });
        },
        [promise](result<T> came) mutable {
          if (came) promise.deliver(std::move(*came));
          else promise.deliver(to_caf(came.error()));
        });
    return promise;
  }

  caf::result<std::string> set_throttler(const throttler& definition) {
    return carry_out<std::string>([&](const storage::courier& to, const storage::told<std::string>& then) {
      throttling::set_throttler(to, definition, then);
    });
  }

  caf::result<std::string> remove_throttler(const throttler_name& which) {
    return carry_out<std::string>([&](const storage::courier& to, const storage::told<std::string>& then) {
      throttling::remove_throttler(to, which.kind, which.name, then);
    });
  }

  caf::result<throttler_status> tell_throttler(const throttler_name& which) {
    return carry_out<throttler_status>([&](const storage::courier& to, const storage::told<throttler_status>& then) {
      throttling::one_throttler(to, which.kind, which.name, then);
    });
  }

  caf::result<std::vector<throttler_status>> tell_throttlers() {
    return carry_out<std::vector<throttler_status>>(throttling::all_throttlers);
  }

  caf::result<explanation> explain(const job_id& id) {
    return carry_out<explanation>([&](const storage::courier& to, const storage::told<explanation>& then) {
      throttling::explain_job(
          to, id, [this] { return e->runner->now(); }, then);
    });
  }

  // --- Watching.

  void add_watch(const job_id& id, const caf::actor& observer, bool stored) {
    watches[id].push_back({observer, stored});
    e->watched.add(id);
  }

  // The enqueue that `observer` watches was answered.
  void settle_watch(const job_id& id, const caf::actor& observer, bool refused) {
    const auto found = watches.find(id);
    if (found == watches.end()) return;
    auto& all = found->second;
    const auto at =
        std::find_if(all.begin(), all.end(), [&](const observer_entry& o) { return !o.stored && o.who == observer; });
    if (at == all.end()) return;
    at->stored = true;
    if (!refused) return look_after({id});  // it may have been there before, and final
    all.erase(at);
    if (all.empty()) forget(found);
  }

  void forget(std::map<job_id, watch>::iterator at) {
    e->watched.remove(at->first);
    watches.erase(at);
  }

  // Whoever has ended of these, its observers are told.
  void look_after(std::vector<job_id> ids) {
    if (ids.empty()) return;
    std::vector<storage::request> asked;
    asked.reserve(ids.size());
    for (const auto& id : ids)
      asked.emplace_back(storage::get_request{id});
    ++looks;
    ask(std::move(asked), [this, ids = std::move(ids)](std::vector<storage::answer>& answers) {
      --looks;
      for (std::size_t i = 0; i < ids.size(); ++i)
        if (auto* got = std::get_if<storage::get_answer>(&answers.at(i))) seen(ids[i], *got);
      // What could not be asked, the next sweep asks again.
    });
  }

  void seen(const job_id& id, storage::get_answer& got) {
    const auto found = watches.find(id);
    if (found == watches.end() || (got.found && !is_final(got.found->state))) return;
    job_ended end;
    end.known = got.found.has_value();
    if (got.found) end.about = std::move(*got.found);
    end.about.id = id;
    auto& all = found->second;
    std::erase_if(all, [&](const observer_entry& o) {
      if (!end.known && !o.stored) return false;  // it will be there in a moment
      caf::anon_send(o.who, end);
      return true;
    });
    if (all.empty()) forget(found);
  }

  void sweep() {
    if (looks > 0) return;  // the store is slow: no more until it has answered
    look_at_watches(looked_in_a_sweep);
  }

  void look_at_watches(std::size_t most) {
    std::vector<job_id> ids;
    auto at = watches.upper_bound(looked_until);
    for (std::size_t n = std::min(watches.size(), most); n > 0; --n, ++at) {
      if (at == watches.end()) at = watches.begin();
      ids.push_back(at->first);
      looked_until = at->first;
      if (ids.size() == looked_at_once) look_after(std::exchange(ids, {}));
    }
    look_after(std::move(ids));
  }

  // --- The host's actors that handle jobs.

  void mind_handlers() {
    for (const auto& [type, actor] : e->types->elsewhere())
      if (actor) mind(actor);
      else log::warn("jobs of type ", type, " wait until the host names an actor for them (handler_atom)");
  }

  // One that is dead already is told of as well.
  void mind(const caf::actor& actor) {
    if (minded.insert(actor.id()).second) self->monitor(actor);
  }

  void name_handler(const job_type& type, const caf::actor& actor) {
    if (!e->types->name_actor(type.value, actor))
      return log::error("no actor handles jobs of type ", printable(type.value, 200),
                        ": name it with handle_by_actor before the server is spawned");
    if (!actor) return;
    mind(actor);
    if (store) caf::anon_send(store, hint_atom::value);  // its jobs may wait
  }

  void handler_died(const caf::down_msg& down) {
    const auto id = down.source.id();
    minded.erase(id);
    const auto types = e->types->actor_gone(id);
    const auto why = cat("the actor that handles it died: ", self->system().render(down.reason));
    for (const auto& p : e->pools()) {
      p->handler_died(id, why);
      for (const auto& type : types)
        p->give_back_type(type, cat("the actor that handles ", type, " is gone"));
    }
    std::string names;
    for (const auto& type : types)
      names += cat(names.empty() ? "" : ", ", type);
    log::warn("an actor that handles jobs died (", self->system().render(down.reason),
              names.empty() ? ")" : "); these types wait for another: ", names);
  }

  // --- Stopping.

  void ask_to_stop() {
    if (!stop) return;
    std::exchange(stop, nullptr)();
  }

  // The storage actor is gone; what it may have taken along is asked again, and all watched jobs once more.
  void stopped(std::uint32_t bodies) {
    if (unfinished) return;
    stop = nullptr;
    unfinished = bodies;
    for (const auto& [number, order] : waiting)
      submit(number, order);
    look_at_watches(watches.size());
    end_when_answered();
  }

  void end_when_answered() {
    if (!unfinished || !waiting.empty()) return;
    for (auto& p : std::exchange(stoppers, {}))
      p.deliver(*unfinished);
    self->quit();
  }
};

door_actor::behavior_type door(door_actor::stateful_pointer<door_state> self, const engine_ptr& e,
                               std::function<void()> stop) {
  arm(self, e, "door");
  auto& s = self->state;
  s.self = self;
  s.e = e;
  s.stop = std::move(stop);
  s.pipeline.emplace(e->can_run->filters, e->options.jobs);
  self->set_down_handler([self](caf::down_msg& down) { self->state.handler_died(down); });
  self->set_exit_handler([self](caf::exit_msg&) { self->state.ask_to_stop(); });
  e->watched.on_end([me = caf::actor_cast<caf::actor_addr>(door_actor(self))](const job_id& id) {
    if (const auto alive = caf::actor_cast<door_actor>(me)) caf::anon_send(alive, final_atom::value, id);
  });
  s.mind_handlers();
  return {
      [self](enqueue_atom, new_job& job) { return self->state.enqueue(std::move(job), nullptr); },
      [self](enqueue_atom, new_job& job, const caf::actor& observer) {
        return self->state.enqueue(std::move(job), observer);
      },
      [self](watch_atom, const job_id& id, const caf::actor& observer) {
        self->state.add_watch(id, observer, true);
        if (!self->state.cannot_ask()) self->state.look_after({id});  // else the sweep does
      },
      [self](find_atom, const job_id& id) { return self->state.find(id); },
      [self](handler_atom, const job_type& type, const caf::actor& actor) { self->state.name_handler(type, actor); },
      [self](throttle_atom, const std::string& custom, const throttler_actor& actor) {
        self->state.name_throttler(custom, actor);
      },
      [self](lock_atom, take_lock& wish) { return self->state.take(std::move(wish)); },
      [self](lock_atom, const renew_lock& wish) { return self->state.renew(wish); },
      [self](lock_atom, const release_lock& wish) { return self->state.release(wish); },
      [self](recur_atom, const recurring& definition) {
        return self->state.change_and_tell(definition.name, scheduler::putting(definition, time_zone_version()));
      },
      [self](unrecur_atom, const std::string& name) { return self->state.remove_schedule(name); },
      [self](trigger_atom, const std::string& name) { return self->state.trigger(name); },
      [self](hold_atom, const std::string& name, bool paused) {
        return self->state.change_and_tell(name, scheduler::pausing(name, paused, time_zone_version()));
      },
      [self](recur_atom) { return self->state.tell_schedules(); },
      [self](limit_atom, const throttler& definition) { return self->state.set_throttler(definition); },
      [self](unlimit_atom, const throttler_name& which) { return self->state.remove_throttler(which); },
      [self](describe_atom, const throttler_name& which) { return self->state.tell_throttler(which); },
      [self](describe_atom) { return self->state.tell_throttlers(); },
      [self](explain_atom, const job_id& id) { return self->state.explain(id); },
      [self](quiet_atom) { self->state.e->quiet = true; },
      [self](stop_atom) {
        auto promise = self->make_response_promise<std::uint32_t>();
        self->state.stoppers.push_back(promise);
        self->state.ask_to_stop();
        return promise;
      },
      [self](applied_atom, std::uint64_t number, const answers_ptr& answers) { self->state.applied(number, *answers); },
      [self](store_atom, const storage_actor& other) { self->state.use(other); },
      [self](gate_atom, const gate_actor& other) { self->state.use(other); },
      [self](final_atom, const job_id& id) { self->state.look_after({id}); },
      [self](sweep_atom) { self->state.sweep(); },
      [self](stopped_atom, std::uint32_t unfinished) { self->state.stopped(unfinished); },
  };
}

}  // namespace

door_actor spawn_door(caf::actor_system& system, engine_ptr e, std::function<void()> stop) {
  enlist(e);
  return system.spawn(door, std::move(e), std::move(stop));
}

}  // namespace actors
}  // namespace sluice
