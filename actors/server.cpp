// sluice::server: a server in an actor_system of its own.
#include <sluice/server.hpp>

#include <atomic>

#include <unistd.h>

#include "actors/own_system.hpp"
#include "actors/running_server.hpp"
#include "core/log.hpp"
#include "core/per_process.hpp"
#include "core/text.hpp"
#include "execution/worker_threads.hpp"

namespace sluice {

struct server::parts {
  const server_options options;
  handler_registry handlers;
  const filter_list filters;

  // Who started it; 0: nobody. A child that was forked has none of its threads, and leaves it as it is.
  std::atomic<pid_t> started_in{0};
  std::atomic<const void*> config{nullptr};  // by which its workers know it
  std::mutex mutex{};                        // one start or stop at a time
  std::function<void(const error&)> on_fatal{};
  // Kept after a stop, for give_back_unfinished.
  std::unique_ptr<actors::running_server> running{};
  std::unique_ptr<actors::own_system> system{};

  bool is_of_parent() const {
    const auto by = started_in.load();
    return by != 0 && by != ::getpid();
  }
  result<void> start(const actors::pause_function& pause_for);
  stop_report stop();
};

server::server(server_options options, handler_registry handlers, filter_list filters)
    : parts_(new parts{std::move(options), std::move(handlers), std::move(filters)}) {}

server::~server() {
  if (parts_->is_of_parent()) {
    (void)parts_.release();
    return;
  }
  std::lock_guard hold(parts_->mutex);
  parts_->stop();
}

void server::add(const handler_registry& more) {
  if (parts_->is_of_parent()) return;
  std::lock_guard hold(parts_->mutex);
  for (const auto& [type, entry] : more.entries()) {
    parts_->handlers.add(type, entry);
    if (parts_->system)
      log::warn("the handler of ", type, " came after its server's start: it counts from the server's next start");
  }
}

result<void> server::start() { return start_while(actors::sleep_on); }

result<void> server::start_while(const std::function<bool(duration)>& pause_for) {
  if (parts_->is_of_parent()) return of_other_process(parts_->started_in);
  std::lock_guard hold(parts_->mutex);
  parts_->started_in = ::getpid();  // before it opens anything: another thread may fork meanwhile
  auto started = parts_->start(pause_for);
  if (!parts_->system) parts_->started_in = 0;
  return started;
}

result<void> server::parts::start(const actors::pause_function& pause_for) {
  if (system) return error{errc::invalid_argument, "the server runs already"};
  for (const auto& [type, entry] : handlers.entries())
    if (entry.route)
      return error{errc::invalid_argument, "type " + type +
                                               " is handled by an actor, which this server has no system for; use "
                                               "sluice::spawn_server in the actor's own system"};
  auto opened = actors::running_server::open(options, handlers, filters, pause_for);
  if (!opened) return opened.error();
  running = std::move(*opened);
  config = running->context()->config.get();
  if (on_fatal) running->context()->fatal.on_report(on_fatal);
  try {
    system = std::make_unique<actors::own_system>([this](caf::actor_system& made) { running->spawn_into(made, {}); });
  } catch (const std::exception& failed) {
    running->leave();
    running.reset();
    return error{errc::io_error, cat("the server's threads could not be made: ", failed.what())};
  }
  return {};
}

void server::quiet() {
  if (parts_->is_of_parent()) return;
  std::lock_guard hold(parts_->mutex);
  if (parts_->running) parts_->running->quiet();
}

stop_report server::stop() {
  if (parts_->is_of_parent()) return {};
  execution::refuse_own_worker(parts_->config);
  std::lock_guard hold(parts_->mutex);
  return parts_->stop();
}

stop_report server::parts::stop() {
  if (!system) return {};
  // The system's end waits for the actors, which wait for nothing.
  const auto report = running->stop([this](actors::actor_counter&) { system.reset(); });
  config = nullptr;
  if (report.unfinished == 0) started_in = 0;  // nothing of it is left
  return report;
}

void server::give_back_unfinished() {
  if (parts_->is_of_parent()) return;
  std::lock_guard hold(parts_->mutex);
  if (parts_->running) parts_->running->give_back_unfinished();
}

void server::on_fatal(const std::function<void(const error&)>& callback) {
  if (parts_->is_of_parent()) return;
  std::lock_guard hold(parts_->mutex);
  parts_->on_fatal = callback;
  if (parts_->system) parts_->running->context()->fatal.on_report(parts_->on_fatal);
}

std::optional<duration> server::when_fatal(const std::function<void()>& call) {
  if (parts_->is_of_parent()) return std::nullopt;
  std::lock_guard hold(parts_->mutex);
  if (!parts_->system) return std::nullopt;
  parts_->running->context()->fatal.also_report(call);
  return parts_->options.grace;
}

}  // namespace sluice
