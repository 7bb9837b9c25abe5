// sluice::embedded_server: a server in its host's actor_system.
#include <system_error>
#include <thread>

#include <sluice/actors.hpp>

#include "actors/running_server.hpp"
#include "core/log.hpp"

namespace sluice {
namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

// A host's scheduler may be busy. What our actors have not done by then harms nobody: nothing is held.
constexpr duration patience_with_host = 500ms;

// In CAF 0.17 a thread that spawns from outside keeps the system's logger, and ~actor_system waits until it
// ends (docs/decisions/0004): so this one ends at once.
// What it throws is thrown here.
void on_short_thread(const std::function<void()>& spawn) {
  std::exception_ptr thrown;
  std::thread([&] {
    try {
      spawn();
    } catch (...) {
      thrown = std::current_exception();
    }
  }).join();
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace

struct embedded_server::parts {
  std::mutex mutex;  // one stop at a time
  std::unique_ptr<actors::running_server> running;
  actors::door_actor door;
  server_actor handle;
  std::mutex stopper_mutex;
  std::thread stopper;
  bool closed = false;  // no stopper may begin any more

  stop_report stop() {
    std::lock_guard hold(mutex);
    const auto report = running->stop([](actors::crew& all) {
      constexpr int door_alone = 1;
      if (!all.wait_until_only(door_alone, steady_clock::now() + patience_with_host))
        log::warn("the host's scheduler was too busy to end the server's actors in time; they end later");
    });
    if (door) caf::anon_send(door, actors::stopped_atom::value, report.unfinished);
    door = nullptr;
    return report;
  }

  // Asked for by message, where nothing may block.
  void stop_in_background() {
    std::lock_guard hold(stopper_mutex);
    if (closed || stopper.joinable()) return;
    stopper = std::thread([this] { stop(); });
  }

  void close() {
    stop();
    std::lock_guard hold(stopper_mutex);
    closed = true;
    if (stopper.joinable()) stopper.join();
  }
};

embedded_server::embedded_server(std::shared_ptr<parts> p) : parts_(std::move(p)) {}
embedded_server::embedded_server(embedded_server&&) noexcept = default;

embedded_server& embedded_server::operator=(embedded_server&& other) noexcept {
  if (this != &other && parts_) parts_->close();
  parts_ = std::move(other.parts_);
  return *this;
}

embedded_server::~embedded_server() {
  if (parts_) parts_->close();
}

const server_actor& embedded_server::handle() const { return parts_->handle; }

void embedded_server::quiet() {
  std::lock_guard hold(parts_->mutex);
  parts_->running->quiet();
}

stop_report embedded_server::stop() { return parts_->stop(); }

void embedded_server::give_up_unfinished() {
  std::lock_guard hold(parts_->mutex);
  parts_->running->give_up_unfinished();
}

void embedded_server::on_fatal(const std::function<void(const error&)>& told) {
  std::lock_guard hold(parts_->mutex);
  if (parts_->running->engine()) parts_->running->engine()->on_fatal(told);
}

result<embedded_server> spawn_server(caf::actor_system& system, const server_options& options,
                                     const handler_registry& handlers, const filter_list& filters) {
  auto opened = actors::running_server::open(options, handlers, filters);
  if (!opened) return opened.error();
  auto made = std::make_shared<embedded_server::parts>();
  made->running = std::move(*opened);
  const auto spawn = [&] {
    std::lock_guard hold(made->mutex);
    made->door = actors::spawn_door(system, made->running->engine(), [weak = std::weak_ptr(made)] {
      if (const auto alive = weak.lock()) alive->stop_in_background();
    });
    made->running->spawn_into(system, made->door);
  };
  try {
    on_short_thread(spawn);
  } catch (const std::exception& failed) {  // no thread, no memory
    made->running->leave();
    if (made->door) caf::anon_send_exit(made->door, caf::exit_reason::user_shutdown);
    return error{errc::io_error, cat("the server could not be spawned: ", words_of(failed))};
  }
  made->handle = made->door;
  return embedded_server(std::move(made));
}

}  // namespace sluice
