// What becomes of a schedule when it is set, paused, triggered and fired, on a store in memory.
#include "scheduler/schedules.hpp"
#include "core/recurring.hpp"
#include "core/text.hpp"
#include "operations/schedules.hpp"
#include "scheduler/recurrence.hpp"
#include "support/catch.hpp"
#include "support/worlds.hpp"

using namespace sluice;
using namespace sluice::operations;
using namespace sluice::scheduler;
using namespace sluice::test;
using namespace std::chrono_literals;

namespace {

struct schedule_world : sqlite_memory_world {
  storage::asker ask_store = [this](const storage::request& r) { return std::move(store().apply({&r, 1}).at(0)); };
  preparation prepare = [this](new_job job) { return enqueue_pipeline({}, {}).prepare(std::move(job), clock.now()); };

  static recurring minutely(const std::string& name = "s") {
    recurring r;
    r.name = name;
    r.job = job_type("work");
    r.cron = "* * * * *";
    r.stagger = stagger_rule::off;
    return r;
  }

  // Whether something was changed.
  result<bool> change(const std::string& name, const schedule_change& how) {
    const auto told = storage::carry_out<storage::update_schedule_answer>(
        ask_store, [&](const auto& store, const auto& then) { change_schedule(store, name, how, then); });
    return told ? result<bool>(told->updated) : result<bool>(told.error());
  }
  result<bool> put(const recurring& r, const std::string& config = {}) {
    return change(r.name, putting(r, "z1", config));
  }
  result<std::vector<storage::schedule_row>> all_rows() {
    return storage::carry_out<std::vector<storage::schedule_row>>(ask_store, all_schedules);
  }

  recurring_status status(const std::string& name = "s") {
    const auto rows = all_rows();
    for (const auto& row : *rows)
      if (row.name == name) return status_of(row);
    return {};
  }

  // As one server does; answers how many jobs it enqueued.
  std::size_t fire(const std::string& zones = "z1") {
    std::size_t enqueued = 0;
    for (const auto& row : ask<storage::due_answer>(storage::due_request{}).rows) {
      const auto fired = firing(row, clock.now(), zones, prepare);
      if (!fired.update) continue;
      for (const auto how : ask<storage::update_schedule_answer>(*fired.update).each)
        enqueued += how == storage::update_schedule_answer::how::enqueued;
    }
    return enqueued;
  }

  std::vector<std::string> jobs() {
    std::vector<std::string> ids;
    for (const auto& j : ask<storage::list_answer>(storage::list_request{{}}).page.jobs)
      ids.push_back(j.id.value);
    return ids;
  }
};

const duration to_full_minute = 20s;  // the worlds' clock begins at second 40

}  // namespace

TEST_CASE_METHOD(schedule_world, "a schedule fires its occurrences by name and instant") {
  REQUIRE(put(minutely()).ok());
  CHECK(status().next_at == clock.now() + to_full_minute);
  CHECK(fire() == 0);
  clock.advance(to_full_minute);
  CHECK(fire() == 1);
  CHECK(fire() == 0);
  const auto ids = jobs();
  REQUIRE(ids.size() == 1);
  CHECK(ids[0] == occurrence_id("s", clock.now()).value);
  const auto made = ask<storage::get_answer>(storage::get_request{job_id(ids[0])}).found;
  REQUIRE(made);
  CHECK(made->type.value == "work");
  CHECK(made->headers.at(recurring_header) == "s");
  CHECK(made->headers.at(occurrence_header) == ids[0].substr(2));
  CHECK(status().last_job == made->id);
  CHECK(status().last_at == clock.now());
  CHECK(status().next_at == clock.now() + 1min);
}

TEST_CASE_METHOD(schedule_world, "setting the same again changes nothing") {
  CHECK(*put(minutely()));
  CHECK_FALSE(*put(minutely()));
}

TEST_CASE_METHOD(schedule_world, "other instants count from when they are set") {
  REQUIRE(put(minutely()).ok());
  clock.advance(10min);  // no server runs
  auto changed = minutely();
  changed.cron = "*/2 * * * *";
  REQUIRE(*put(changed));
  CHECK(fire() == 0);
  CHECK(status().next_at > clock.now());
}

TEST_CASE_METHOD(schedule_world, "other args leave what was missed to be caught up") {
  REQUIRE(put(minutely()).ok());
  clock.advance(10min);
  auto changed = minutely();
  changed.args = "{\"a\":1}";
  REQUIRE(*put(changed));
  CHECK(fire() == 1);
}

TEST_CASE_METHOD(schedule_world, "a configuration writes only what it says anew") {
  REQUIRE(*put(minutely(), "text 1"));
  auto by_hand = minutely();
  by_hand.cron = "0 * * * *";
  REQUIRE(*put(by_hand));
  CHECK_FALSE(*put(minutely(), "text 1"));
  CHECK(status().definition->cron == "0 * * * *");
  CHECK(*put(minutely(), "text 2"));
  CHECK(status().definition->cron == "* * * * *");
}

TEST_CASE_METHOD(schedule_world, "of a configuration with a schedule that makes no sense none is stored") {
  auto wrong = minutely("b");
  const auto refused = [&](const std::vector<recurring>& all) {
    const auto told = apply_configuration(all, true, ask_store);
    CHECK(all_rows()->empty());
    return told ? std::string() : to_string(told.error());
  };
  wrong.cron = "99 * * * *";
  CHECK(refused({minutely("a"), wrong}).find("invalid_argument: schedule b: cron '99 * * * *'") == 0);
  CHECK(refused({minutely("a"), minutely("b"), minutely("a")}) ==
        "invalid_argument: schedule a: another has this name; give each its own");
}

TEST_CASE_METHOD(schedule_world, "only what a configuration made is pruned when it names it no more") {
  REQUIRE(apply_configuration({minutely("a"), minutely("b")}, false, ask_store).ok());
  REQUIRE(put(minutely("by_hand")).ok());
  REQUIRE(apply_configuration({minutely("a")}, false, ask_store).ok());
  CHECK(all_rows()->size() == 3);
  REQUIRE(apply_configuration({minutely("a")}, true, ask_store).ok());
  REQUIRE(all_rows()->size() == 2);
  CHECK(status("b").name.empty());
}

TEST_CASE_METHOD(schedule_world, "a change is made anew when another was first, and given up when that goes on") {
  REQUIRE(put(minutely()).ok());
  int refused = 0, swaps = 0;
  const auto honest = ask_store;
  ask_store = [&](const storage::request& r) -> storage::answer {
    if (!std::holds_alternative<storage::update_schedule_request>(r)) return honest(r);
    if (++swaps > refused) return honest(r);
    return storage::update_schedule_answer{};
  };
  refused = 3;
  CHECK(*change("s", pausing("s", true, "z1")));
  CHECK(swaps == 4);
  CHECK(status().paused);
  refused = 1'000'000;
  const auto given_up = change("s", pausing("s", false, "z1"));
  REQUIRE_FALSE(given_up.ok());
  CHECK(given_up.error().code == errc::storage_busy);
  CHECK(status().paused);
}

TEST_CASE_METHOD(schedule_world, "what falls into a pause is not caught up") {
  REQUIRE(put(minutely()).ok());
  REQUIRE(*change("s", pausing("s", true, "z1")));
  CHECK_FALSE(*change("s", pausing("s", true, "z1")));
  CHECK(status().paused);
  CHECK_FALSE(status().next_at.has_value());
  clock.advance(1h);
  CHECK(fire() == 0);
  auto changed = minutely();
  changed.args = "{\"a\":1}";
  REQUIRE(*put(changed));  // and stays paused
  CHECK(status().paused);
  REQUIRE(*change("s", pausing("s", false, "z1")));
  CHECK(fire() == 0);
  clock.advance(to_full_minute);
  CHECK(fire() == 1);
}

TEST_CASE_METHOD(schedule_world, "a triggered schedule runs now and at its next instant too") {
  auto r = minutely();
  r.overlap = overlap_rule::skip;
  REQUIRE(put(r).ok());
  REQUIRE(*change("s", pausing("s", true, "z1")));
  REQUIRE(*change("s", triggering("s", job_id("now"), prepare)));
  REQUIRE(*change("s", triggering("s", job_id("again"), prepare)));
  CHECK(jobs().size() == 2);
  CHECK(status().last_job.value == "again");
  REQUIRE(*change("s", triggering("s", job_id("again"), prepare)));  // an answer was lost
  CHECK(jobs().size() == 2);
  CHECK(change("none", triggering("none", job_id("x"), prepare)).error().code == errc::not_found);
}

TEST_CASE_METHOD(schedule_world, "a schedule that cannot be read is shown so and disturbs no other") {
  REQUIRE(put(minutely("a")).ok());
  REQUIRE(put(minutely("z")).ok());
  storage::update_schedule_request harm;
  harm.name = "a";
  harm.version = ask<storage::schedule_answer>(storage::schedule_request{"a"}).row->version;
  harm.record = "no record";
  harm.next_at = clock.now();
  REQUIRE(ask<storage::update_schedule_answer>(harm).updated);
  clock.advance(to_full_minute);
  CHECK(fire() == 1);
  CHECK(ask<storage::due_answer>(storage::due_request{}).rows.empty());  // nobody looks at it again
  CHECK(status("a").problem.find("cannot be read") != std::string::npos);
  CHECK_FALSE(status("a").definition.has_value());
  CHECK(change("a", pausing("a", true, "z1")).error().code == errc::damaged_record);
  REQUIRE(*put(minutely("a")));
  CHECK(status("a").problem.empty());
}

TEST_CASE_METHOD(schedule_world, "a schedule whose job is refused says why and goes on") {
  REQUIRE(put(minutely()).ok());
  prepare = [](const new_job&) -> result<prepared_job> { return error{errc::refused, "not today"}; };
  clock.advance(to_full_minute);
  CHECK(fire() == 0);
  CHECK(status().problem.find("not today") != std::string::npos);
  CHECK(status().next_at == clock.now() + 1min);
  prepare = [this](new_job job) { return enqueue_pipeline({}, {}).prepare(std::move(job), clock.now()); };
  clock.advance(1min);
  CHECK(fire() == 1);
  CHECK(status().problem.empty());
}

TEST_CASE_METHOD(schedule_world, "a server that does not know a schedule's zone leaves it to others for a minute") {
  auto r = minutely();
  REQUIRE(put(r).ok());
  const auto row = [&] { return *ask<storage::schedule_answer>(storage::schedule_request{"s"}).row; };
  const auto store_with_zone = [&](const std::string& zone) {
    storage::update_schedule_request u;
    u.name = "s";
    u.version = row().version;
    u.next_at = row().next_at;
    auto record = *decode_schedule("s", row().record);
    r.zone = zone;
    record.definition = write_recurring(r);
    u.record = encode("s", record);
    REQUIRE(ask<storage::update_schedule_answer>(u).updated);
  };
  store_with_zone("Mars/Base");  // as Europe/London is to a machine without zone files
  clock.advance(to_full_minute + 10s);
  const auto due = row();
  const auto left = firing(due, clock.now(), "z1", prepare);
  CHECK_FALSE(left.update);
  CHECK(left.left_to_others_for == 50s);
  CHECK(left.problem.find("there is no time zone 'Mars/Base'") != std::string::npos);

  store_with_zone("UTC");  // as another machine knows it
  CHECK(fire() == 1);

  store_with_zone("Mars/Base");  // and nobody knows it
  clock.advance(50s + 1min);
  CHECK(fire() == 0);
  CHECK(status().problem.find("Mars/Base") != std::string::npos);
  CHECK(status().next_at == clock.now() + 1min);
}

TEST_CASE_METHOD(schedule_world, "a schedule is not resumed where its zone is not known") {
  auto r = minutely();
  REQUIRE(put(r).ok());
  REQUIRE(*change("s", pausing("s", true, "z1")));
  storage::update_schedule_request u;
  const auto row = *ask<storage::schedule_answer>(storage::schedule_request{"s"}).row;
  auto record = *decode_schedule("s", row.record);
  r.zone = "Mars/Base";
  record.definition = write_recurring(r);
  u.name = "s";
  u.version = row.version;
  u.record = encode("s", record);
  REQUIRE(ask<storage::update_schedule_answer>(u).updated);
  const auto resumed = change("s", pausing("s", false, "z1"));
  REQUIRE_FALSE(resumed);
  CHECK(resumed.error().code == errc::invalid_argument);
  CHECK(status().paused);
}

TEST_CASE_METHOD(schedule_world, "a filter may not change the id of an occurrence") {
  REQUIRE(put(minutely()).ok());
  prepare = [this](new_job job) {
    job.id = job_id("mine");
    return enqueue_pipeline({}, {}).prepare(std::move(job), clock.now());
  };
  clock.advance(to_full_minute);
  CHECK(fire() == 0);
  CHECK(status().problem.find("id") != std::string::npos);
}

TEST_CASE_METHOD(schedule_world, "other zone files plan a schedule anew and never fire twice") {
  auto r = minutely();
  r.zone = "Europe/London";
  REQUIRE(put(r).ok());
  clock.advance(to_full_minute);
  CHECK(fire() == 1);
  const auto row = [&] { return *ask<storage::schedule_answer>(storage::schedule_request{"s"}).row; };
  CHECK_FALSE(planning_anew(row(), "z1").has_value());
  auto planned = planning_anew(row(), "z2");
  REQUIRE(planned);
  CHECK(planned->next_at == clock.now() + 1min);
  REQUIRE(ask<storage::update_schedule_answer>(*planned).updated);
  CHECK(fire() == 0);
  CHECK_FALSE(planning_anew(row(), "z2").has_value());
  REQUIRE(put(minutely("utc")).ok());  // no file says when it runs
  const auto utc = *ask<storage::schedule_answer>(storage::schedule_request{"utc"}).row;
  CHECK_FALSE(planning_anew(utc, "z2").has_value());
}

TEST_CASE_METHOD(schedule_world, "a clock set an hour ahead and two hours back fires nothing twice") {
  REQUIRE(put(minutely()).ok());
  clock.advance(to_full_minute);
  REQUIRE(fire() == 1);
  clock.advance(1h);
  CHECK(fire() == 1);  // the last of the hour
  const auto fired = jobs();
  clock.advance(-2h);
  CHECK(fire() == 0);
  REQUIRE(*put([] {
    auto changed = minutely();
    changed.cron = "*/2 * * * *";
    return changed;
  }()));
  for (int i = 0; i < 120; ++i) {
    CHECK(fire() == 0);
    clock.advance(1min);
  }
  CHECK(jobs() == fired);
  clock.advance(2min);
  CHECK(fire() == 1);
}

TEST_CASE_METHOD(schedule_world, "adding an even schedule moves none of the others") {
  std::vector<duration> offsets;
  const auto offset = [&](int i) {
    return ask<storage::schedule_answer>(storage::schedule_request{cat("s", i)}).row->place->offset;
  };
  for (int i = 0; i < 8; ++i) {
    auto r = minutely(cat("s", i));
    r.stagger = stagger_rule::even;
    REQUIRE(*put(r));
    offsets.push_back(offset(i));
    for (int k = 0; k <= i; ++k)
      CHECK(offset(k) == offsets[static_cast<std::size_t>(k)]);
  }
  CHECK(offsets[1] == 30s);
  auto r = minutely("s3");
  r.stagger = stagger_rule::even;
  r.cron = "*/7 * * * *";
  REQUIRE(*put(r));  // other minutes, the same place
  CHECK(offset(3) == offsets[3]);
  clock.advance(10min);
  CHECK(fire() == 8);
  CHECK(offset(5) == offsets[5]);
}

TEST_CASE_METHOD(schedule_world, "the next instants begin with the next run and keep the place of an even schedule") {
  auto a = minutely("a"), b = minutely("b");
  a.stagger = b.stagger = stagger_rule::even;
  REQUIRE(put(a));
  REQUIRE(put(b));
  const auto next_of_b = [&](std::size_t most) { return next_instants(all_rows()->at(1), clock.now(), most); };
  const auto next = *status("b").next_at;
  CHECK(next.time_since_epoch() % 1min == 30s);
  CHECK(next_of_b(3) == std::vector{next, next + 1min, next + 2min});
  CHECK(next_of_b(0).empty());
  clock.advance(next - clock.now() + 90s);  // overdue: what was missed since is for its catch-up rule
  CHECK(next_of_b(3) == std::vector{next, next + 2min, next + 3min});
  REQUIRE(change("b", pausing("b", true, "z1")));
  CHECK(next_of_b(2) == std::vector{next + 2min, next + 3min});
}

TEST_CASE_METHOD(schedule_world, "of two who seek a place at once each gets one of its own") {
  auto a = minutely("a"), b = minutely("b");
  a.stagger = b.stagger = stagger_rule::even;
  const auto seen_by_b = ask<storage::schedule_answer>(storage::schedule_request{"b"});
  REQUIRE(*put(a));
  const auto late = putting(b, "z1")(seen_by_b);
  REQUIRE(late.ok());
  CHECK_FALSE(ask<storage::update_schedule_answer>(**late).updated);
  REQUIRE(*put(b));
  CHECK(ask<storage::schedule_answer>(storage::schedule_request{"b"}).row->place->offset == 30s);
}

TEST_CASE("a definition is read as it was written") {
  recurring r;
  r.name = "n";
  r.job = job_type("j");
  r.args = "{\"text\": \"\\u0000 \xc3\xa4\"}";
  r.cron = "*/10 * * * *";
  CHECK(*read_recurring(write_recurring(r)) == r);
  CHECK(write_recurring(r) ==
        "{\"name\":\"n\",\"job\":\"j\",\"args\":\"{\\\"text\\\": \\\"\\\\u0000 \xc3\xa4\\\"}\",\"cron\":\"*/10 * * * "
        "*\"}");
  r.cron.clear();
  r.every = 90s;
  r.zone = "UTC";
  r.queue = queue_name("q");
  r.stagger = stagger_rule::even;
  r.catch_up = catch_up_rule::all;
  r.catch_up_max = 5;
  r.headers = {{"tenant", "a"}};
  r.overlap = overlap_rule::queue_one;
  CHECK(*read_recurring(write_recurring(r)) == r);
  for (const auto* bad : {"", "[]", "{\"job\":1}", "{\"what\":1}", "{\"every\":\"soon\"}", "{\"overlap\":\"x\"}"})
    CHECK_FALSE(read_recurring(bad).ok());
}

TEST_CASE("a definition without its content has neither args nor headers") {
  recurring r;
  r.name = "n";
  r.args = "{\"secret\": 1}";
  r.headers = {{"tenant", "a"}};
  r.every = 90s;
  recurring shown;
  shown.name = "n";
  shown.every = 90s;
  CHECK(without_content(r) == shown);
}

TEST_CASE("a stored schedule is read by its own name only") {
  schedule_record record{"definition", "config", "zones", from_micros(42), true, "problem"};
  const auto bytes = encode("a", record);
  const auto read = decode_schedule("a", bytes);
  REQUIRE(read);
  CHECK(read->definition == "definition");
  CHECK(read->config == "config");
  CHECK(read->zones == "zones");
  CHECK(read->mark == from_micros(42));
  CHECK(read->paused);
  CHECK(read->problem == "problem");
  CHECK_FALSE(decode_schedule("b", bytes));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    auto harmed = bytes;
    harmed[i] = static_cast<char>(harmed[i] ^ 1);
    CHECK_FALSE(decode_schedule("a", harmed));
    CHECK_FALSE(decode_schedule("a", bytes.substr(0, i)));
  }
}
