// sluice::server: a server in an actor_system of its own.
#include <sluice/server.hpp>

#include "actors/own_system.hpp"
#include "actors/running_server.hpp"
#include "core/text.hpp"

namespace sluice {

struct server::parts {
  const server_options options;
  handler_registry handlers;
  const filter_list filters;

  std::mutex mutex{};  // one start or stop at a time
  std::function<void(const error&)> on_fatal{};
  // Kept after a stop, for give_back_unfinished.
  std::unique_ptr<actors::running_server> running{};
  std::unique_ptr<actors::own_system> system{};

  result<void> start();
  stop_report stop();
};

server::server(server_options options, handler_registry handlers, filter_list filters)
    : parts_(new parts{std::move(options), std::move(handlers), std::move(filters)}) {}

server::~server() { stop(); }

void server::add(const handler_registry& more) {
  std::lock_guard hold(parts_->mutex);
  for (const auto& [type, entry] : more.entries())
    parts_->handlers.add(type, entry);
}

result<void> server::start() {
  std::lock_guard hold(parts_->mutex);
  return parts_->start();
}

result<void> server::parts::start() {
  if (system) return error{errc::invalid_argument, "the server runs already"};
  for (const auto& [type, entry] : handlers.entries())
    if (entry.route)
      return error{errc::invalid_argument, "type " + type +
                                               " is handled by an actor, which this server has no system for; use "
                                               "sluice::spawn_server in the actor's own system"};
  auto opened = actors::running_server::open(options, handlers, filters);
  if (!opened) return opened.error();
  running = std::move(*opened);
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
  std::lock_guard hold(parts_->mutex);
  if (parts_->running) parts_->running->quiet();
}

stop_report server::stop() {
  std::lock_guard hold(parts_->mutex);
  return parts_->stop();
}

stop_report server::parts::stop() {
  if (!system) return {};
  // The system's end waits for the actors, which wait for nothing.
  return running->stop([this](actors::actor_counter&) { system.reset(); });
}

void server::give_back_unfinished() {
  std::lock_guard hold(parts_->mutex);
  if (parts_->running) parts_->running->give_back_unfinished();
}

void server::on_fatal(const std::function<void(const error&)>& callback) {
  std::lock_guard hold(parts_->mutex);
  parts_->on_fatal = callback;
  if (parts_->system) parts_->running->context()->fatal.on_report(parts_->on_fatal);
}

}  // namespace sluice
