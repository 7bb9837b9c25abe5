// A host: an actor_system of its own with a server inside, and a client beside it.
#pragma once

#include <sluice/actors.hpp>

#include <caf/all.hpp>

#include "actors/server_world.hpp"

namespace sluice::test {

struct host_config : caf::actor_system_config {
  host_config() {
    set("scheduler.policy", caf::atom("sharing"));
    set("scheduler.max-threads", std::size_t{2});
    set("scheduler.max-throughput", std::size_t{100});
  }
};

// What its observers were told.
class told_ends {
public:
  void add(job_ended end) {
    std::lock_guard hold(mutex_);
    all_.push_back(std::move(end));
  }
  std::size_t size() const {
    std::lock_guard hold(mutex_);
    return all_.size();
  }
  std::vector<job_ended> all() const {
    std::lock_guard hold(mutex_);
    return all_;
  }

private:
  mutable std::mutex mutex_;
  std::vector<job_ended> all_;
};

struct host_world : server_world {
  host_config settings;
  told_ends ends;
  caf::actor_system system{settings};
  caf::actor observer;
  std::vector<caf::actor> mine;  // ended with the world
  std::optional<embedded_server> embedded;

  explicit host_world(const std::string& url = {}) : server_world(url) {
    observer = spawn([ends = &ends](caf::event_based_actor*) -> caf::behavior {
      return {[ends](const job_ended& end) { ends->add(end); }};
    });
  }
  ~host_world() {
    embedded.reset();
    for (const auto& a : mine)
      caf::anon_send_exit(a, caf::exit_reason::kill);
    observer = nullptr;
    mine.clear();
  }

  template <class F>
  caf::actor spawn(F behavior_of) {
    mine.push_back(system.spawn(std::move(behavior_of)));
    return mine.back();
  }

  void start() {
    auto spawned = spawn_server(system, options, handlers, filters);
    if (!spawned) throw std::runtime_error(to_string(spawned.error()));
    embedded.emplace(std::move(*spawned));
  }

  new_job job_of(const std::string& type, const std::string& args = "{}") {
    new_job j;
    j.type = job_type(type);
    j.args = args;
    return j;
  }

  // By message.
  result<job_id> send_enqueue(new_job j, bool observed = false) {
    caf::scoped_actor self{system};
    result<job_id> got = error{errc::timed_out, "no answer"};
    const auto keep = [&](const job_id& id) { got = id; };
    const auto fail = [&](caf::error& e) { got = error_of(e); };
    if (observed)
      self->request(embedded->handle(), 10s, enqueue_atom::value, std::move(j), observer).receive(keep, fail);
    else self->request(embedded->handle(), 10s, enqueue_atom::value, std::move(j)).receive(keep, fail);
    return got;
  }
};

}  // namespace sluice::test
