#include "actors/supervisor.hpp"

#include "actors/hint_router.hpp"
#include "execution/dispatcher.hpp"

namespace sluice::actors {
namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

// A worker that cannot be made is asked for again after this.
constexpr duration refill_pause = 50ms;
constexpr duration refill_later = 500ms;

// Each is a message, but for the way to other queues, so any thread may call.
class link_by_message final : public supervisor_link {
public:
  link_by_message(supervisor_actor supervisor, gate_actor gate, server_context_ptr e)
      : supervisor_(std::move(supervisor)), gate_(std::move(gate)), e_(std::move(e)) {}

  void call_later(duration in, timer what) override {
    caf::delayed_anon_send(supervisor_, in, again_atom::value, what);
  }
  void ask_gate(std::vector<admission_request> runs) override {
    caf::anon_send(gate_, admit_atom::value,
                   asks_ptr(std::make_shared<const std::vector<admission_request>>(std::move(runs))));
  }
  void notify_run_ended(const run_ptr& run, bool failed, duration ran) override {
    const auto plan = e_->config->throttles.find(run->about.type.value);
    if (plan == e_->config->throttles.end() || plan->second.custom.empty()) return;
    caf::anon_send(gate_, ended_runs_atom::value, std::vector<throttled_end>{{about_of(run), failed, ran}});
  }
  void call_filters() override { caf::anon_send(supervisor_, filters_atom::value); }
  void wake_all_queues() override { e_->hints->route(storage::hint::of_any_work()); }

private:
  const supervisor_actor supervisor_;
  const gate_actor gate_;
  const server_context_ptr e_;
};

}  // namespace

supervisor_state::~supervisor_state() {
  if (link) kept_state->dispatcher->detach(link);
}

void supervisor_state::start_up(const gate_actor& gate) {
  for (const auto& w : kept_state->workers)
    self->monitor(w);
  refill();
  use(gate);
}

void supervisor_state::use(const gate_actor& gate) {
  link = std::make_shared<link_by_message>(supervisor_actor(self), gate, e);
  kept_state->dispatcher->attach(link);
}

void supervisor_state::overdue(sluice::fence f) const { kept_state->pool->workers.retire_overdue(f); }

void supervisor_state::sweep() {
  refill();
  const auto runs = kept_state->pool->lock();
  const auto then = steady_clock::now() - e->options.sweep_interval;
  // What waits for so long was claimed when handlers were faster: others may have it.
  while (!runs->queue.empty() && runs->state_of(runs->queue.back()).queued_since < then)
    runs->give_back(run_ptr(runs->queue.back()), "waited for a worker too long");
}

void supervisor_state::worker_gone(const caf::actor_addr& who) {
  std::erase_if(kept_state->workers, [&](const worker_actor& w) { return w.address() == who; });
  // What dies again at once is made again in a while, once for all of them.
  if (steady_clock::now() - last_refill < refill_pause) {
    if (!std::exchange(refill_waits, true)) self->delayed_send(self, refill_later, sweep_atom::value);
    return;
  }
  refill();
  kept_state->dispatcher->claim_if_free();
}

void supervisor_state::refill() {
  last_refill = steady_clock::now();
  refill_waits = false;
  while (kept_state->workers.size() < kept_state->pool->options.workers)
    kept_state->workers.push_back(spawn_worker(self, e, *kept_state));
}

}  // namespace sluice::actors
