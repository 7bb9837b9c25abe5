#include "execution/dispatcher.hpp"

#include "core/job_state.hpp"
#include "core/log.hpp"
#include "execution/election.hpp"
#include "execution/execution_context.hpp"
#include "execution/lease_keeper.hpp"
#include "scheduler/timetable.hpp"
#include "storage/settle_in_parts.hpp"

namespace sluice::execution {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t max_refused = 64;        // ends that a queue keeps, and goes on claiming
constexpr std::size_t max_unfiltered = 1'000;  // runs that wait for their filters

// Settles the ends, and claims in the same step.
storage::request asked_by(const queue_name& queue, const open_request& request) {
  if (request.ending.empty()) return *request.claim;
  storage::settle_request settle;
  settle.queue = queue;
  settle.next = request.claim;
  settle.runs.reserve(request.ending.size());
  for (const auto& end : request.ending)
    settle.runs.push_back(*end.settlement);
  return settle;
}

// Nothing that is asked of this store will be carried out: its server ends, and waits for nothing.
bool is_for_good(errc code) {
  return code == errc::storage_lost || code == errc::storage_newer || code == errc::storage_older;
}

// What was claimed for a server that has ended meanwhile.
void give_back_claimed(storage::shared_store& store, const queue_name& queue, const storage::answer& told) {
  const auto* settled = std::get_if<storage::settle_answer>(&told);
  const auto* claimed = settled ? &settled->next : std::get_if<storage::claim_answer>(&told);
  if (!claimed || claimed->jobs.empty()) return;
  storage::settle_request back;
  back.queue = queue;
  for (const auto& one : claimed->jobs)
    back.runs.push_back(given_back({one.job.id, one.job.fence}, "the server is stopping"));
  std::vector<storage::request> asked;
  asked.emplace_back(std::move(back));
  store.submit(std::move(asked), [](const std::vector<storage::answer>&) {});
}

// None when a second request is never worth it.
std::optional<request_shares> shares_in(const execution_context& of, const pool& p) {
  if (!of.store->shared_store().has_second_connection()) return std::nullopt;
  return shares_of(p.load(), p.options.prefetch);
}

}  // namespace

dispatcher::dispatcher(std::weak_ptr<execution_context> of, std::shared_ptr<pool> runs_in)
    : context_(std::move(of)),
      pool_(std::move(runs_in)),
      executor_([queue = pool_->queue](const std::exception& thrown) {
        log::error("queue ", queue.value, ": a step of its dispatcher failed: ", message_of(thrown));
      }),
      claims_(pool_),
      filters_(context_, pool_) {}

// The server may be gone by the time that a step's turn comes.
template <class Step>
bool dispatcher::run(Step step) {
  return executor_.run([kept = shared_from_this(), step = std::move(step)]() mutable {
    if (const auto of = kept->context_.lock()) step(*kept, *of);
  });
}

void dispatcher::attach(std::shared_ptr<supervisor_link> supervisor) {
  run([supervisor = std::move(supervisor)](dispatcher& d, execution_context& of) {
    d.executor_.is_in_step();
    d.supervisor_.use(supervisor);
    d.coalescing_ = false;
    d.claims_.resume();
    d.claims_.look();
    for (const auto& request : d.open_.all())
      if (request->sent_again_later) d.send(of, request);  // its timer was the old one's
    supervisor->call_filters();
    std::vector<admission_request> unjudged;  // whom the old gate may have been asked about
    for (const auto& [run, state] : d.pool_->held())
      if (state.phase == run_phase::awaiting_admission)
        unjudged.push_back({run, {}});  // permits are the same grant again; a slot may be spent
    if (!unjudged.empty()) supervisor->ask_gate(std::move(unjudged));
    d.pump(of);
  });
}

void dispatcher::detach(const std::shared_ptr<supervisor_link>& supervisor) {
  run([supervisor](dispatcher& d, execution_context&) {
    d.executor_.is_in_step();
    d.supervisor_.forget(supervisor);
  });
}

void dispatcher::end() {
  executor_.close();
  if (is_ended_.exchange(true)) return;  // a stop may come while the pool ends
  executor_.is_in_step();                // nobody else is, ever again
  supervisor_ = {};
  if (const auto of = context_.lock(); of && threads_) of->config->shares->leave(threads_);
}

void dispatcher::call_filters() {
  if (filters_.call() >= max_unfiltered) claim_if_free();  // they held up claims
}

void dispatcher::claim_if_free() {
  run([](dispatcher& d, execution_context& of) {
    d.executor_.is_in_step();
    d.claims_.look();
    d.pump(of);
  });
}

// Handlers that are through in no time are settled by the handful: to ask for the first alone would make the others
// wait for two round trips.
void dispatcher::runs_ended() {
  run([](dispatcher& d, execution_context& of) {
    d.executor_.is_in_step();
    if (d.open_.any() || d.coalescing_ || !d.supervisor_.is_there()) return d.pump(of);
    const auto load = d.pool_->load();
    const auto soon = drain_time(load, d.min_round_trip_);
    if (!soon) return d.pump(of);
    d.coalescing_ = true;
    d.call_later(*soon, {wake_reason::more_may_have_ended});
    // The supervisor may be busy when the time has come: whoever ends the last that waits now comes instead.
    const auto parts = shares_in(of, *d.pool_);
    const std::size_t all = load.queued + load.ended;
    d.pool_->lock()->ended.tell_of(parts ? std::min<std::size_t>(parts->least, all) : all);
  });
}

void dispatcher::pump(execution_context& of) {
  coalescing_ = false;
  if (!threads_)
    threads_ = std::make_shared<thread_shares::share>([weak = weak_from_this()] {
      if (const auto alive = weak.lock()) alive->again({wake_reason::turn_for_a_thread});
    });
  while (ask_store(of))
    continue;
  if (claimer::needs_threads(of)) of.config->shares->use(threads_, threads_for(pool_->load(), open_.wanted()), 0);
}

bool dispatcher::ask_store(execution_context& of) {
  const auto slot = open_.free_slot();
  if (!slot) return false;
  const auto parts = shares_in(of, *pool_);
  auto request = std::make_shared<open_request>();
  std::uint32_t coming = 0;
  const auto other = open_.any();
  if (other) {
    if (!parts || other->failures > 0) return false;  // nothing newer is tried before what the store refused
    request->ending = pool_->lock()->ended.take(parts->least, parts->most);
    if (request->ending.empty()) return false;
    coming = other->wanted;
  } else {
    request->ending = pool_->lock()->ended.take(1, parts ? parts->most : SIZE_MAX);
  }
  if (parts) coming += pool_->load().ended;  // the next request asks for as many again
  claim_size size;
  if (supervisor_.is_there() && open_.refused_ends() < max_refused && filters_.waiting() < max_unfiltered)
    size = claims_.size(of, coming, !request->ending.empty(), threads_);
  if (request->ending.empty() && size.empty()) return false;

  request->number = of.queues.next_request();
  request->slot = *slot;
  if (!size.empty()) request->claim = claims_.claim(of, *request, size, !other);
  open_.add(request);
  send(of, request);
  return true;
}

void dispatcher::send(execution_context& of, const open_request_ptr& request) {
  // The lease of a claim that is asked again runs from the first time.
  if (request->sent == steady_point{}) request->sent = steady_clock::now();
  request->sent_again_later = false;
  std::vector<storage::request> asked;
  asked.push_back(asked_by(pool_->queue, *request));
  // In what order it settles and claims is promised to nobody.
  of.store->submit(
      std::move(asked),
      [weak = weak_from_this(), number = request->number, store = of.store->who_answers(),
       queue = pool_->queue](std::vector<storage::answer> answers) {
        const auto told = std::make_shared<std::vector<storage::answer>>(std::move(answers));
        const auto alive = weak.lock();
        const bool taken = alive && alive->run([number, told](dispatcher& d, execution_context& in) {
          d.executor_.is_in_step();
          d.answered(in, number, *told);
        });
        if (!taken) give_back_claimed(*store, queue, told->at(0));
      },
      storage::priority::unordered);
}

void dispatcher::call_later(duration in, timer what) {
  supervisor_.ask([in, what](supervisor_link& by) { by.call_later(in, what); });
}

void dispatcher::again(timer what) {
  run([what](dispatcher& d, execution_context& of) {
    d.executor_.is_in_step();
    switch (what.why) {
      case wake_reason::retry: {
        const auto request = d.open_.find(what.request);
        if (request && request->sent_again_later) d.send(of, request);
        return;
      }
      case wake_reason::more_may_have_ended: return d.pump(of);
      case wake_reason::claims_resume: d.claims_.resume(); break;
      case wake_reason::turn_of_another_over:
      case wake_reason::turn_for_a_thread: break;
    }
    d.claims_.look();
    d.pump(of);
    if (what.why == wake_reason::turn_for_a_thread) of.config->shares->forgo(d.threads_);
  });
}

void dispatcher::answered(execution_context& of, std::uint64_t number, std::vector<storage::answer>& answers) {
  const auto request = open_.find(number);
  if (!request) return;
  if (const auto* failed = std::get_if<error>(&answers.at(0))) {
    const bool is_alone = request->ending.empty() && storage::concerns_one_end(failed->code);
    if (is_alone || is_for_good(failed->code)) return refused(of, request, *failed);
    const auto delay = retry_delay(request->failures++);
    if (request->failures == 1 || request->failures % 16 == 0)
      log::warn("queue ", pool_->queue.value, ": the store refused (", to_string(*failed), "); asking again");
    request->sent_again_later = true;
    return call_later(delay, {wake_reason::retry, number});
  }
  if (request->failures == 0) {
    const auto took = std::chrono::duration_cast<duration>(steady_clock::now() - request->sent);
    min_round_trip_ = min_round_trip_.count() == 0 ? took : std::min(min_round_trip_ + min_round_trip_ / 16, took);
  }
  storage::claim_answer answer;
  std::vector<ended_run> still;
  if (auto* told = std::get_if<storage::settle_answer>(&answers[0])) {
    still = settled(of, *request, told->each);
    answer = std::move(told->next);
  } else if (auto* only = std::get_if<storage::claim_answer>(&answers[0])) {
    answer = std::move(*only);
  }
  const bool was_refused = open_.remove(request);
  keep_refused(of, std::move(still), was_refused ? request->failures + 1 : 1);
  if (was_refused) {
    claims_.look();  // there may be room again, here and in the store
  } else {
    claimed(of, *request, answer);
    claims_.answered(of, *request, answer);
  }
  pump(of);
}

void dispatcher::claimed(execution_context& of, const open_request& request, storage::claim_answer& answer) {
  if (answer.left_to_another) call_later(storage::turn_time, {wake_reason::turn_of_another_over});
  auto runs = claims_.take(of, request, answer);
  if (runs.suspect_place_is_free) supervisor_.ask([](supervisor_link& by) { by.wake_all_queues(); });
  if (runs.ready.empty() && runs.to_admit.empty()) return;
  pool_->lock()->accept(runs.ready);
  if (!runs.to_admit.empty()) {
    std::vector<run_ptr> held;
    for (const auto& one : runs.to_admit)
      held.push_back(one.run);
    held = pool_->lock()->hold(std::move(held));  // without those of an answer that came before
    std::erase_if(runs.to_admit,
                  [&](const auto& one) { return std::find(held.begin(), held.end(), one.run) == held.end(); });
    supervisor_.ask([asked = std::move(runs.to_admit)](supervisor_link& by) { by.ask_gate(asked); });
  }
  if (runs.has_chains) runs.first_timeout = std::min(runs.first_timeout, steady_clock::now() + chain_slice);
  of.keeper->notice(std::min(runs.first_timeout, request.sent + scheduler::renewal_interval(of.options)));
}

// Claims pause for a while. Ends that were asked with it are kept as those that the store cannot take.
void dispatcher::refused(execution_context& of, const open_request_ptr& request, const error& why) {
  auto ends = settled(of, *request, std::vector<errc>(request->ending.size(), errc::storage_damaged));
  if (request->wanted > 0) {
    if (claims_.is_worth_a_line())
      log::warn("queue ", pool_->queue.value, ": the store refused a claim (", to_string(why), "); asking again");
    call_later(claims_.refused(*request), {wake_reason::claims_resume});
  }
  if (request->suspect_reserved) release_suspect_slot(of);
  open_.remove(request);
  keep_refused(of, std::move(ends), request->failures + 1);
  pump(of);
}

void dispatcher::release_suspect_slot(execution_context& of) {
  if (claims_.release_suspect_slot(of)) supervisor_.ask([](supervisor_link& by) { by.wake_all_queues(); });
}

std::vector<ended_run> dispatcher::settled(execution_context& of, open_request& request,
                                           const std::vector<errc>& each) {
  std::vector<ended_run> still, not_tried;
  std::vector<filter_calls::stored_end> stored;
  for (std::size_t i = 0; i < request.ending.size(); ++i) {
    auto& one = request.ending[i];
    if (!request.handlers_told) handler_over(of, one);
    if (each[i] == errc::storage_busy) {
      not_tried.push_back(std::move(one));
    } else if (storage::concerns_one_end(each[i])) {
      if (each[i] == errc::storage_damaged) pool_->lock()->state_of(one.run).server_waits_for_it = false;
      still.push_back(std::move(one));
    } else {
      stored.push_back({std::move(one), each[i]});
    }
  }
  if (!stored.empty()) {
    filters_.add_stored(std::move(stored));
    if (of.config->has_user_filters()) supervisor_.ask([](supervisor_link& by) { by.call_filters(); });
    else filters_.call();
  }
  // Those first, so that each has its turn however many are refused.
  still.insert(still.begin(), std::make_move_iterator(not_tried.begin()), std::make_move_iterator(not_tried.end()));
  return still;
}

void dispatcher::keep_refused(execution_context& of, std::vector<ended_run> ends, std::uint32_t failures) {
  if (ends.empty()) return;
  auto request = std::make_shared<open_request>();
  request->number = of.queues.next_request();  // an answer that comes twice must not be read for fewer ends
  request->failures = failures;
  request->handlers_told = true;
  if (failures == 1 || failures % 16 == 0)
    log::warn("queue ", pool_->queue.value, ": the store cannot take the ends of ", ends.size(), " jobs, ",
              ends.back().run->about.id.value, " among them; asking again");
  request->ending = std::move(ends);
  open_.add_refused(request);
  request->sent_again_later = true;
  call_later(retry_delay(failures), {wake_reason::retry, request->number});
}

void dispatcher::handler_over(execution_context& of, const ended_run& ended) {
  if (storage::is_suspect(ended.run->about.losses)) release_suspect_slot(of);
  if (!ended.was_admitted) return;
  supervisor_.ask([run = ended.run, failed = ended.settlement->failure,
                   ran = ended.settlement->ran](supervisor_link& by) { by.notify_run_ended(run, failed, ran); });
}

void dispatcher::judged(std::vector<admission_verdict> verdicts) {
  const auto of = context_.lock();
  if (!of) return;
  std::vector<run_ptr> admitted;
  std::vector<admission_verdict> rejected;
  bool others = false;
  for (const auto& verdict : verdicts) {
    others = others || verdict.what != admission::granted;
    if (verdict.what == admission::granted) {
      admitted.push_back(verdict.run);
    } else if (verdict.what == admission::rejected) {
      rejected.push_back(verdict);
    } else if (verdict.what == admission::deferred || verdict.what == admission::undecided) {
      auto end = end_without_run(*of->config, verdict);
      pool_->lock()->end_admission(verdict.run, std::move(end));
    }
  }
  auto over = pool_->lock()->admit(admitted);
  const bool asks_filters = !rejected.empty();
  filters_.add_rejected(std::move(rejected));
  run([verdicts = std::move(verdicts), over = std::move(over), others, asks_filters](dispatcher& d,
                                                                                     execution_context& in) {
    d.executor_.is_in_step();
    if (asks_filters) d.supervisor_.ask([](supervisor_link& by) { by.call_filters(); });
    for (const auto& verdict : verdicts)
      // It waits in the store, or is no longer ours.
      if ((verdict.what == admission::parked || verdict.what == admission::stale) &&
          d.pool_->lock()->end_admission(verdict.run, std::nullopt) && storage::is_suspect(verdict.run->about.losses))
        d.release_suspect_slot(in);
    for (const auto& run : over)
      d.supervisor_.ask([run](supervisor_link& by) { by.notify_run_ended(run, false, duration(0)); });
    if (others) d.claims_.look();  // the place of one that is not let in may be another's
    d.pump(in);
  });
}

}  // namespace sluice::execution
