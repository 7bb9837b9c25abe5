// What a test says to the servers of a world.
#include <sluice/testing.hpp>

#include <algorithm>

#include "core/queues.hpp"
#include "core/text.hpp"
#include "testing/hand_server.hpp"

namespace sluice::testing {
namespace {

using namespace std::chrono_literals;

template <class T>
T value_of(result<T> got, std::string_view what) {
  if (!got) fail(what, ": ", to_string(got.error()));
  return std::move(*got);
}

server_options of_every_queue() {
  server_options options;
  options.queues = {{"*", {}}};
  return options;
}

client_options access(server_options options, const std::string& url, filter_list filters) {
  options.storage = url;
  auto made = client_of(options);
  made.filters = std::move(filters);
  return made;
}

std::shared_ptr<site> new_site() {
  const auto url = "sqlite::memory:world-" + random_token();
  const auto time = std::make_shared<hand_clock>();
  return std::make_shared<site>(site{url, time, value_of(storage::open_shared_store(url, time), "the world's store")});
}

void count(drained& done, run_end end) {
  switch (end) {
    case run_end::succeeded: ++done.succeeded; break;
    case run_end::failed:
    case run_end::given_up: ++done.failed; break;
    case run_end::removed: ++done.deleted; break;
    case run_end::retry:
    case run_end::deferred: ++done.retried; break;
    case run_end::given_back: ++done.given_back; break;
  }
}

}  // namespace

struct world::parts {
  const std::shared_ptr<site> at;
  sluice::client client;
  hand_server server;

  parts(std::shared_ptr<site> where, server_options options, filter_list filters)
      : at(std::move(where)),
        client(value_of(sluice::client::open(access(options, at->url, filters)), "the world's client")),
        server(std::move(options), std::move(filters), at) {}

  void check_served(const queue_name& queue) const {
    if (!server.serves(queue)) fail("queue '", queue.value, "' is not among the options' queues");
  }

  job get(const job_id& id) { return value_of(client.get(id), "the world's store"); }

  // The first whom its throttlers let in.
  std::optional<hand_server::claimed> start_next(const queue_name& queue) {
    for (;;) {
      auto next = server.claim(queue);
      if (!next || server.let_in(*next)) return next;
    }
  }

  // Of all queues when `only` is empty.
  drained drain(const queue_name& only, std::uint32_t limit) {
    drained done;
    std::map<std::string, std::uint32_t> starts;
    std::uint32_t all_starts = 0;
    server.take_end();
    for (bool more = true; std::exchange(more, false);) {
      for (const auto& queue : only.empty() ? server.served_queues() : std::vector{only}) {
        while (const auto next = server.claim(queue)) {
          more = true;
          ++starts[next->run->about.type.value];
          if (server.let_in(*next)) {
            ++done.runs;
            server.run(*next);
          }
          if (const auto end = server.take_end()) count(done, *end);
          if (++all_starts > limit) endless(starts, limit);
        }
      }
    }
    done.left = list(job_state::enqueued, only);
    return done;
  }

  [[noreturn]] static void endless(const std::map<std::string, std::uint32_t>& runs, std::uint32_t limit) {
    const auto most =
        std::max_element(runs.begin(), runs.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    fail("the drain has made more than ", limit, " starts, ", most->second, " of them of type ", most->first,
         ": does it make work without end?");
  }

  std::vector<job> list(std::optional<job_state> state, const queue_name& queue) {
    job_query query;
    query.state = state;
    query.queue = queue;
    query.limit = 200;
    std::vector<job> all;
    do {
      auto page = value_of(client.list(query), "the world's store");
      std::move(page.jobs.begin(), page.jobs.end(), std::back_inserter(all));
      query.after = std::move(page.next);
    } while (!query.after.empty());
    return all;
  }
};

world::world() : world(of_every_queue()) {}

world::world(server_options options, const handler_registry& handlers, filter_list filters)
    : parts_(new parts(new_site(), std::move(options), std::move(filters))) {
  parts_->server.add(handlers);
}

world::world(world& beside, server_options options, const handler_registry& handlers, filter_list filters)
    : parts_(new parts(beside.parts_->at, std::move(options), std::move(filters))) {
  parts_->server.add(handlers);
}

world::~world() = default;

world& world::add(const handler_registry& more) {
  parts_->server.add(more);
  return *this;
}

world& world::throttler(const std::string& name, std::function<throttle_verdict(const throttle_request&)> decide,
                        std::function<void(const throttled_end&)> ended) {
  parts_->server.stand_in(name, {std::move(decide), std::move(ended)});
  return *this;
}

sluice::client& world::client() { return parts_->client; }
const std::string& world::storage() const { return parts_->at->url; }

time_point world::now() const { return parts_->at->time->now(); }

void world::advance(duration by) { parts_->at->advance(by); }

void world::suspend(duration by) {
  parts_->at->advance(by, &parts_->server);
  parts_->server.wake_up();
  parts_->server.work_off();
}

void world::stop() { parts_->server.stop(); }

std::optional<duration> world::next_due() { return parts_->at->next_due(); }

bool world::advance_to_next() {
  const auto in = next_due();
  if (in) advance(*in);
  return in.has_value();
}

drained world::drain(std::uint32_t limit) { return parts_->drain({}, limit); }

drained world::drain(const queue_name& queue, std::uint32_t limit) {
  parts_->check_served(queue);
  return parts_->drain(queue, limit);
}

std::optional<job> world::run_next(const queue_name& queue) {
  parts_->check_served(queue);
  const auto next = parts_->start_next(queue);
  if (!next) return std::nullopt;
  parts_->server.run(*next);
  return parts_->get(next->run->about.id);
}

job world::run(new_job asked) {
  auto& server = parts_->server;
  const auto id = value_of(parts_->client.enqueue(std::move(asked)), "run");
  const auto waiting = parts_->get(id);
  if (waiting.state != job_state::enqueued) fail("job ", id.value, " cannot start: it is ", name_of(waiting.state));
  parts_->check_served(waiting.queue);
  std::vector<hand_server::claimed> before;
  auto next = server.claim(waiting.queue);
  for (; next && next->run->about.id != id; next = server.claim(waiting.queue))
    before.push_back(std::move(*next));
  for (const auto& one : before)
    server.give_back(one, "the test runs a job behind it");
  if (!next && !server.knows(waiting.type))
    fail("job ", id.value, " cannot start: there is no handler for type ", waiting.type.value);
  if (!next && server.is_stopped()) fail("job ", id.value, " cannot start: the server has stopped");
  if (!next) fail("job ", id.value, " cannot start: queue ", waiting.queue.value, " is paused");
  if (!server.let_in(*next))
    fail("job ", id.value, " cannot start: it ", value_of(parts_->client.explain(id), "run").text);
  server.run(*next);
  return parts_->get(id);
}

std::optional<job> world::lose_next(const queue_name& queue) {
  parts_->check_served(queue);
  const auto next = parts_->start_next(queue);
  if (!next) return std::nullopt;
  const auto& about = next->run->about;
  const auto lease = parts_->server.lose(*next);
  parts_->at->ask<storage::reap_answer>(storage::reap_request{{lease}, parts_->server.options().max_losses});
  return parts_->get(about.id);
}

std::vector<job> world::jobs(const job_filter& which) const {
  auto all = parts_->list(std::nullopt, which.queue);
  std::erase_if(all, [&](const job& j) {
    return (!which.type.empty() && j.type != which.type) || (which.state && j.state != *which.state);
  });
  std::reverse(all.begin(), all.end());
  return all;
}

job world::only(const std::string& type) const {
  auto all = jobs({.type = job_type(type)});
  if (all.size() != 1) fail("there are ", all.size(), " jobs of type ", type, ", not one");
  return std::move(all[0]);
}

}  // namespace sluice::testing
