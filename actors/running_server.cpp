#include "actors/running_server.hpp"

#include <algorithm>

#include "actors/lease_keeper.hpp"
#include "core/log.hpp"
#include "storage/settle_apart.hpp"

namespace sluice::actors {
namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

// Beyond the grace, for the store to take the ends; and for each of the last words. In all below 2 s.
constexpr duration settle_time = 700ms;
constexpr duration last_patience = 400ms;

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
                                                             const filter_list& filters) {
  auto opened = open_engine(options, handlers, filters);
  if (!opened) return opened.error();
  auto made = std::make_unique<running_server>();
  made->engine_ = std::move(*opened);
  made->runner_ = made->engine_->runner;
  return made;
}

void running_server::spawn_into(caf::actor_system& system, door_actor door) {
  engine_->keeper = std::make_shared<lease_keeper>(
      engine_, [this](const auto& p, fence f) { caf::anon_send(root_, overdue_atom::value, p->queue.value, f.value); });
  root_ = spawn_root(system, engine_, std::move(door));
}

stop_report running_server::stop(const std::function<void(crew&)>& wait_for_actors) {
  if (!engine_) return {};
  stop_report report;
  engine_->quiet = true;
  engine_->stopped = true;
  const auto asked = steady_clock::now();
  for (const auto& p : engine_->pools())
    p->drain(asked);
  const auto deadline = asked + engine_->options.grace + settle_time;
  for (const auto& p : engine_->pools())
    p->wait_until_empty(deadline);

  storage::settle_request ended;  // what the store has not taken yet keeps its own end
  for (const auto& p : engine_->pools()) {
    p->mute();
    for (const auto& [start, course] : p->held()) {
      if (course.end) {
        ended.starts.push_back(*course.end);
        continue;
      }
      ++report.unfinished;
      left_.push_back(given_back({start->about.id, start->about.fence},
                                 "its body ignored the stop request and died with its process"));
    }
  }
  engine_->keeper->halt();
  caf::anon_send<caf::message_priority::high>(caf::actor_cast<caf::actor>(root_),
                                              caf::exit_msg{root_.address(), caf::exit_reason::user_shutdown});
  root_ = nullptr;
  wait_for_actors(*engine_->all_actors);
  const auto close_by = steady_clock::now() + last_patience / 2;
  for (const auto& p : engine_->pools())
    p->close(close_by);
  std::vector<storage::request> last;
  if (!ended.starts.empty()) last.emplace_back(std::move(ended));
  last.emplace_back(storage::leave_request{engine_->id});
  const auto told = runner_->call(std::move(last), steady_clock::now() + last_patience);
  if (told.size() > 1) warn_of_refused(told[0]);  // who cannot leave is pruned
  engine_->end_restoring();
  engine_->end_fatal();
  engine_.reset();
  if (left_.empty()) runner_.reset();
  return report;
}

void running_server::leave() {
  runner_->call({storage::leave_request{engine_->id}}, steady_clock::now() + last_patience);
}

void running_server::give_up_unfinished() {
  if (left_.empty()) return;
  std::vector<storage::request> asked;
  asked.emplace_back(storage::settle_request{std::exchange(left_, {}), std::nullopt});
  warn_of_refused(runner_->call(std::move(asked), steady_clock::now() + last_patience).at(0));
  runner_.reset();
}

}  // namespace sluice::actors
