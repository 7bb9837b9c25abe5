// The throttler whose state is one cell of the store: a window, or a limiter of the user's. Any number of servers have
// one for the same cell; whose swap comes second decides anew.
#include <algorithm>
#include <deque>

#include "actors/cell_step.hpp"
#include "actors/store_question.hpp"
#include "core/text.hpp"
#include "core/throttlers.hpp"
#include "throttling/windows.hpp"

namespace sluice::actors {
namespace {

using namespace std::chrono_literals;

constexpr int most_refusals = 50;  // in a row by the store, before a line in the log

// Nothing is limited here.
class no_limit final : public limiter {
public:
  limiter_step take(std::string_view state, time_point now, std::span<const limiter_request> wanted) const override {
    limiter_step step{std::string(state), now - 1h, now + 1h, {}};
    for (const auto& w : wanted)
      step.each.push_back({w.count, {}});
    return step;
  }
  std::vector<limiter_view> look(std::string_view, time_point) const override { return {}; }
};

// Nobody is let in for now: what should decide cannot.
class closed final : public limiter {
public:
  limiter_step take(std::string_view state, time_point now, std::span<const limiter_request> wanted) const override {
    return {std::string(state), now - 1h, now + 1h, std::vector<limiter_grant>(wanted.size(), {0, now + after})};
  }
  std::vector<limiter_view> look(std::string_view, time_point) const override { return {}; }
  duration after = 1s;
};

struct cell_state {
  static inline const char* name = "cell";
  using promise = caf::typed_response_promise<std::vector<throttle_verdict>>;

  struct waiting_ask {
    cell_ask ask;
    std::shared_ptr<const job> about;
    std::size_t place = 0;  // of its verdict
  };
  struct batch {
    std::vector<throttle_verdict> verdicts;
    std::size_t left = 0;
    promise told;
    std::optional<duration> park_for{};
  };
  using batch_ptr = std::shared_ptr<batch>;

  cell_actor::pointer self = nullptr;
  engine_ptr e;
  std::string resource;
  store_question question;
  std::deque<std::pair<batch_ptr, waiting_ask>> waiting;
  bool look = false;  // at the lines
  std::optional<storage::cell_view> seen;
  time_point seen_at{};  // by the runner's clock
  std::string definition_text;
  std::optional<throttler> definition;
  std::optional<args_template> key;
  std::shared_ptr<const limiter> by;
  int refusals = 0;
  std::shared_ptr<const limiter> decided_oddly;  // told of once

  caf::result<std::vector<throttle_verdict>> acquire(std::vector<throttle_request> starts,
                                                     std::optional<duration> park_for) {
    auto told = self->make_response_promise<std::vector<throttle_verdict>>();
    if (starts.empty()) {
      told.deliver(std::vector<throttle_verdict>());
      return told;
    }
    auto b =
        std::make_shared<batch>(batch{std::vector<throttle_verdict>(starts.size()), starts.size(), told, park_for});
    for (std::size_t i = 0; i < starts.size(); ++i)
      waiting.push_back(
          {b, {{{}, {starts[i].about->id, starts[i].about->fence}, starts[i].may_park}, starts[i].about, i}});
    go();
    return told;
  }

  void open() {
    look = true;
    go();
  }

  void go() {
    if (question.open() || (waiting.empty() && !look)) return;
    if (!seen || look) {
      question.ask(self, storage::cell_request{resource}, [this](result<storage::answer> answer) {
        if (!answer) return refused({}, answer.error());
        saw(std::move(std::get<storage::cell_answer>(*answer).cell));
        if (std::exchange(look, false) && seen->lines.empty() && waiting.empty()) return forget_opening();
        decide();
      });
      return;
    }
    decide();
  }

  void saw(storage::cell_view cell) {
    seen = std::move(cell);
    seen_at = e->runner->now();
    if (by && seen->definition == definition_text) return;
    definition_text = seen->definition;
    definition.reset();
    key.reset();
    by = nullptr;
    if (const auto custom = e->can_run->limiters.find(resource); custom != e->can_run->limiters.end())
      by = custom->second;
    if (!definition_text.empty()) {
      auto read = read_throttler(definition_text);
      if (read) {
        definition = std::move(*read);
        if (definition->kind == throttler_kind::dynamic_window)
          if (auto parsed = parse_args_template(definition->key)) key = std::move(*parsed);
        if (definition->mode == throttler_mode::release) by = std::make_shared<no_limit>();
        else if (!by) by = throttling::make_limiter(*definition);
      } else {
        log::error("the definition of throttler ", printable(resource, 200), " cannot be read; nobody is let in");
        by = std::make_shared<closed>();
      }
    }
    // An actor of the host decides: whoever waits is woken, and asks it again.
    if (!by && resource.starts_with("custom:")) by = std::make_shared<no_limit>();
  }

  time_point now() const { return seen->now + (e->runner->now() - seen_at); }

  void decide() {
    if (!by) {
      const auto verdict = undefined(*e, resource);
      while (!waiting.empty()) {
        auto [b, ask] = std::move(waiting.front());
        waiting.pop_front();
        judge(b, ask.place, verdict);
      }
      seen.reset();  // it may be defined by the next time
      return;
    }
    auto taken = std::make_shared<std::vector<std::pair<batch_ptr, waiting_ask>>>();
    while (!waiting.empty() && taken->size() < asks_in_a_step) {
      auto next = std::move(waiting.front());
      waiting.pop_front();
      if (name_line(next)) taken->push_back(std::move(next));
    }
    step(taken);
  }

  // The line it would wait in; false: it has its verdict.
  bool name_line(std::pair<batch_ptr, waiting_ask>& one) {
    auto& [b, ask] = one;
    ask.ask.resource = resource;
    if (!key) return true;
    const auto filled = key->fill(ask.about->args);
    if (!filled) {
      judge(b, ask.place, {admission::rejected, {}, filled.error().message});
      return false;
    }
    ask.ask.resource = cat(resource, "/", *filled);
    return true;
  }

  void step(const std::shared_ptr<std::vector<std::pair<batch_ptr, waiting_ask>>>& taken) {
    std::vector<cell_ask> asks;
    for (const auto& [b, ask] : *taken)
      asks.push_back(ask.ask);
    cell_step planned;
    const closed shut;
    try {
      planned = plan_step(*by, resource, *seen, now(), asks);
    } catch (const std::exception& thrown) {
      log::error("the limiter of throttler ", printable(resource, 200), " threw: ", words_of(thrown),
                 "; nobody is let in");
      planned = plan_step(shut, resource, *seen, now(), asks);
    } catch (...) {
      log::error("the limiter of throttler ", printable(resource, 200),
                 " threw something that is no exception; nobody is let in");
      planned = plan_step(shut, resource, *seen, now(), asks);
    }
    if (const auto at = now(); at < planned.swap.from || at >= planned.swap.until) {
      if (by != decided_oddly)
        log::error("the limiter of throttler ", printable(resource, 200),
                   " answers for another time than now; nobody is let in");
      decided_oddly = by;
      planned = plan_step(shut, resource, *seen, at, asks);
    }
    hold_back(*taken, planned);
    const auto swap = std::make_shared<const storage::swap_request>(std::move(planned.swap));
    question.ask(self, *swap, [this, taken, swap, each = std::move(planned.each)](result<storage::answer> answer) {
      if (!answer) return refused(*taken, answer.error());
      auto& swapped = std::get<storage::swap_answer>(*answer);
      saw(std::move(swapped.cell));
      if (!swapped.swapped) {
        // Another was first, or the time of what we decided is over.
        if (++refusals % most_refusals == 0)
          log::warn("throttler ", printable(resource, 200), ": others are always first");
        waiting.insert(waiting.begin(), std::make_move_iterator(taken->begin()), std::make_move_iterator(taken->end()));
        return decide();
      }
      refusals = 0;
      for (std::size_t i = 0; i < taken->size(); ++i) {
        const auto& [b, ask] = (*taken)[i];
        auto verdict = throttle_verdict{admission::gone, {}, {}};
        switch (each[i].what) {
          case admission::granted:
            if (let_in(swap, swapped, ask.ask.start)) verdict.what = admission::granted;
            break;
          case admission::later: verdict = {admission::later, each[i].after, {}}; break;
          case admission::parked:
            if (waits(swap, swapped, ask.ask.start)) verdict.what = admission::parked;
            break;
          default: break;  // no plan says these
        }
        judge(b, ask.place, std::move(verdict));
      }
      go();
    });
  }

  // What the store says of one that the step let in, or parked.
  static bool let_in(const std::shared_ptr<const storage::swap_request>& asked, const storage::swap_answer& told,
                     const storage::start_key& start) {
    for (std::size_t i = 0; i < asked->let_in.size() && i < told.let_in.size(); ++i)
      if (asked->let_in[i].fence == start.fence) return told.let_in[i] == errc::none;
    return false;
  }
  static bool waits(const std::shared_ptr<const storage::swap_request>& asked, const storage::swap_answer& told,
                    const storage::start_key& start) {
    for (std::size_t i = 0; i < asked->parks.size() && i < told.parked.size(); ++i)
      if (asked->parks[i].start.fence == start.fence) return told.parked[i].what == admission::parked;
    return false;
  }

  // An actor of the host has said that these wait.
  void hold_back(const std::vector<std::pair<batch_ptr, waiting_ask>>& taken, cell_step& planned) const {
    std::optional<duration> soonest;
    for (std::size_t i = 0; i < taken.size(); ++i) {
      const auto& [b, ask] = taken[i];
      if (!b->park_for || planned.each[i].what != admission::granted) continue;
      planned.each[i].what = admission::parked;
      planned.swap.parks.push_back({ask.ask.start, resource});
      const auto held_back = ask.ask.start.fence;
      std::erase_if(planned.swap.let_in, [&](const auto& start) { return start.fence == held_back; });
      soonest = soonest ? std::min(*soonest, *b->park_for) : *b->park_for;
    }
    if (!soonest) return;
    planned.swap.wakes.clear();
    planned.swap.openings = {{resource, now() + *soonest}};
  }

  // The last who waited was woken or deleted.
  void forget_opening() {
    storage::swap_request swap;
    swap.cell = resource;
    swap.version = seen->version;
    swap.state = seen->state;
    swap.from = seen->now - 1h;
    swap.until = seen->now + 10s;  // when to look again, if nobody could be woken
    swap.openings.push_back({resource, std::nullopt});
    question.ask(self, std::move(swap), [this](result<storage::answer> answer) {
      if (!answer) return refused({}, answer.error());
      saw(std::move(std::get<storage::swap_answer>(*answer).cell));
      go();
    });
  }

  // These, and whoever came meanwhile; who waits in the store is looked at again when its opening is told of again.
  void refused(const std::vector<std::pair<batch_ptr, waiting_ask>>& taken, const error& why) {
    look = false;
    seen.reset();
    for (const auto& [b, ask] : taken)
      judge(b, ask.place, put_off(why));
    for (const auto& [b, ask] : std::exchange(waiting, {}))
      judge(b, ask.place, put_off(why));
  }

  static void judge(const batch_ptr& b, std::size_t place, throttle_verdict verdict) {
    b->verdicts[place] = std::move(verdict);
    if (--b->left == 0) b->told.deliver(std::move(b->verdicts));
  }

  std::vector<limiter_view> describe() const {
    if (!seen || !by) return {};
    try {
      return by->look(seen->state, now());
    } catch (...) {
      return {};
    }
  }
};

cell_actor::behavior_type cell(cell_actor::stateful_pointer<cell_state> self, engine_ptr e, std::string resource,
                               const storage_actor& store) {
  arm(self, e, "cell");
  auto& s = self->state;
  s.self = self;
  s.question.begin(cat("throttler ", printable(resource, 200)), store);
  s.resource = std::move(resource);
  s.e = std::move(e);
  return behavior_with_question<cell_actor>(
      self,
      [self](acquire_atom, std::vector<throttle_request>& starts) {
        return self->state.acquire(std::move(starts), std::nullopt);
      },
      [](over_atom, const std::vector<throttled_end>&) {},  // a window gives nothing back
      [self](describe_atom) { return self->state.describe(); }, [self](open_atom) { self->state.open(); },
      [self](park_atom, std::vector<throttle_request>& starts, std::uint64_t us) {
        return self->state.acquire(std::move(starts), duration(us));
      });
}

}  // namespace

cell_actor spawn_cell(caf::local_actor* parent, engine_ptr e, std::string resource, const storage_actor& store) {
  enlist(e);
  auto made = parent->system().spawn(cell, std::move(e), std::move(resource), store);
  parent->monitor(made);
  return made;
}

}  // namespace sluice::actors
