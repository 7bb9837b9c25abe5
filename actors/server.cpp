// sluice::server: makes an engine and the actors around it, and takes them down in order.
#include <sluice/server.hpp>

#include <unistd.h>

#include "actors/lease_keeper.hpp"
#include "actors/own_system.hpp"
#include "actors/spawn.hpp"
#include "core/log.hpp"

namespace sluice {
namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr duration store_patience = 10s;  // for the first word and the last
constexpr duration settle_time = 1s;      // beyond the grace, for the store to take the ends

std::string host_name() {
  char buffer[256] = {};
  return ::gethostname(buffer, sizeof buffer - 1) == 0 ? buffer : "unknown";
}

error bad(std::string what) { return {errc::invalid_argument, std::move(what)}; }

// What config/ checks in a file, checked again for options made in code.
result<void> check(const server_options& o) {
  if (o.queues.empty()) return bad("queues: name at least one");
  if (o.lease < 1s || o.lease > 1h) return bad("lease must be 1 s to 1 h");
  if (o.renew_every < 0s || o.renew_every > o.lease / 2) return bad("renew_every must be at most half of the lease");
  if (o.grace < 0s || o.grace > 1h) return bad("grace must be 0 to 1 h");
  if (o.max_losses < 1 || o.max_losses > 100) return bad("max_losses must be 1 to 100");
  if (o.sweep_interval < 100ms || o.sweep_interval > 1min) return bad("sweep_interval must be 100 ms to 1 min");
  for (const auto& [name, q] : o.queues) {
    std::string plain = name;
    std::erase(plain, '*');
    if (!valid_name(plain.empty() ? "x" : plain) || name.empty()) return bad(cat("queue '", printable(name, 60), "' is no queue name or pattern"));
    if (q.workers > 1000) return bad(cat("queue ", name, ": workers must be 1 to 1000"));
    if (q.prefetch > 1000) return bad(cat("queue ", name, ": prefetch must be 0 to 1000"));
  }
  return {};
}

}  // namespace

struct server::parts {
  const server_options options;
  const handler_registry handlers;
  const filter_list filters;

  std::mutex mutex;  // one start or stop at a time
  std::function<void(const error&)> on_fatal;
  // In the order they are made; taken down backwards.
  actors::engine_ptr engine;
  std::unique_ptr<actors::own_system> system;
  actors::root_actor root;
  // What a stop left behind, for give_up_unfinished.
  std::shared_ptr<storage::runner> left_runner;
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
  if (engine) return bad("the server runs already");
  if (auto fine = check(options); !fine) return fine;
  auto opened = storage::open_runner(options.storage);
  if (!opened) return opened.error();
  if ((*opened)->durability() < options.require_durability)
    return bad("the store " + options.storage + " is weaker than require_durability asks; use sqlite:FILE");

  auto e = std::make_shared<actors::engine>();
  e->options = options;
  for (auto& [name, q] : e->options.queues)
    if (q.workers == 0) q.workers = std::max(1u, std::thread::hardware_concurrency());
  e->self.host = host_name();
  e->self.pid = ::getpid();
  e->self.name = options.server_name.empty() ? cat(e->self.host, "-", e->self.pid) : options.server_name;
  e->id = server_id(cat(e->self.name, ":", random_token()));
  e->self.id = e->id;
  e->can_run = actors::make_bodies(handlers, filters, e->options);
  e->runner = std::move(*opened);
  if (on_fatal) e->on_fatal(on_fatal);

  std::vector<storage::request> first;
  first.emplace_back(storage::beat_request{e->self});
  const auto answered = e->runner->call(std::move(first), steady_clock::now() + store_patience);
  if (const auto* refused = std::get_if<error>(&answered.at(0))) return *refused;

  engine = std::move(e);
  engine->keeper = std::make_shared<actors::lease_keeper>(engine, [this](const auto& p, fence f) { caf::anon_send(root, actors::overdue_atom::value, p->queue.value, f.value); });
  system = std::make_unique<actors::own_system>([this](caf::actor_system& made) { root = actors::spawn_root(made, engine); });
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
  for (const auto& p : engine->pools()) p->drain(asked);
  // A claim may still be under way: what it brings is given back by the pool. An empty pool is
  // therefore looked at last, after the store has answered everything that was asked before.
  std::vector<storage::request> fence_post;
  fence_post.emplace_back(storage::servers_request{});
  (void)engine->runner->call(std::move(fence_post), asked + options.grace + settle_time);
  left.clear();
  for (const auto& p : engine->pools()) p->wait_until_empty(asked + options.grace + settle_time);

  for (const auto& p : engine->pools()) p->mute();
  caf::anon_send<caf::message_priority::high>(caf::actor_cast<caf::actor>(root), caf::exit_msg{root.address(), caf::exit_reason::user_shutdown});
  root = nullptr;
  engine->keeper.reset();
  system.reset();  // waits for the actors, which wait for nothing
  for (const auto& p : engine->pools()) {
    for (const auto& [start, course] : p->held()) {
      storage::settlement end;
      end.start = {start->about.id, start->about.fence};
      end.end = storage::settlement::how::given_back;
      end.cause = "given_back";
      end.text = end.reason = "given back: its body ignored the stop request and died with its process";
      left.push_back(std::move(end));
      if (course.at == actors::phase::running) ++report.unfinished;
    }
    p->close(steady_clock::now() + std::chrono::milliseconds(200));
  }
  left_runner = left.empty() ? nullptr : engine->runner;
  std::vector<storage::request> last;
  last.emplace_back(storage::leave_request{engine->id});
  (void)engine->runner->call(std::move(last), steady_clock::now() + settle_time);  // else it is pruned as silent
  engine.reset();
  return report;
}

void server::give_up_unfinished() {
  std::lock_guard hold(parts_->mutex);
  if (parts_->left.empty()) return;
  std::vector<storage::request> asked;
  asked.emplace_back(storage::settle_request{std::exchange(parts_->left, {}), std::nullopt});
  const auto answered = parts_->left_runner->call(std::move(asked), steady_clock::now() + settle_time);
  if (const auto* refused = std::get_if<error>(&answered.at(0))) log::warn("unfinished jobs could not be given back (", to_string(*refused), "); their leases will run out");
  parts_->left_runner.reset();
}

void server::on_fatal(std::function<void(const error&)> told) {
  std::lock_guard hold(parts_->mutex);
  parts_->on_fatal = std::move(told);
  if (parts_->engine) parts_->engine->on_fatal(parts_->on_fatal);
}

}  // namespace sluice
