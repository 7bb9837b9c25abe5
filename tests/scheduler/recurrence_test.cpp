// Which occurrences of a schedule run, and when: catching up, staggering, and clocks that are set.
#include <set>

#include "core/clock.hpp"
#include "core/text.hpp"
#include "scheduler/recurrence.hpp"
#include "support/catch.hpp"

using namespace sluice;
using namespace sluice::scheduler;
using namespace std::chrono_literals;

namespace {

// Noon of some day in 2026.
const time_point noon{std::chrono::sys_days{std::chrono::year{2026} / 6 / 1} + 12h};

recurring said(const std::string& cron, duration every = 0s) {
  recurring r;
  r.name = "s";
  r.job = job_type("work");
  r.cron = cron;
  r.every = every;
  r.stagger = stagger_rule::off;
  return r;
}

recurrence instants(const recurring& r, const std::optional<storage::schedule_place>& place = {}) {
  auto made = recurrence::of(r, place);
  if (!made) throw std::runtime_error(to_string(made.error()));
  return *made;
}

occurrences due(const recurring& r, time_point mark, time_point now) { return due_of(instants(r), r, mark, now); }

storage::schedule_place place(duration offset, duration span = 1min) { return {offset, span, 1}; }

std::string refusal(const recurring& r) {
  const auto checked = check(r);
  return checked ? "" : checked.error().message;
}

}  // namespace

TEST_CASE("no occurrence is due before its time") {
  const auto found = due(said("* * * * *"), noon, noon + 1min - 1us);
  CHECK(found.enqueue.empty());
  CHECK(found.mark == noon);
  CHECK(found.next == noon + 1min);
}

TEST_CASE("what is due is enqueued and the schedule moves on") {
  const auto found = due(said("* * * * *"), noon, noon + 1min);
  CHECK(found.enqueue == std::vector{noon + 1min});
  CHECK(found.mark == noon + 1min);
  CHECK(found.next == noon + 2min);
}

TEST_CASE("after downtime the last occurrence runs unless a newer one is on time") {
  auto found = due(said("* * * * *"), noon, noon + 1h + 30s);
  CHECK(found.enqueue == std::vector{noon + 1h});
  CHECK(found.next == noon + 1h + 1min);
  found = due(said("* * * * *"), noon, noon + 1h + 2s);
  CHECK(found.enqueue == std::vector{noon + 1h});
}

TEST_CASE("with catch_up none nothing runs that is late") {
  auto r = said("* * * * *");
  r.catch_up = catch_up_rule::none;
  auto found = due(r, noon, noon + 1h + 30s);
  CHECK(found.enqueue.empty());
  CHECK(found.mark == noon + 1h);
  CHECK(found.next == noon + 1h + 1min);
  found = due(r, noon, noon + 1h + 5s);  // on time still
  CHECK(found.enqueue == std::vector{noon + 1h});
}

TEST_CASE("with catch_up all every missed occurrence runs up to the cap") {
  auto r = said("* * * * *");
  r.catch_up = catch_up_rule::all;
  CHECK(due(r, noon, noon + 1h).enqueue.size() == 60);
  r.catch_up_max = 7;
  const auto found = due(r, noon, noon + 1h);
  REQUIRE(found.enqueue.size() == 7);
  CHECK(found.enqueue.front() == noon + 54min);
  CHECK(found.enqueue.back() == noon + 1h);
  CHECK(found.next == noon + 1h + 1min);
}

TEST_CASE("more than one step holds is enqueued step after step") {
  auto r = said("* * * * *");
  r.catch_up = catch_up_rule::all;
  r.catch_up_max = 250;
  std::vector<time_point> all;
  auto mark = noon;
  const auto now = noon + 24h;
  for (int steps = 0; steps < 3; ++steps) {
    const auto found = due(r, mark, now);
    CHECK(found.enqueue.size() <= occurrences_a_step);
    all.insert(all.end(), found.enqueue.begin(), found.enqueue.end());
    mark = found.mark;
    CHECK((found.next <= now) == (steps < 2));
  }
  REQUIRE(all.size() == 250);
  for (std::size_t i = 0; i < all.size(); ++i)
    CHECK(all[i] == now - (249 - static_cast<int>(i)) * 1min);
}

TEST_CASE("a short hold-up drops no occurrence whatever catch_up says") {
  for (const auto rule : {catch_up_rule::none, catch_up_rule::last, catch_up_rule::all}) {
    auto r = said("* * * * * *");
    r.catch_up = rule;
    CHECK(due(r, noon, noon + 4s).enqueue == std::vector{noon + 1s, noon + 2s, noon + 3s, noon + 4s});
  }
}

TEST_CASE("a clock that is set back fires nothing twice") {
  const auto r = said("* * * * *");
  const auto first = due(r, noon, noon + 1h);
  const auto back = due(r, first.mark, noon - 1h);
  CHECK(back.enqueue.empty());
  CHECK(back.mark == first.mark);
  CHECK(back.next == first.next);
}

TEST_CASE("an interval is counted from 1970 and not from the last run") {
  const auto all = instants(said("", 90s));
  CHECK(all.next(noon) == noon + 90s);
  CHECK(all.next(noon + 1s) == noon + 90s);
  CHECK(all.next(noon - 1us) == noon);
  CHECK(all.previous(noon) == noon);
  CHECK(all.previous(noon - 1us) == noon - 90s);
  const auto before_1970 = all.next(time_point(duration(-1)));
  CHECK(before_1970 == time_point(0us));
}

TEST_CASE("the instants of an interval are those of its neighbours") {
  for (const auto every : {duration(1s), duration(1001ms), duration(7min), duration(366 * 24h)}) {
    auto r = said("", every);
    r.stagger = stagger_rule::by_name;
    const auto all = instants(r);
    auto at = *all.next(noon);
    for (int i = 0; i < 5; ++i) {
      const auto next = all.next(at);
      CHECK(next == at + every);
      CHECK(all.previous(*next) == *next);
      CHECK(all.previous(*next - 1us) == at);
      at = *next;
    }
  }
}

TEST_CASE("the second of a staggered schedule is a hash of its name") {
  auto r = said("* * * * *");
  r.stagger = stagger_rule::by_name;
  std::set<duration> seconds;
  for (const auto* name : {"roulette", "blackjack", "baccarat", "poker", "slots", "bingo"}) {
    r.name = name;
    const auto at = *instants(r).next(noon);
    CHECK(at - noon < 1min);
    CHECK((at - noon) % 1s == 0us);
    CHECK(at == noon + offset_by_name(name, 1min));
    seconds.insert(at - noon);
  }
  CHECK(seconds.size() >= 4);
  CHECK(offset_by_name("nightly", 1min) == 10s);  // for ever: stored nowhere
  r.stagger = stagger_rule::off;
  CHECK(instants(r).next(noon - 1us) == noon);
}

TEST_CASE("an expression with seconds is not staggered") {
  auto r = said("30 * * * * *");
  r.stagger = stagger_rule::by_name;
  CHECK(instants(r).next(noon) == noon + 30s);
}

TEST_CASE("a short interval is staggered within itself") {
  auto r = said("", 10s);
  r.stagger = stagger_rule::by_name;
  for (const auto* name : {"a", "b", "c", "d"}) {
    r.name = name;
    CHECK(*instants(r).next(noon) - noon <= 10s);
  }
}

TEST_CASE("an evenly staggered schedule takes the middle of the largest gap") {
  CHECK(middle_of_largest_gap({}, 1min) == 0s);
  CHECK(middle_of_largest_gap({place(0s)}, 1min) == 30s);
  CHECK(middle_of_largest_gap({place(0s), place(30s)}, 1min) == 15s);
  CHECK(middle_of_largest_gap({place(0s), place(15s), place(30s)}, 1min) == 45s);
  CHECK(middle_of_largest_gap({place(50s), place(25s)}, 1min) == 7500ms);  // over the end of the minute
  CHECK(middle_of_largest_gap({place(0s, 10s)}, 1min) == 5s);              // it is there six times
  CHECK(middle_of_largest_gap({place(31s)}, 10s) == 6s);
  CHECK(middle_of_largest_gap({place(0s, 10s)}, 10s) == 5s);
}

TEST_CASE("thirty evenly staggered schedules never meet in a second") {
  std::vector<storage::schedule_place> taken;
  std::set<std::int64_t> seconds;
  for (int i = 0; i < 30; ++i) {
    taken.push_back(place(middle_of_largest_gap(taken, 1min)));
    seconds.insert(taken.back().offset / 1s);
  }
  CHECK(seconds.size() == 30);
}

TEST_CASE("a place is where its schedule runs") {
  auto r = said("*/5 * * * *");
  r.stagger = stagger_rule::even;
  CHECK(instants(r, place(1500ms)).next(noon) == noon + 1500ms);
  CHECK(instants(r, place(1500ms)).next(noon + 1500ms) == noon + 5min + 1500ms);
  CHECK(instants(r, place(1500ms)).previous(noon + 1499ms) == noon - 5min + 1500ms);
}

TEST_CASE("a definition that makes no sense is refused with what is allowed") {
  CHECK(refusal(said("* * * * *")).empty());
  CHECK(refusal(said("", 1s)).empty());
  CHECK(refusal(said("")).find("cron or every") != std::string::npos);
  CHECK(refusal(said("* * * * *", 1s)).find("not both") != std::string::npos);
  CHECK(refusal(said("", 999ms)).find("1 s to 366 days") != std::string::npos);
  CHECK(refusal(said("", 1s + 1us)).find("whole milliseconds") != std::string::npos);
  CHECK(refusal(said("61 * * * *")).starts_with("cron '61"));
  auto r = said("* * * * *");
  r.zone = "Nowhere/At_All";
  CHECK(refusal(r).starts_with("there is no time zone"));
  r = said("", 1s);
  r.zone = "Europe/London";
  CHECK(refusal(r).find("no effect with every") != std::string::npos);
  r = said("* * * * * *");
  r.stagger = stagger_rule::even;
  CHECK(refusal(r).find("has seconds") != std::string::npos);
  r = said("61 * * * *");
  r.zone = "Nowhere/At_All";
  CHECK(refusal(r).find("61 is out of range; allowed are 0 to 59; and there is no time zone") != std::string::npos);
  r.args = "[1]";
  CHECK(refusal(r).starts_with("args must be a JSON object; and cron '61"));
  r = said("* * * * *");
  r.name = std::string(151, 'x');
  CHECK(refusal(r).find("1 to 150") != std::string::npos);
  r = said("* * * * *");
  r.job = job_type("");
  CHECK(refusal(r).starts_with("job "));
  for (const auto* args : {"[1]", "", "3", "{", "{} {}"}) {
    r = said("* * * * *");
    r.args = args;
    CAPTURE(args);
    CHECK(refusal(r).starts_with("args"));
  }
  r.args = " {\"a\": {\"b\": [1, 2]}}";
  CHECK(refusal(r).empty());
  r.args = "{\"a\":\"" + std::string(32 * 1024, 'x') + "\"}";
  CHECK(check(r).error().code == errc::too_large);
  r = said("* * * * *");
  r.headers = {{"occurrence", "mine"}};
  CHECK(refusal(r).find("'occurrence' is Sluice's own") != std::string::npos);
  r.headers = {{"tenant", std::string(64 * 1024, 'x')}};
  CHECK(check(r).error().code == errc::too_large);
  r.headers.clear();
  r.catch_up_max = 0;
  CHECK(refusal(r).find("1 to 1000") != std::string::npos);
}

TEST_CASE("a schedule in a zone runs by its clocks") {
  auto r = said("30 9 * * *");
  r.zone = "America/New_York";
  const time_point summer{std::chrono::sys_days{std::chrono::year{2026} / 7 / 1}};
  const time_point winter{std::chrono::sys_days{std::chrono::year{2026} / 12 / 1}};
  CHECK(instants(r).next(summer) == summer + 13h + 30min);
  CHECK(instants(r).next(winter) == winter + 14h + 30min);
  r.stagger = stagger_rule::even;
  const time_point gap{std::chrono::sys_days{std::chrono::year{2026} / 3 / 8}};  // 02:00 to 03:00 is skipped
  r.cron = "30 2 * * *";
  CHECK(instants(r, place(17s)).next(gap + 5h) == gap + 7h + 17s);
}
