#include "actors/running_server.hpp"

#include <algorithm>

#include "core/log.hpp"
#include "execution/dispatcher.hpp"
#include "execution/lease_keeper.hpp"
#include "storage/settle_in_parts.hpp"

namespace sluice::actors {
namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

// Beyond the grace, for the store to take the ends; and for each of the last words. In all below 2 s.
constexpr duration settle_time = 700ms;
constexpr duration last_timeout = 400ms;

// At a stop nobody asks again.
void warn_of_refused(const storage::answer& told) {
  if (const auto* refused = std::get_if<error>(&told))
    return log::warn("unfinished jobs could not be given back (", to_string(*refused), "); their leases will run out");
  const auto& each = std::get<storage::settle_answer>(told).each;
  const auto refused = std::count_if(each.begin(), each.end(), [](errc code) {
    return code == errc::storage_busy || storage::concerns_one_end(code);
  });
  if (refused > 0) log::warn("the store cannot take the ends of ", refused, " jobs; their leases will run out");
}

}  // namespace

result<std::unique_ptr<running_server>> running_server::open(const server_options& options,
                                                             const handler_registry& handlers,
                                                             const filter_list& filters,
                                                             const pause_function& pause_for) {
  auto opened = open_server_context(options, handlers, filters, pause_for);
  if (!opened) return opened.error();
  auto made = std::make_unique<running_server>();
  made->context_ = std::move(*opened);
  made->store_ = made->context_->store;
  return made;
}

void running_server::spawn_into(caf::actor_system& system, facade_actor facade) {
  context_->keeper = std::make_shared<lease_keeper>(context_, [this](const queue_name& queue, fence f) {
    caf::anon_send(root_, overdue_atom::value, queue.value, f.value);
  });
  root_ = spawn_root(system, context_, std::move(facade));
}

stop_report running_server::stop(const std::function<void(actor_counter&)>& wait_for_actors) {
  if (!context_) return {};
  stop_report report;
  context_->quiet = true;
  context_->stopped = true;
  store_->open_for_good();  // whatever becomes of the storage actor: for the ends, and what a host still waits for
  const auto asked = steady_clock::now();
  for (const auto& p : context_->queues.pools())
    p->drain(asked);
  const auto deadline = asked + context_->options.grace + settle_time;
  for (const auto& p : context_->queues.pools())
    p->wait_until_empty(deadline);
  for (const auto& d : context_->queues.dispatchers())
    d->end();  // before the actors that it asks are gone

  std::vector<storage::request> last;  // what the store has not taken yet keeps its own end
  std::size_t bytes = 0;
  const auto keep = [&](const storage::settlement& end) {
    bytes += storage::bytes_of(end);
    if (last.empty() || bytes > max_bytes_of_ends) {
      last.emplace_back(storage::settle_request{});
      bytes = storage::bytes_of(end);
    }
    std::get<storage::settle_request>(last.back()).runs.push_back(end);
  };
  for (const auto& p : context_->queues.pools()) {
    p->workers.disable_callbacks();
    for (const auto& [run, state] : p->held()) {
      if (state.filed) {
        keep(*state.filed);
        continue;
      }
      ++report.unfinished;
      left_.push_back(given_back({run->about.id, run->about.fence},
                                 "its handler ignored the stop request and died with its process"));
    }
  }
  context_->keeper->halt();
  caf::anon_send<caf::message_priority::high>(caf::actor_cast<caf::actor>(root_),
                                              caf::exit_msg{root_.address(), caf::exit_reason::user_shutdown});
  root_ = nullptr;
  wait_for_actors(*context_->all_actors);
  const auto close_by = steady_clock::now() + last_timeout / 2;
  for (const auto& p : context_->queues.pools())
    p->workers.close(close_by);
  context_->config->threads->close(steady_clock::now() + last_timeout / 4);
  const auto ends = last.size();
  storage::heartbeat_request served{context_->self};  // queues of patterns that are newer than the last one
  served.server.queues = context_->queues.served();
  last.emplace_back(std::move(served));
  last.emplace_back(storage::deregister_request{context_->id});
  const auto told = store_->call(std::move(last), steady_clock::now() + last_timeout);
  for (std::size_t i = 0; i < std::min(ends, told.size()); ++i)  // who cannot leave is pruned
    warn_of_refused(told[i]);
  context_->definitions.end();
  context_->fatal.end();
  context_.reset();
  if (left_.empty()) store_.reset();
  return report;
}

void running_server::leave() {
  store_->call({storage::deregister_request{context_->id}}, steady_clock::now() + last_timeout);
}

void running_server::give_back_unfinished() {
  if (left_.empty()) return;
  std::vector<storage::request> asked;
  asked.emplace_back(storage::settle_request{std::exchange(left_, {}), std::nullopt});
  warn_of_refused(store_->call(std::move(asked), steady_clock::now() + last_timeout).at(0));
  store_.reset();
}

}  // namespace sluice::actors
