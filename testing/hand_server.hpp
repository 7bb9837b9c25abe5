// A server of a world: its parts are those of a real one, but what a thread or an actor would do is done when the test
// says so, on the test's thread. It claims one job at a time and runs it before it claims another.
#pragma once

#include <atomic>
#include <stdexcept>

#include "core/text.hpp"
#include "execution/duties.hpp"
#include "execution/lease_watch.hpp"
#include "testing/gate.hpp"

namespace sluice::testing {

// What the test itself got wrong.
template <class... Ts>
[[noreturn]] void fail(const Ts&... parts) {
  throw std::runtime_error(cat(parts...));
}

// Moved by the test's thread, read by the store's.
class hand_clock final : public clock {
public:
  time_point now() const override { return from_micros(now_us_); }
  // As far from its beginning as the other.
  steady_point steady_now() const override { return steady_point(duration(now_us_)); }
  void advance(duration by) { now_us_ += by.count(); }

private:
  std::atomic<std::int64_t> now_us_{micros(system_clock().now())};
};

// What the servers of one store share.
struct site {
  std::string url;
  std::shared_ptr<hand_clock> time;
  std::shared_ptr<storage::shared_store> store;
  std::vector<class hand_server*> servers{};
  std::uint64_t made = 0;  // of servers, in all

  storage::answer answer_to(const storage::request& r) const;
  template <class Answer, class Request>
  Answer ask(Request r) const {
    return std::get<Answer>(answer_to(std::move(r)));
  }
  // Time goes from one thing that is due to the next. `asleep`: does nothing meanwhile.
  void advance(duration by, const hand_server* asleep = nullptr);
  std::optional<duration> next_due() const;
};

class hand_server {
public:
  hand_server(server_options options, filter_list filters, std::shared_ptr<site> at);
  ~hand_server();
  hand_server(const hand_server&) = delete;

  void add(const handler_registry& more);
  void stand_in(const std::string& throttler, throttler_function by);
  const server_options& options() const { return options_; }
  bool serves(const queue_name& queue) const;
  std::vector<queue_name> served_queues() const;
  bool knows(const job_type& type) const { return known_types_->contains(type.value); }

  // A claimed job, with what its throttlers gave it before.
  using claimed = execution::admission_request;
  std::optional<claimed> claim(const queue_name& queue);
  void give_back(const claimed& one, const std::string& why) const;
  // Whether its throttlers let it in; else it waits in a line of the store, or has ended.
  bool let_in(const claimed& one);
  // One that was let in; until its end is stored.
  void run(const claimed& one);
  // The same, but its end is never stored, as if the server had been killed and started again. Answers its lease, to be
  // taken back.
  storage::expired_lease lose(const claimed& one);
  // How what ended last was stored; none since the last call.
  std::optional<run_end> take_end() { return std::exchange(last_end_, std::nullopt); }

  // Tells the store that it lives. The next work_off hears what others did meanwhile.
  void wake_up() {
    watch_.ask_for_cancels();
    beat();
  }
  // Does what is due now. Answers when something is due next.
  steady_point work_off();
  // When a job, a line or a schedule is.
  steady_point next_of_store() const;
  void stop();
  bool is_stopped() const { return context_->stopped; }

private:
  struct world_link;
  class world_store;
  struct queue_here {
    execution::served_queue of;
    execution::worker_id worker = 0;
    std::shared_ptr<world_link> link{};
  };

  void beat();
  queue_here& queue_of(const queue_name& queue);
  steady_point watch();
  void replace_worker(const queue_name& queue, fence f);
  // What was put off meanwhile: filters that are to be called, ends that throttlers are told of, timers of dispatchers.
  void settle();
  void note_answer(const storage::request& asked, const storage::answer& told);
  void leave() const;
  void ask(execution::duties::requests asked);

  const server_options options_;
  const filter_list filters_;
  const std::shared_ptr<site> site_;
  server_info self_;
  handler_registry handlers_;
  throttler_functions actors_;
  std::shared_ptr<const execution::type_names> known_types_ = std::make_shared<execution::type_names>();
  std::shared_ptr<execution::execution_context> context_;
  std::map<std::string, queue_here> queues_;
  std::optional<testing::gate> gate_;
  std::optional<execution::duties> duties_;
  execution::lease_watch watch_;
  std::string failed_;  // what the store refused
  std::optional<run_end> last_end_;
  std::uint64_t claims_ = 0;
  steady_point last_beat_{};
  execution::run_ptr in_hand_;  // its handler is under way
  std::uint64_t renewals_ = 0;  // of its lease
  bool ends_are_lost_ = false;
  bool in_step_ = false;  // what is called from now on must not drive this server
};

}  // namespace sluice::testing
