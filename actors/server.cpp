// sluice::server: makes an engine and the actors around it, and takes them down in order.
#include <sluice/server.hpp>

#include "actors/lease_keeper.hpp"
#include "actors/own_system.hpp"
#include "actors/spawn.hpp"
#include "core/log.hpp"

namespace sluice {
namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

// Beyond the grace, for the store to take the ends; and for each of the last words. In all below 2 s.
constexpr duration settle_time = 700ms;
constexpr duration last_patience = 400ms;

}  // namespace

struct server::parts {
  const server_options options;
  const handler_registry handlers;
  const filter_list filters;

  std::mutex mutex;  // one start or stop at a time
  std::function<void(const error&)> on_fatal;
  // In the order they are made; taken down backwards.
  std::shared_ptr<storage::runner> runner;  // held here too: it must not end on its own thread
  actors::engine_ptr engine;
  std::unique_ptr<actors::own_system> system;
  actors::root_actor root;
  // What a stop left behind, for give_up_unfinished.

  std::vector<storage::settlement> left;

  result<void> start();
  stop_report stop();
};

server::server(server_options options, handler_registry handlers, filter_list filters)
    : parts_(new parts{std::move(options), std::move(handlers), std::move(filters), {}, {}, {}, {}, {}, {}, {}}) {}

server::~server() { stop(); }

result<void> server::start() {
  std::lock_guard hold(parts_->mutex);
  return parts_->start();
}

result<void> server::parts::start() {
  if (engine) return error{errc::invalid_argument, "the server runs already"};
  auto opened = actors::open_engine(options, handlers, filters);
  if (!opened) return opened.error();
  if (on_fatal) (*opened)->on_fatal(on_fatal);
  engine = std::move(*opened);
  runner = engine->runner;
  engine->keeper = std::make_shared<actors::lease_keeper>(engine, [this](const auto& p, fence f) {
    caf::anon_send(root, actors::overdue_atom::value, p->queue.value, f.value);
  });
  system = std::make_unique<actors::own_system>(
      [this](caf::actor_system& made) { root = actors::spawn_root(made, engine); });
  return {};
}

void server::quiet() {
  std::lock_guard hold(parts_->mutex);
  if (parts_->engine) parts_->engine->quiet = true;
}

stop_report server::stop() {
  std::lock_guard hold(parts_->mutex);
  return parts_->stop();
}

stop_report server::parts::stop() {
  if (!engine) return {};
  stop_report report;
  engine->quiet = true;
  const auto asked = steady_clock::now();
  for (const auto& p : engine->pools())
    p->drain(asked);
  const auto deadline = asked + options.grace + settle_time;
  for (const auto& p : engine->pools())
    p->wait_until_empty(deadline);

  left.clear();
  storage::settle_request ended;  // what the store has not taken yet keeps its own end
  for (const auto& p : engine->pools()) {
    p->mute();
    for (const auto& [start, course] : p->held()) {
      if (course.end) {
        ended.starts.push_back(*course.end);
        continue;
      }
      ++report.unfinished;
      storage::settlement end;
      end.start = {start->about.id, start->about.fence};
      end.end = storage::settlement::how::given_back;
      end.cause = "given_back";
      end.text = end.reason = "given back: its body ignored the stop request and died with its process";
      left.push_back(std::move(end));
    }
  }
  engine->keeper->halt();
  caf::anon_send<caf::message_priority::high>(caf::actor_cast<caf::actor>(root),
                                              caf::exit_msg{root.address(), caf::exit_reason::user_shutdown});
  root = nullptr;
  system.reset();  // waits for the actors, which wait for nothing
  const auto close_by = steady_clock::now() + last_patience / 2;
  for (const auto& p : engine->pools())
    p->close(close_by);
  std::vector<storage::request> last;
  if (!ended.starts.empty()) last.emplace_back(std::move(ended));
  last.emplace_back(storage::leave_request{engine->id});
  (void)runner->call(std::move(last), steady_clock::now() + last_patience);  // else leases run out, and it is pruned
  engine.reset();
  if (left.empty()) runner.reset();
  return report;
}

void server::give_up_unfinished() {
  std::lock_guard hold(parts_->mutex);
  if (parts_->left.empty()) return;
  std::vector<storage::request> asked;
  asked.emplace_back(storage::settle_request{std::exchange(parts_->left, {}), std::nullopt});
  const auto answered = parts_->runner->call(std::move(asked), steady_clock::now() + last_patience);
  if (const auto* refused = std::get_if<error>(&answered.at(0)))
    log::warn("unfinished jobs could not be given back (", to_string(*refused), "); their leases will run out");
  parts_->runner.reset();
}

void server::on_fatal(std::function<void(const error&)> told) {
  std::lock_guard hold(parts_->mutex);
  parts_->on_fatal = std::move(told);
  if (parts_->engine) parts_->engine->on_fatal(parts_->on_fatal);
}

}  // namespace sluice
