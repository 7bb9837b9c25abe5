// sluice::embedded_server: a server in its host's actor_system.
#include <system_error>
#include <thread>

#include <sluice/actors.hpp>

#include "actors/running_server.hpp"
#include "core/log.hpp"
#include "execution/worker_threads.hpp"

namespace sluice {
namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

// A host's scheduler may be busy. What our actors have not done by then harms nobody: nothing is held.
constexpr duration host_timeout = 500ms;

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
  static constexpr auto whose = "embedded_server";
  std::mutex mutex;  // one stop at a time
  std::unique_ptr<actors::running_server> running;
  std::atomic<const void*> config{nullptr};  // by which its workers know it
  actors::facade_actor facade;
  server_actor handle;
  std::mutex stopper_mutex;
  std::thread stopper;
  bool closed = false;  // no stopper may begin any more

  stop_report stop() {
    std::lock_guard hold(mutex);
    const auto report = running->stop([](actors::actor_counter& all) {
      constexpr int facade_alone = 1;
      if (!all.wait_until_only(facade_alone, steady_clock::now() + host_timeout))
        log::warn("the host's scheduler was too busy to end the server's actors in time; they end later");
    });
    config = nullptr;
    if (facade) caf::anon_send(facade, actors::stopped_atom::value, report.unfinished);
    facade = nullptr;
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

embedded_server::embedded_server(std::shared_ptr<parts> p) : parts_{std::move(p)} {}
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

stop_report embedded_server::stop() {
  execution::refuse_own_worker(parts_->config);
  return parts_->stop();
}

void embedded_server::give_back_unfinished() {
  std::lock_guard hold(parts_->mutex);
  parts_->running->give_back_unfinished();
}

void embedded_server::on_fatal(const std::function<void(const error&)>& callback) {
  std::lock_guard hold(parts_->mutex);
  if (parts_->running->context()) parts_->running->context()->fatal.on_report(callback);
}

result<embedded_server> spawn_server(caf::actor_system& system, const server_options& options,
                                     const handler_registry& handlers, const filter_list& filters) {
  auto opened = actors::running_server::open(options, handlers, filters);
  if (!opened) return opened.error();
  auto made = std::make_shared<embedded_server::parts>();
  made->running = std::move(*opened);
  made->config = made->running->context()->config.get();
  const auto spawn = [&] {
    std::lock_guard hold(made->mutex);
    made->facade = actors::spawn_facade(system, made->running->context(), [weak = std::weak_ptr(made)] {
      if (const auto alive = weak.lock()) alive->stop_in_background();
    });
    made->running->spawn_into(system, made->facade);
  };
  try {
    on_short_thread(spawn);
  } catch (const std::exception& failed) {  // no thread, no memory
    made->running->leave();
    {
      const std::lock_guard hold(made->stopper_mutex);
      made->closed = true;  // what there is of it cannot be stopped in order
    }
    if (made->facade) caf::anon_send_exit(made->facade, caf::exit_reason::user_shutdown);
    return error{errc::io_error, cat("the server could not be spawned: ", message_of(failed))};
  }
  made->handle = made->facade;
  return embedded_server(std::move(made));
}

}  // namespace sluice
