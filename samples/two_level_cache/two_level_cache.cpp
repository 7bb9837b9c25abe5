#include "two_level_cache/two_level_cache.hpp"

#include <algorithm>
#include <stdexcept>

namespace sample {
namespace {

using namespace std::chrono_literals;

// Memory forgets its entries when it has so many; the shared level has them still.
constexpr std::size_t max_entries = 10'000;
constexpr int max_looks = 8;

void check(const cache_times& times) {
  if (times.state <= 0s || times.data <= times.state)
    throw std::invalid_argument("the data's time to live must be longer than the state's, which must be above 0");
  if (times.lock < 100ms || times.lock > 24h)
    throw std::invalid_argument("the lock's time to live must be 100 ms to 1 day");
  if (times.recheck_interval < 0s) throw std::invalid_argument("look_again must not be below 0");
}

// What `call` threw, or nothing.
template <class F>
std::string failure_of(F call) {
  try {
    call();
    return {};
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "something was thrown that is no std::exception";
  }
}

}  // namespace

// A rebuild by a thread of this process, which others wait for when they have nothing.
struct two_level_cache::flight {
  bool over = false;
  std::string failure{};
  std::condition_variable changed{};  // a page has come, or it is over
};

// The first level's part of an entry. Under the cache's mutex.
struct two_level_cache::entry {
  std::optional<cached_head> head{};
  std::map<std::uint32_t, cached_page> pages{};
  std::shared_ptr<flight> rebuilding{};
  sluice::time_point ask_again{};  // another process rebuilds; not to be asked before

  cache_state state(sluice::time_point now) const {
    if (head && now < head->active_until) return cache_state::active;
    return rebuilding || now < ask_again ? cache_state::in_progress : cache_state::not_exist;
  }
  const cached_page* find(std::uint32_t number, sluice::time_point now) const {
    const auto at = pages.find(number);
    return at == pages.end() || at->second.ends <= now ? nullptr : &at->second;
  }
  // Whether the list is known to end before that page.
  bool ends_before(std::uint32_t number, sluice::time_point now) const {
    return state(now) == cache_state::active && number > head->pages;
  }
  // Two looks may come in any order: what is newer stays.
  void take(const cached_head& found) {
    if (head && head->fence >= found.fence) return;
    head = found;
    std::erase_if(pages, [&](const auto& page) { return page.second.fence < found.fence; });
  }
  void take(std::uint32_t number, const cached_page& found) {
    if (head && found.fence < head->fence) return;
    auto& page = pages[number];
    if (!page.value || found.fence >= page.fence) page = found;
  }
};

sluice::time_point two_level_cache::wall_clock() {
  return std::chrono::time_point_cast<sluice::duration>(std::chrono::system_clock::now());
}

two_level_cache::two_level_cache(shared_level& shared, sluice::lock_manager& locks, cache_times times, clock now)
    : shared_(shared), locks_(locks), times_(times), now_(std::move(now)) {
  check(times_);
}

std::shared_ptr<two_level_cache::entry> two_level_cache::entry_of(const std::string& key) {
  const auto at = entries_.find(key);
  if (at != entries_.end()) return at->second;
  if (entries_.size() >= max_entries)
    std::erase_if(entries_, [](const auto& known) { return !known.second->rebuilding; });
  return entries_[key] = std::make_shared<entry>();
}

reading two_level_cache::answer(const entry& of, std::uint32_t number) const {
  const auto now = now_();
  reading told;
  told.state = of.state(now);
  if (const auto* found = of.find(number, now)) told.value = found->value;
  if (of.head) told.active_until = of.head->active_until;
  return told;
}

reading two_level_cache::value(const std::string& key, const value_loader& load) {
  return page(key, 1, [&](std::uint32_t) { return loaded_page{load(), 1}; });
}

reading two_level_cache::page(const std::string& key, std::uint32_t number, const page_loader& load) {
  std::unique_lock hold(mutex_);
  const auto mine = entry_of(key);
  const auto missing = [&] { return !mine->find(number, now_()) && !mine->ends_before(number, now_()); };
  std::string failure;
  bool loaded = false;
  if (missing()) failure = look(hold, *mine, key, number);
  if (mine->state(now_()) == cache_state::not_exist) {
    const auto led = mine->rebuilding = std::make_shared<flight>();
    failure = lead(hold, *mine, key, number, load, loaded);
    mine->rebuilding.reset();
    led->over = true;
    led->failure = failure;
    led->changed.notify_all();
  } else if (const auto other = mine->rebuilding; other && missing()) {
    other->changed.wait(hold, [&] { return other->over || !missing(); });
    if (missing()) failure = other->failure;
  }
  if (missing() && failure.empty()) failure = look(hold, *mine, key, number);
  auto told = answer(*mine, number);
  told.loaded = loaded;
  told.failure = std::move(failure);
  return told;
}

// Takes into memory what the shared level has, and says what went wrong. Whoever was quicker in between may have taken
// a newer head, to which the page that was read here does not belong: then it is read again.
std::string two_level_cache::look(std::unique_lock<std::mutex>& hold, entry& of, const std::string& key,
                                  std::uint32_t number) {
  std::string failure;
  for (int tries = 0; tries < max_looks; ++tries) {
    std::optional<cached_head> head;
    std::optional<cached_page> page;
    hold.unlock();
    failure = failure_of([&] {
      head = shared_.head(key);
      page = shared_.page(key, number);
    });
    hold.lock();
    if (head) of.take(*head);
    if (page) of.take(number, *page);
    if (!failure.empty() || !of.head || (head && head->fence >= of.head->fence)) break;
  }
  return failure;
}

// Another process may have rebuilt the entry since this one looked, or while it took the lock.
std::string two_level_cache::lead(std::unique_lock<std::mutex>& hold, entry& of, const std::string& key,
                                  std::uint32_t number, const page_loader& load, bool& loaded) {
  const auto is_active = [&] { return of.state(now_()) == cache_state::active; };
  auto failure = look(hold, of, key, number);
  if (!failure.empty() || is_active()) return failure;
  hold.unlock();
  sluice::lock_holder by;
  auto lock = locks_.take("cache:" + key, times_.lock, &by);
  hold.lock();
  if (!lock) {
    if (lock.error().code != sluice::errc::lock_held) return sluice::to_string(lock.error());
    of.ask_again = now_() + std::min(times_.recheck_interval, by.left);
    return {};
  }
  failure = look(hold, of, key, number);
  const bool needed = failure.empty() && !is_active();
  hold.unlock();
  if (needed) failure = failure_of([&] { rebuild(of, key, *lock, load); });
  loaded = needed && failure.empty();
  // So that the next may try at once. When it was lost, what was written has said so.
  if (const auto freed = lock->release(); !freed && freed.error().code != sluice::errc::stale_fence && failure.empty())
    failure = sluice::to_string(freed.error());
  if (loaded && failure.empty()) failure = failure_of([&] { prune_when_due(); });
  hold.lock();
  return failure;
}

void two_level_cache::rebuild(entry& of, const std::string& key, const sluice::held_lock& lock,
                              const page_loader& load) {
  const auto must_be_ours = [&](bool ours) {
    if (!ours) throw std::runtime_error("the lock of " + key + " was lost while it was rebuilt");
  };
  std::uint32_t pages = 1;
  for (std::uint32_t number = 1; number <= pages; ++number) {
    auto got = load(number);
    pages = std::max(got.pages, number);
    const cached_page page{std::make_shared<const std::string>(std::move(got.value)), lock.fence(),
                           now_() + times_.data};
    must_be_ours(lock.still_held() && shared_.store(key, number, page));
    std::lock_guard hold(mutex_);
    of.take(number, page);
    of.rebuilding->changed.notify_all();
  }
  const auto now = now_();
  const cached_head head{lock.fence(), pages, now + times_.state};
  must_be_ours(lock.still_held() && shared_.complete(key, head, now + times_.data));
  std::lock_guard hold(mutex_);
  of.take(head);
}

void two_level_cache::prune_when_due() {
  const auto now = now_();
  {
    std::lock_guard hold(mutex_);
    if (now < next_prune_) return;
    next_prune_ = now + times_.state;
  }
  shared_.prune(now);
}

}  // namespace sample
