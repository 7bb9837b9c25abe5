// Schedules, found, ordered and page by page.
#include <stdexcept>
#include <tuple>

#include <sluice/client.hpp>

#include "storage/numbers.hpp"
#include "support/catch.hpp"
#include "support/temp_dir.hpp"

using namespace sluice;
using namespace sluice::test;
using namespace std::chrono_literals;

namespace {

using names = std::vector<std::string>;

struct scheduled_store {
  temp_dir folder;
  client store = open();

  scheduled_store() {
    // So many days apart that none is due while this runs.
    for (const auto& [name, type, queue, days] :
         {std::tuple("Beta", "mail", "slow", 100), {"alpha", "mail", "", 200}, {"gamma", "ping", "slow", 300}}) {
      recurring r;
      r.name = name;
      r.job = job_type(type);
      r.queue = queue_name(queue);
      r.every = days * 24h;
      r.stagger = stagger_rule::off;
      if (!store.set_recurring(r)) throw std::runtime_error(name);
    }
  }

  client open() const {
    auto opened = client::open({.storage = folder.url()});
    if (!opened) throw std::runtime_error(to_string(opened.error()));
    return std::move(*opened);
  }

  names listed(const recurring_query& query) {
    const auto page = store.recurring_jobs(query);
    if (!page) return {to_string(page.error())};
    names found;
    for (const auto& one : page->schedules)
      found.push_back(one.name);
    return found;
  }

  // Page by page of one.
  names walked(recurring_query query) {
    query.limit = 1;
    names found;
    do {
      const auto page = store.recurring_jobs(query);
      REQUIRE(page.ok());
      REQUIRE(page->schedules.size() == 1);
      found.push_back(page->schedules[0].name);
      query.after = page->next;
    } while (!query.after.empty());
    return found;
  }
};

recurring_query ordered(recurring_order order, std::string after = {}) {
  recurring_query query;
  query.order = order;
  query.after = std::move(after);
  return query;
}

}  // namespace

TEST_CASE_METHOD(scheduled_store, "schedules are found by a part of the name the type the queue and being paused") {
  REQUIRE(store.pause_recurring("gamma").ok());
  CHECK(listed({}) == names{"Beta", "alpha", "gamma"});
  CHECK(listed({.name_part = "bET"}) == names{"Beta"});
  CHECK(listed({.name_part = "a"}) == names{"Beta", "alpha", "gamma"});
  CHECK(listed({.name_part = "alphabet"}).empty());
  CHECK(listed({.type = job_type("mail")}) == names{"Beta", "alpha"});
  CHECK(listed({.queue = queue_name("slow")}) == names{"Beta", "gamma"});
  CHECK(listed({.queue = queue_name("slow"), .type = job_type("ping")}) == names{"gamma"});
  CHECK(listed({.paused = true}) == names{"gamma"});
  CHECK(listed({.name_part = "beta", .paused = true}).empty());
}

TEST_CASE_METHOD(scheduled_store,
                 "schedules are ordered by name or by their next run and those without one stand last") {
  const auto next_of = [&](const std::string& name) { return store.recurring_job(name)->status.next_at; };
  const auto by_next = listed(ordered(recurring_order::by_next));
  REQUIRE(by_next.size() == 3);
  for (std::size_t i = 1; i < by_next.size(); ++i)
    CHECK(next_of(by_next[i - 1]) <= next_of(by_next[i]));
  REQUIRE(store.pause_recurring(by_next[0]).ok());
  CHECK(listed(ordered(recurring_order::by_next)) == names{by_next[1], by_next[2], by_next[0]});
  CHECK(listed(ordered(recurring_order::by_name)) == names{"Beta", "alpha", "gamma"});
}

TEST_CASE_METHOD(scheduled_store, "a list of schedules goes on where its page ended in each order") {
  REQUIRE(store.pause_recurring("alpha").ok());
  REQUIRE(store.pause_recurring("gamma").ok());
  CHECK(walked(ordered(recurring_order::by_name)) == names{"Beta", "alpha", "gamma"});
  CHECK(walked(ordered(recurring_order::by_next)) == names{"Beta", "alpha", "gamma"});
  auto filtered = ordered(recurring_order::by_name);
  filtered.queue = queue_name("slow");
  CHECK(walked(filtered) == names{"Beta", "gamma"});
  CHECK(store.recurring_jobs(recurring_query{})->next.empty());
  CHECK(listed(ordered(recurring_order::by_name, "alpha")) == names{"gamma"});
  CHECK(listed(ordered(recurring_order::by_name, "b")) == names{"gamma"});  // "b" was removed meanwhile
  CHECK(listed(ordered(recurring_order::by_next, "never/alpha")) == names{"gamma"});
  CHECK(listed(ordered(recurring_order::by_next, "1970-01-01T00:00:00.000Z/x")) == names{"Beta", "alpha", "gamma"});
}

TEST_CASE("a page of schedules by name reads what it shows and goes on behind the store's pages to what is asked for") {
  auto store = std::move(*client::open({.storage = "sqlite::memory:"}));
  for (int i = 100; i < 350; ++i) {
    recurring r;
    r.name = "s" + std::to_string(i);
    r.job = job_type("t");
    r.every = 24h;
    REQUIRE(store.set_recurring(r).ok());
  }
  const auto questions = [] {
    for (const auto& [name, count] : storage::numbers::here().requests())
      if (name == "schedules") return count;
    return std::uint64_t{0};
  };
  const auto before = questions();
  recurring_query query;
  query.limit = 100;
  const auto first = store.recurring_jobs(query);
  REQUIRE(first->schedules.size() == 100);
  CHECK(first->next == "s199");
  CHECK(questions() - before == 1);
  query.after = "s249";
  const auto last = store.recurring_jobs(query);
  CHECK(last->schedules.size() == 100);
  CHECK(last->schedules.back().name == "s349");
  CHECK(last->next.empty());
  query.limit = 250;
  query.after.clear();
  CHECK(store.recurring_jobs(query)->schedules.size() == 250);
  query.limit = 1;
  query.name_part = "s34";
  CHECK(store.recurring_jobs(query)->next == "s340");
}

TEST_CASE_METHOD(scheduled_store, "a list of schedules refuses what is no end of a page of it") {
  const auto refused = [&](const recurring_query& query) {
    const auto page = store.recurring_jobs(query);
    return !page && page.error().code == errc::invalid_argument;
  };
  for (const auto* after : {"never/alpha", "%%%", "a b", "\n"})
    CHECK(refused(ordered(recurring_order::by_name, after)));
  for (const auto* after : {"alpha", "soon/alpha", "/alpha", "never/", "never/%%%", "never/a/b",
                            "2026-03-08T00:00:00Z/alpha", "2026-13-08T00:00:00.000Z/a"})
    CHECK(refused(ordered(recurring_order::by_next, after)));
  CHECK(refused({.limit = 0}));
}

TEST_CASE_METHOD(scheduled_store, "the next runs of a schedule begin with the one that is stored") {
  const auto one = store.recurring_job("Beta", 3);
  REQUIRE(one.ok());
  REQUIRE(one->next.size() == 3);
  CHECK(one->next[0] == one->status.next_at);
  CHECK(one->next[1] - one->next[0] == 100 * 24h);
  CHECK(one->next[2] - one->next[1] == 100 * 24h);
  CHECK(store.recurring_job("Beta", 0)->next.empty());
  CHECK(store.recurring_job("Beta", 5000)->next.size() == 1000);
  REQUIRE(store.pause_recurring("Beta").ok());
  const auto paused = store.recurring_job("Beta", 3);
  CHECK_FALSE(paused->status.next_at.has_value());
  CHECK(paused->next == one->next);
}

TEST_CASE_METHOD(scheduled_store, "a schedule that is not there is not found and the one that was meant is named") {
  const auto missing = store.recurring_job("alhpa");
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().code == errc::not_found);
  CHECK(missing.error().message == "there is no schedule alhpa; did you mean 'alpha'?");
  CHECK(store.recurring_job("quarterly-report")
            .error()
            .message.starts_with("there is no schedule quarterly-report; there are "));
}
