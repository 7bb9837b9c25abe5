// A server and a client on one store of the test's own.
#pragma once

#include <sluice/client.hpp>
#include <sluice/server.hpp>

#include <stdexcept>
#include <thread>

#include "support/process.hpp"
#include "support/temp_dir.hpp"

namespace sluice::test {

struct server_world {
  temp_dir folder;
  server_options options;
  handler_registry handlers;
  filter_list filters;
  std::unique_ptr<sluice::client> client;
  std::unique_ptr<sluice::server> server;

  // On a SQLite file of its own, unless it is told of a store.
  explicit server_world(const std::string& url = {}) {
    options.storage = url.empty() ? folder.url() : url;
    options.queues = {{"default", {2, 256, {}, {}}}};
    options.grace = 1s;
    options.sweep_interval = 200ms;
    auto opened = sluice::client::open({options.storage, 10s, {}, {}});
    if (!opened) throw std::runtime_error(to_string(opened.error()));
    client = std::make_unique<sluice::client>(std::move(*opened));
  }

  void start() {
    server = std::make_unique<sluice::server>(options, handlers, filters);
    if (const auto started = server->start(); !started) throw std::runtime_error(to_string(started.error()));
  }

  job_id enqueue(const std::string& type, const std::string& args = "{}", const std::string& queue = "default",
                 duration delay = duration(0)) {
    new_job j;
    j.type = job_type(type);
    j.args = args;
    j.queue = queue_name(queue);
    j.delay = delay;
    auto id = client->enqueue(std::move(j));
    if (!id) throw std::runtime_error(to_string(id.error()));
    return *id;
  }

  job get(const job_id& id) {
    auto found = client->get(id);
    if (!found) throw std::runtime_error(to_string(found.error()));
    return std::move(*found);
  }

  bool becomes(const job_id& id, job_state state) {
    return eventually([&] { return get(id).state == state; });
  }

  queue_counts counts(const std::string& queue = "default") {
    const auto all = client->queues();
    if (all)
      for (const auto& q : *all)
        if (q.queue.value == queue) return q;
    return {};
  }
};

}  // namespace sluice::test
