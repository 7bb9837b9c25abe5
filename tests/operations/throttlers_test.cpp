#include "operations/throttlers.hpp"

#include <deque>

#include "core/text.hpp"
#include "core/throttlers.hpp"
#include "operations/jobs.hpp"
#include "support/catch.hpp"
#include "throttling/support.hpp"

using namespace sluice;
using namespace sluice::test;
using namespace sluice::operations;
using namespace sluice::throttling;

namespace {

// A store of one dynamic window with two keys that wait, and a mutex, a page for each; it refuses its `failing`th
// question. Brings answers when it is told to.
struct scripted_store {
  int failing = 0;
  int asked = 0;
  std::deque<std::function<void()>> open{};

  async_store take() {
    return [this](storage::request r, std::function<void(storage::answer&)> then) {
      auto answer = ++asked == failing ? storage::answer(error{errc::storage_unavailable, "away"}) : answer_to(r);
      open.push_back([answer = std::move(answer), then = std::move(then)]() mutable { then(answer); });
    };
  }
  void bring_all() {
    while (!open.empty()) {
      const auto next = std::move(open.front());
      open.pop_front();
      next();
    }
  }

  static storage::answer answer_to(const storage::request& r) {
    const auto window = dynamic(10, 1, 1min, 1);
    if (const auto* page = std::get_if<storage::throttlers_request>(&r)) {
      storage::throttlers_answer told;
      for (const auto* each : {"dynamic_window:w", "dynamic_window:w/a", "dynamic_window:w/b", "mutex:m"}) {
        if (each <= page->after) continue;
        storage::throttler_row row;
        row.resource = each;
        if (row.resource == "dynamic_window:w") row.definition = write_throttler(window);
        else row.waiting = 2;
        if (row.resource != "mutex:m") told.next = row.resource;
        told.throttlers.push_back(std::move(row));
        return told;
      }
      return told;
    }
    if (std::holds_alternative<storage::read_limiter_request>(r)) return storage::read_limiter_answer{};
    if (const auto* one = std::get_if<storage::throttler_request>(&r)) {
      storage::throttler_answer told;
      told.about.resource = one->resource;
      if (one->resource == "dynamic_window:w") told.about.definition = write_throttler(window);
      else told.waiters = {job_id(one->resource + "#1"), job_id(one->resource + "#2")};
      return told;
    }
    if (std::holds_alternative<storage::explain_request>(r)) {
      storage::explain_answer told;
      told.code = errc::not_found;
      return told;
    }
    if (std::holds_alternative<storage::undefine_request>(r))
      return storage::change_answer{errc::illegal_transition, "it is held"};
    return storage::define_answer{};
  }
};

template <class T>
struct hearing {
  std::vector<result<T>> all{};
  callback<T> ear() {
    return [this](result<T> came) { all.push_back(std::move(came)); };
  }
};

}  // namespace

TEST_CASE("all throttlers are told of with the lines of their keys added") {
  scripted_store store;
  hearing<std::vector<throttler_status>> heard;
  all_throttlers(store.take(), heard.ear());
  CHECK(heard.all.empty());
  store.bring_all();
  REQUIRE(heard.all.size() == 1);
  REQUIRE(heard.all[0].ok());
  const auto& all = *heard.all[0];
  REQUIRE(all.size() == 2);
  CHECK(all[0].resource == "dynamic_window:w");
  CHECK(all[0].waiting == 4);
  CHECK(all[1].resource == "mutex:m");
  CHECK(all[1].waiting == 2);
}

TEST_CASE("the limiters of all throttlers are asked for together") {
  std::vector<std::function<void()>> open;
  std::size_t max_open = 0;
  const async_store store = [&](const storage::request& r, std::function<void(storage::answer&)> then) {
    storage::answer answer;
    if (std::holds_alternative<storage::throttlers_request>(r)) {
      storage::throttlers_answer told;
      for (int i = 0; i < 450; ++i) {
        storage::throttler_row row;
        row.resource = cat("fixed_window:w", i);
        told.throttlers.push_back(std::move(row));
      }
      answer = std::move(told);
    } else {
      storage::read_limiter_answer told;
      told.limiter.definition = write_throttler(fixed(10, 1min));
      answer = std::move(told);
    }
    open.push_back([answer = std::move(answer), then = std::move(then)]() mutable { then(answer); });
    max_open = std::max(max_open, open.size());
  };
  hearing<std::vector<throttler_status>> heard;
  all_throttlers(store, heard.ear());
  std::size_t rounds = 0;
  for (; !open.empty(); ++rounds)
    for (const auto& bring : std::exchange(open, {}))
      bring();
  REQUIRE(heard.all.size() == 1);
  CHECK(heard.all[0]->size() == 450);
  CHECK(heard.all[0]->back().resource == "fixed_window:w449");
  CHECK(rounds == 4);
  CHECK(max_open == 200);
}

TEST_CASE("a dynamic window is told of with those who wait in the lines of its keys") {
  scripted_store store;
  hearing<throttler_status> heard;
  one_throttler(store.take(), throttler_kind::dynamic_window, "W", heard.ear());
  store.bring_all();
  REQUIRE(heard.all.size() == 1);
  REQUIRE(heard.all[0].ok());
  CHECK(heard.all[0]->waiting == 4);
  CHECK(heard.all[0]->waiters == std::vector{job_id("dynamic_window:w/a#1"), job_id("dynamic_window:w/a#2"),
                                             job_id("dynamic_window:w/b#1"), job_id("dynamic_window:w/b#2")});
}

TEST_CASE("what the store refuses at any step is told once and ends it") {
  int steps = 0;
  const auto refused_at_each = [&](const auto& ask, auto heard) {
    for (steps = 1;; ++steps) {
      scripted_store store;
      store.failing = steps;
      heard.all.clear();
      ask(store.take(), heard.ear());
      store.bring_all();
      REQUIRE(heard.all.size() == 1);
      if (store.asked < steps) return;
      CHECK(store.asked == steps);
      REQUIRE_FALSE(heard.all[0].ok());
      CHECK(heard.all[0].error().code == errc::storage_unavailable);
    }
  };
  refused_at_each(all_throttlers, hearing<std::vector<throttler_status>>());
  CHECK(steps == 6);  // four pages and a limiter, and none is left
  refused_at_each(
      [](const async_store& store, const callback<throttler_status>& then) {
        one_throttler(store, throttler_kind::dynamic_window, "w", then);
      },
      hearing<throttler_status>());
  CHECK(steps == 8);
  refused_at_each(
      [](const async_store& store, const callback<throttler_change>& then) {
        set_throttler(store, {.kind = throttler_kind::mutex, .name = "m"}, then);
      },
      hearing<throttler_change>());
  CHECK(steps == 2);
}

TEST_CASE("a definition that makes no sense never reaches the store") {
  scripted_store store;
  hearing<throttler_change> heard;
  set_throttler(store.take(), {.kind = throttler_kind::semaphore, .name = "s"}, heard.ear());
  REQUIRE(heard.all.size() == 1);
  CHECK(heard.all[0].error().code == errc::invalid_argument);
  CHECK(store.asked == 0);
}

TEST_CASE("where a configuration and the store differ is told with both, and with which counts") {
  const auto semaphore = [](const char* name, std::uint64_t limit) {
    return throttler{.kind = throttler_kind::semaphore, .name = name, .limit = limit};
  };
  const auto ask = [&](const storage::request& r) -> storage::answer {
    const auto& resource = std::get<storage::throttler_request>(r).resource;
    storage::throttler_answer told;
    told.about.resource = resource;
    if (resource == "semaphore:new") return told;
    told.about.definition = write_throttler(semaphore("S", resource == "semaphore:same" ? 4 : 16));
    if (resource == "semaphore:by-hand") told.config = write_throttler(semaphore("by-hand", 4));
    if (resource == "semaphore:away") return error{errc::storage_unavailable, "away"};
    return told;
  };
  CHECK(differences({semaphore("new", 4), semaphore("same", 4), semaphore("by-hand", 4), semaphore("of-another", 4),
                     semaphore("away", 4)},
                    ask) ==
        std::vector<std::string>{
            "throttler semaphore:by-hand in the store → in the configuration: limit 16 → 4; the store's value holds, "
            "since "
            "somebody set it, until the configuration changes",
            "throttler semaphore:of-another in the store → in the configuration: limit 16 → 4; a start sets the "
            "configuration's value"});
}

TEST_CASE("a refusal to remove and a job that is not there are told in the store's words") {
  scripted_store store;
  hearing<std::string> removed;
  remove_throttler(store.take(), throttler_kind::mutex, "M", removed.ear());
  hearing<explanation> explained;
  explain_job(
      store.take(), job_id("nobody"), [] { return time_point(); }, explained.ear());
  store.bring_all();
  REQUIRE(removed.all.size() == 1);
  CHECK(removed.all[0].error().code == errc::illegal_transition);
  CHECK(removed.all[0].error().message == "it is held");
  REQUIRE(explained.all.size() == 1);
  CHECK(explained.all[0].error().code == errc::not_found);
  CHECK(explained.all[0].error().message == "there is no job nobody");
}
