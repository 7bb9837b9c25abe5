#include "actors/hint_router.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "core/log.hpp"
#include "core/queues.hpp"
#include "core/ranges.hpp"
#include "core/throttlers.hpp"
#include "core/unresolved.hpp"

namespace sluice::actors {
namespace {

using namespace std::chrono_literals;

constexpr duration store_timeout = 10s;  // of each request of a start, and of a start that finds its store away
constexpr duration first_pause = 20ms, longest_pause = 500ms;

std::string host_name() {
  char buffer[256] = {};
  return ::gethostname(buffer, sizeof buffer - 1) == 0 ? buffer : "unknown";
}

// Whether a server that hears this can work no more. A store of another layout belongs to another version now; a
// damaged key is no reason: what does not touch it goes on.
bool is_for_good(errc code, const storage::shared_store& of) {
  if (code == errc::storage_newer || code == errc::storage_older) return true;
  return (code == errc::storage_lost || code == errc::storage_damaged) && of.has_failed_for_good();
}

}  // namespace

void server_context::use_store(std::shared_ptr<storage::shared_store> opened) {
  const storage::shared_store& asked = *opened;
  store = std::make_shared<store_access>(std::move(opened), [weak = weak_from_this(), &asked](const error& why) {
    if (!is_for_good(why.code, asked)) return;
    if (const auto alive = weak.lock()) alive->fatal.report(why);
  });
}

void zone_watch::read_again() {
  if (reading_.exchange(true)) return;
  try {
    reader_ = std::jthread([this] {
      auto read = time_zone_version();
      {
        const mutex_lock held(lock_);
        version_ = std::move(read);
      }
      reading_ = false;
    });
  } catch (const std::system_error& e) {  // no thread can be made now
    reading_ = false;
    log::warn("the zone files could not be read anew (", message_of(e), "); trying again in ten minutes");
  }
}

namespace {

result<server_context_ptr> open_at_once(const server_options& options, const handler_registry& handlers,
                                        const filter_list& filters, const std::string& token) {
  if (auto fine = check(options); !fine) return fine.error();
  if (auto has_code = require_custom_code(options, handlers); !has_code) return has_code.error();
  auto opened = storage::open_shared_store_for_server(options.storage);
  if (!opened) return opened.error();
  if ((*opened)->durability() < options.require_durability)
    return invalid(
        cat("the store ", log::redact(options.storage), " is ", name_of((*opened)->durability()), " (",
            (*opened)->settings(),
            "), which is weaker than require_durability asks; use sqlite:FILE, or Redis with appendonly yes and "
            "appendfsync always (power_safe) or everysec (crash_safe)"));

  auto e = std::make_shared<server_context>();
  e->hints = std::make_shared<hint_router>(e);
  e->options = options;
  for (auto& [name, q] : e->options.queues)
    if (q.workers == 0) q.workers = default_workers(name, options.special_queue_workers);
  e->self.host = host_name();
  e->self.pid = ::getpid();
  e->self.name = options.server_name.empty() ? cat(e->self.host, "-", e->self.pid) : options.server_name;
  e->id = server_id(cat(e->self.name, ":", token));
  e->self.id = e->id;
  e->self.has_filters = !filters.empty();
  for (const auto& [type, entry] : handlers.entries())
    if (!valid_name(type))
      return invalid(cat("a handler has the type '", printable(type, 200), "', which no job can have: it ", name_rule));
  if (handlers.entries().empty()) log::warn("this server has no handlers: it takes no jobs");
  auto plans = make_throttle_plans(options.jobs);
  if (!plans) return plans.error();
  e->self.throttled = throttled_types(*plans);
  e->config = make_execution_config(handlers, filters, e->options, std::move(*plans));
  e->custom_throttlers = handlers.throttlers();
  e->types = std::make_unique<type_table>(handlers);
  e->known_types = [types = e->types.get()] { return types->known(); };
  const auto shared_store = std::move(*opened);
  e->use_store(shared_store);

  if (auto stored = e->definitions.store(store_timeout); !stored) return stored.error();
  if (auto defined = e->definitions.check_throttlers(store_timeout); !defined) return defined.error();
  for (const auto& doubt : doubts_of(options, *e->known_types()))
    log::warn(doubt);
  if (options.dashboard)
    log::info(
        "the options have a dashboard: it is the program that starts it, by dashboard::start, and not the server");
  // Last of what may fail: no other sees a server that never ran.
  const auto known =
      e->store->call({storage::heartbeat_request{e->self}}, std::chrono::steady_clock::now() + store_timeout);
  if (const auto* refused = std::get_if<error>(&known.at(0))) return *refused;
  shared_store->check_in_background();
  const auto keeps = shared_store->durability();
  const auto said = cat("store ", options.storage, " is ", name_of(keeps), " (", shared_store->settings(), ")");
  if (keeps == durability::volatile_) log::warn(said, ": jobs are lost when it restarts");
  else log::info(said);
  return e;
}

}  // namespace

bool sleep_on(duration pause) {
  std::this_thread::sleep_for(pause);
  return true;
}

result<server_context_ptr> open_server_context(const server_options& options, const handler_registry& handlers,
                                               const filter_list& filters, const pause_function& pause_for) {
  const auto token = random_token();  // all tries are one server's
  const auto until = std::chrono::steady_clock::now() + store_timeout;
  bool is_told = false;
  for (duration pause = first_pause;; pause = std::min(pause * 2, longest_pause)) {
    auto opened = open_at_once(options, handlers, filters, token);
    if (opened) return opened;
    const auto code = opened.error().code;
    const bool may_mend = is_transient(code) && code != errc::storage_full;
    if (!may_mend || std::chrono::steady_clock::now() + pause >= until) return opened;
    if (!std::exchange(is_told, true))
      log::warn("the server cannot begin yet; it goes on trying for 10 s: ", to_string(opened.error()));
    if (!pause_for(pause)) return opened;
  }
}

}  // namespace sluice::actors
