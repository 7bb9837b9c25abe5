#include "samples/cache_stress/readers.hpp"

#include <algorithm>
#include <stdexcept>
#include <thread>

#include "samples/common/fetch.hpp"
#include "samples/provider/content.hpp"
#include "samples/two_level_cache/sqlite_level.hpp"

namespace sample {
namespace {

using namespace std::chrono_literals;

// Who read an old value, or nothing, reads again so soon, so that all know early when the new one ends.
constexpr sluice::duration pause = 20ms;
constexpr sluice::duration instant = 100ms;
constexpr std::size_t max_failures = 5;

micros now_us() { return two_level_cache::wall_clock().time_since_epoch().count(); }

// What one reader reads of an entry: the value, or always the same page.
struct target {
  const server_entry* entry;
  bool heavy;
  std::uint32_t page;
  std::string resource;

  target(const server_entry& e, std::uint32_t reader)
      : entry(&e),
        heavy(e.resource.starts_with("/catalogues/")),
        page(heavy ? reader % pages_of_a_catalogue + 1 : 1),
        resource(resource_of(page)) {}
  std::string resource_of(std::uint32_t number) const {
    return heavy ? entry->resource + "?page=" + std::to_string(number) : entry->resource;
  }
};

reading read(two_level_cache& cache, const std::string& provider, const target& what) {
  if (!what.heavy) return cache.value(what.entry->name, [&] { return fetch(provider + what.resource); });
  return cache.page(what.entry->name, what.page, [&](std::uint32_t number) {
    auto text = fetch(provider + what.resource_of(number));
    const auto pages = nlohmann::json::parse(text).get<catalogue_page>().pages;
    return loaded_page{std::move(text), pages};
  });
}

// What all readers of the process saw.
class diary {
public:
  void note(const target& what, const reading& got, micros began, micros ended) {
    std::lock_guard hold(mutex_);
    ++tally_.readings;
    auto& resource = tally_.resources[what.resource];
    resource.entry = what.entry->name;
    if (!got.value) resource.last_nothing = std::max(resource.last_nothing, began);
    else if (resource.first_value == 0 || ended < resource.first_value) resource.first_value = ended;
    if (got.active_until != sluice::time_point())
      tally_.expiries[what.entry->name].try_emplace(got.active_until.time_since_epoch().count());
    if (!got.failure.empty() && tally_.failures.size() < max_failures)
      tally_.failures.push_back(what.entry->name + ": " + got.failure);
  }
  // The first reading of a reader after that instant.
  void note_expiry(const target& what, micros expired, const reading& got, micros began, micros ended) {
    std::lock_guard hold(mutex_);
    auto& met = tally_.expiries[what.entry->name][expired];
    if (began - expired <= instant.count()) ++met.at_once;
    if (!got.loaded) met.slowest = std::max(met.slowest, ended - began);
    ++(got.loaded                                               ? met.loads
       : !got.value                                             ? met.nothing
       : got.active_until.time_since_epoch().count() == expired ? met.old_values
                                                                : met.new_values);
  }
  server_tally end() { return std::move(tally_); }

private:
  std::mutex mutex_;
  server_tally tally_;
};

// One thread: sleeps until the first of its entries expires, and reads it.
class reader {
public:
  reader(two_level_cache& cache, const server_words& words, diary& notes, std::uint32_t number)
      : cache_(cache), words_(words), notes_(notes) {
    for (const auto& entry : entries_of_servers())
      plan_.push_back({target(entry, number)});
  }

  void run() {
    for (;;) {
      auto& next = *std::min_element(plan_.begin(), plan_.end(),
                                     [](const part& a, const part& b) { return a.read_at < b.read_at; });
      std::this_thread::sleep_until(sluice::time_point(sluice::duration(std::min(next.read_at, words_.end))));
      if (now_us() >= words_.end) return;
      read_one(next);
    }
  }

private:
  struct part {
    target what;
    micros expires = 0;  // of the newest value that was read; 0: none yet
    micros read_at = 0;
    bool met = false;  // that end of its state's time
  };

  void read_one(part& p) {
    const auto began = now_us();
    const auto got = read(cache_, words_.provider_url, p.what);
    const auto ended = now_us();
    notes_.note(p.what, got, began, ended);
    if (p.expires > 0 && !std::exchange(p.met, true)) notes_.note_expiry(p.what, p.expires, got, began, ended);
    const auto expires = got.active_until.time_since_epoch().count();
    p.read_at = ended + pause.count();
    if (expires <= p.expires) return;
    p.expires = p.read_at = expires;
    p.met = false;
  }

  two_level_cache& cache_;
  const server_words& words_;
  diary& notes_;
  std::vector<part> plan_;
};

}  // namespace

const std::vector<server_entry>& entries_of_servers() {
  static const std::vector<server_entry> entries{{"Country", "/documents/country"},
                                                 {"Currency", "/documents/currency"},
                                                 {"Jackpot", "/documents/jackpot"},
                                                 {"ChessCache", "/catalogues/chess"}};
  return entries;
}

server_tally read_until_the_end(const server_words& words) {
  const curl_library curl;
  auto locks = sluice::lock_manager::open({.storage = words.lock_store});
  if (!locks) throw std::runtime_error(sluice::to_string(locks.error()));
  sqlite_level shared(words.cache_file);
  two_level_cache cache(shared, *locks, times_of_servers);
  diary notes;
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t number = 0; number < words.readers; ++number)
      threads.emplace_back([&, number] { reader(cache, words, notes, number).run(); });
  }
  return notes.end();
}

}  // namespace sample
