#include "actors/engine.hpp"

#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <thread>

#include "actors/lease_keeper.hpp"
#include "core/log.hpp"
#include "core/queues.hpp"
#include "core/ranges.hpp"
#include "core/throttlers.hpp"
#include "scheduler/schedules.hpp"
#include "throttling/definition.hpp"

namespace sluice::actors {
namespace {

using namespace std::chrono_literals;

constexpr duration store_patience = 10s;
constexpr duration restore_patience = 300ms;  // a stop may wait for one step

std::string host_name() {
  char buffer[256] = {};
  return ::gethostname(buffer, sizeof buffer - 1) == 0 ? buffer : "unknown";
}

// Where the queue of its type stands here, a schedule says it, so that its jobs go there whoever enqueues them: another
// server, or a person by hand.
std::vector<recurring> with_queues(std::vector<recurring> all, const std::map<std::string, type_options>& types) {
  for (auto& one : all)
    if (one.queue.empty()) one.queue = queue_of_type(types, one.job);
  return all;
}

error bad(std::string what) { return {errc::invalid_argument, std::move(what)}; }

}  // namespace

std::shared_ptr<pool> engine::pool_of(const std::string& queue, const queue_options& how) {
  std::lock_guard hold(mutex_);
  auto& found = pools_[queue];
  if (found) return found;
  found = std::make_shared<pool>(queue_name(queue), how, can_run);
  // A body may outlive the engine.
  found->on_progress([weak = weak_from_this()] {
    if (const auto alive = weak.lock()) alive->keeper->progress_waits();
  });
  return found;
}

result<void> engine::store_configuration(duration patience) {
  const auto within = [&] { return std::chrono::steady_clock::now() + patience; };
  std::vector<storage::request> definitions;
  for (const auto& definition : options.throttlers) {
    auto stored = storage::to_define(definition);
    stored.config = stored.text;
    definitions.emplace_back(std::move(stored));
  }
  const auto answered = definitions.empty() ? std::vector<storage::answer>() : runner->call(definitions, within());
  for (const auto& a : answered)
    if (const auto* refused = std::get_if<error>(&a)) return *refused;
  for (std::size_t i = 0; i < answered.size(); ++i)
    if (std::get<storage::define_answer>(answered[i]).what != storage::define_answer::how::unchanged)
      log::info("throttler ", resource_of(options.throttlers[i].kind, options.throttlers[i].name), " is now ",
                write_throttler(options.throttlers[i]));
  const auto ask = [&](const storage::request& r) -> storage::answer {
    if (stopped) return error{errc::overloaded, "the server is stopping"};
    return std::move(runner->call({r}, within()).at(0));
  };
  return scheduler::apply_configuration(with_queues(options.recurring, options.jobs), options.prune_recurring, ask);
}

void engine::restore_configuration() {
  std::lock_guard hold(restoring_mutex_);
  if (stopped) return;
  if (restoring_.exchange(true)) {  // what is under way may have been too early
    must_restore = true;
    return;
  }
  const auto failed = [this](const std::string& why) {
    must_restore = true;
    log::warn("the configuration could not be stored again (", why, "); trying again in a while");
  };
  try {
    restorer_ = std::jthread([this, failed] {
      try {
        if (const auto stored = store_configuration(restore_patience); !stored) failed(to_string(stored.error()));
        else
          log::info("the configuration's ", options.throttlers.size(), " throttlers and ", options.recurring.size(),
                    " schedules are in the store again");
      } catch (const std::exception& e) {
        failed(words_of(e));
      }
      restoring_ = false;
    });
  } catch (const std::system_error& e) {  // no thread can be made now
    restoring_ = false;
    failed(words_of(e));
  }
}

void engine::end_restoring() {
  std::lock_guard hold(restoring_mutex_);
  if (restorer_.joinable()) restorer_.join();
}

void engine::read_zones() {
  if (reading_zones_.exchange(true)) return;
  try {
    zone_reader_ = std::jthread([this] {
      auto read = time_zone_version();
      std::unique_lock hold(mutex_);
      zones_ = std::move(read);
      hold.unlock();
      reading_zones_ = false;
    });
  } catch (const std::system_error& e) {  // no thread can be made now
    reading_zones_ = false;
    log::warn("the zone files could not be read anew (", words_of(e), "); trying again in ten minutes");
  }
}

bool engine::configures(std::string_view resource) const {
  const auto cell = resource.substr(0, resource.find('/'));
  return std::any_of(options.throttlers.begin(), options.throttlers.end(), [&](const throttler& definition) {
    const auto name = resource_of(definition.kind, definition.name);
    return name == resource || name == cell;
  });
}

result<engine_ptr> open_engine(const server_options& options, const handler_registry& handlers,
                               const filter_list& filters) {
  if (auto fine = check(options); !fine) return fine.error();
  auto opened = storage::open_server_runner(options.storage);
  if (!opened) return opened.error();
  if ((*opened)->durability() < options.require_durability)
    return bad(cat("the store ", log::redact(options.storage), " is ", name_of((*opened)->durability()), " (",
                   (*opened)->settings(),
                   "), which is weaker than require_durability asks; use sqlite:FILE, or Redis with appendonly yes and "
                   "appendfsync always (power_safe) or everysec (crash_safe)"));

  auto e = std::make_shared<engine>();
  e->options = options;
  for (auto& [name, q] : e->options.queues)
    if (q.workers == 0) q.workers = default_workers(name, options.special_queue_workers);
  e->self.host = host_name();
  e->self.pid = ::getpid();
  e->self.name = options.server_name.empty() ? cat(e->self.host, "-", e->self.pid) : options.server_name;
  e->id = server_id(cat(e->self.name, ":", random_token()));
  e->self.id = e->id;
  auto plans = make_throttle_plans(options.jobs);
  if (!plans) return plans.error();
  auto runs = make_bodies(handlers, filters, e->options, std::move(*plans));
  for (const auto& [name, by] : handlers.limiters())
    runs->limiters[resource_of(throttler_kind::custom, name)] = by;
  e->can_run = std::move(runs);
  e->custom_throttlers = handlers.throttlers();
  e->types = std::make_unique<type_table>(handlers);
  e->runner = std::move(*opened);

  for (const auto& definition : options.throttlers)
    if (const auto fine = throttling::check(definition); !fine) return fine.error();
  if (auto stored = e->store_configuration(store_patience); !stored) return stored.error();
  // Last of what may fail: no other sees a server that never ran.
  const auto known =
      e->runner->call({storage::beat_request{e->self}}, std::chrono::steady_clock::now() + store_patience);
  if (const auto* refused = std::get_if<error>(&known.at(0))) return *refused;
  e->runner->check_in_background();
  const auto keeps = e->runner->durability();
  const auto said = cat("store ", options.storage, " is ", name_of(keeps), " (", e->runner->settings(), ")");
  if (keeps == durability::volatile_) log::warn(said, ": jobs are lost when it restarts");
  else log::info(said);
  return e;
}

}  // namespace sluice::actors
