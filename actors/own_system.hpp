// The actor_system of a server that has no host. In CAF 0.17 a thread that makes a system, or spawns into
// one from outside, keeps a reference to its logger, and ~actor_system waits until nobody has one: a server
// stopped on another thread than it was started on would wait for ever. So one thread of ours makes the
// system, spawns into it and destroys it; start and stop may come from any.
#pragma once

#include <functional>
#include <future>
#include <thread>

#include <caf/all.hpp>

namespace sluice::actors {

class own_system {
public:
  // Throws what making the system or `spawn` threw; nothing runs then.
  explicit own_system(const std::function<void(caf::actor_system&)>& spawn) : thread_([this, &spawn] { run(spawn); }) {
    try {
      ready_.get_future().get();
    } catch (...) {
      thread_.join();
      throw;
    }
  }
  // Waits until every actor has ended.
  ~own_system() {
    over_.set_value();
    thread_.join();
  }

private:
  struct config : caf::actor_system_config {
    config() {
      // Sharing parks its threads on a condition variable; stealing polls and wakes 100 µs late.
      set("scheduler.policy", caf::atom("sharing"));
      set("scheduler.max-threads", std::size_t{2});
      set("scheduler.max-throughput", std::size_t{100});
    }
  };

  void run(const std::function<void(caf::actor_system&)>& spawn) {
    try {
      config settings;
      caf::actor_system system(settings);
      spawn(system);
      ready_.set_value();  // from here on `spawn` is gone
      over_.get_future().wait();
    } catch (...) {  // a thread could not be made
      ready_.set_exception(std::current_exception());
    }
  }

  std::promise<void> ready_;
  std::promise<void> over_;
  std::thread thread_;
};

}  // namespace sluice::actors
