#include "actors/engine.hpp"

#include <unistd.h>

#include <thread>

#include "core/log.hpp"
#include "core/queues.hpp"

namespace sluice::actors {
namespace {

using namespace std::chrono_literals;

constexpr duration store_patience = 10s;

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
    if (!valid_name(plain.empty() ? "x" : plain) || name.empty())
      return bad(cat("queue '", printable(name, 60), "' is no queue name or pattern"));
    if (q.workers > 1000) return bad(cat("queue ", name, ": workers must be 1 to 1000"));
    if (q.prefetch > 1000) return bad(cat("queue ", name, ": prefetch must be 0 to 1000"));
  }
  return {};
}

}  // namespace

result<engine_ptr> open_engine(const server_options& options, const handler_registry& handlers,
                               const filter_list& filters) {
  if (auto fine = check(options); !fine) return fine.error();
  auto opened = storage::open_runner(options.storage);
  if (!opened) return opened.error();
  if ((*opened)->durability() < options.require_durability)
    return bad("the store " + options.storage + " is weaker than require_durability asks; use sqlite:FILE");

  auto e = std::make_shared<engine>();
  e->options = options;
  for (auto& [name, q] : e->options.queues)
    if (q.workers == 0) q.workers = default_workers(name, options.special_queue_workers);
  e->self.host = host_name();
  e->self.pid = ::getpid();
  e->self.name = options.server_name.empty() ? cat(e->self.host, "-", e->self.pid) : options.server_name;
  e->id = server_id(cat(e->self.name, ":", random_token()));
  e->self.id = e->id;
  e->can_run = make_bodies(handlers, filters, e->options);
  e->runner = std::move(*opened);

  std::vector<storage::request> first;
  first.emplace_back(storage::beat_request{e->self});
  const auto answered = e->runner->call(std::move(first), std::chrono::steady_clock::now() + store_patience);
  if (const auto* refused = std::get_if<error>(&answered.at(0))) return *refused;
  static constexpr const char* classes[] = {"volatile: lost with this process", "crash-safe", "power-safe"};
  log::info("store ", options.storage, " is ", classes[static_cast<std::size_t>(e->runner->durability())]);
  return e;
}

}  // namespace sluice::actors
