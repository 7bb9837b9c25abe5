// What people did: what sluice/operator_log.hpp promises.
#include "storage/contract.hpp"
#include "storage/named_value.hpp"
#include "storage/raw_store.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

const author anna{"anna", "dashboard"};
const author bob{"bob", "sluice"};

void note(world& w, const author& by, const std::string& what, names about, std::uint64_t count = 1) {
  w.ask<storage::done_answer>(storage::log_action_request{by, what, std::move(about), count});
}

operator_log_page page_of(world& w, std::uint32_t limit = 200, const std::string& after = {}) {
  return w.ask<storage::operator_log_answer>(storage::operator_log_request{limit, after}).page;
}
std::vector<operator_action> actions(world& w) { return page_of(w).actions; }

// All pages of so many.
names names_in_pages(world& w, std::uint32_t limit) {
  names all;
  std::string after;
  do {
    const auto page = page_of(w, limit, after);
    for (const auto& a : page.actions)
      all.push_back(a.by.name);
    after = page.next;
  } while (!after.empty());
  return all;
}

}  // namespace

ON_EACH_STORE("What a person did is told with who it was, when, through what and to what") {
  CHECK(actions(w).empty());
  const auto began = w.clock.now();
  note(w, anna, "requeue", {"a", "b"}, 450);
  w.clock.advance(1h);
  note(w, bob, "pause", {"default"});
  const auto all = actions(w);
  REQUIRE(all.size() == 2);
  CHECK(all[0].by == bob);
  CHECK(all[0].at == began + 1h);
  CHECK(all[1].by == anna);
  CHECK(all[1].what == "requeue");
  CHECK(all[1].at == began);
  CHECK(all[1].until == began);
  CHECK(all[1].count == 450);
  CHECK(all[1].about == names{"a", "b"});
  audit(w);
}

ON_EACH_STORE("What the same person does again within a minute is added to that act") {
  const auto began = w.clock.now();
  note(w, anna, "requeue", {"a"});
  w.clock.advance(59s);
  note(w, anna, "requeue", {"b", "c"}, 2);
  w.clock.advance(1s - 1us);
  note(w, anna, "requeue", {"d"});
  auto all = actions(w);
  REQUIRE(all.size() == 1);
  CHECK(all[0].at == began);
  CHECK(all[0].until == w.clock.now());
  CHECK(all[0].count == 4);
  CHECK(all[0].about == names{"a", "b", "c", "d"});

  w.clock.advance(1us);
  note(w, anna, "requeue", {"e"});  // a minute after it began
  REQUIRE(actions(w).size() == 2);
  CHECK(actions(w)[0].about == names{"e"});
  audit(w);
}

ON_EACH_STORE("Two people who work at once have an act each, and push no others out") {
  for (int i = 0; i < 100; ++i) {
    note(w, anna, "requeue", {cat("a", i)});
    note(w, bob, "requeue", {cat("b", i)});
  }
  const auto all = actions(w);
  REQUIRE(names_in_pages(w, 200) == names{"bob", "anna"});
  for (const auto& a : all)
    CHECK(a.count == 100);

  for (int i = 0; i < 10; ++i)
    note(w, {cat("n", i), ""}, "pause", {"q"});
  note(w, bob, "requeue", {"late"});  // too many came between
  CHECK(actions(w)[0].about == names{"late"});
  audit(w);
}

ON_EACH_STORE("Another person, program or kind of act has an act of its own") {
  note(w, anna, "pause", {"q"});
  note(w, {"anna", "sluice"}, "pause", {"q"});
  note(w, bob, "pause", {"q"});
  note(w, bob, "resume", {"q"});
  note(w, anna, "resume", {"q"});
  CHECK(names_in_pages(w, 200) == names{"anna", "bob", "bob", "anna", "anna"});
  for (const auto& a : actions(w))
    CHECK(a.count == 1);
  audit(w);
}

ON_EACH_STORE("An act names the first twenty that it was done to, and each text is cut between characters") {
  names many;
  for (int i = 0; i < 30; ++i)
    many.push_back(cat("j", i));
  note(w, anna, "delete", many, 30);
  note(w, anna, "delete", {"later"});
  const auto all = actions(w);
  REQUIRE(all.size() == 1);
  CHECK(all[0].count == 31);
  CHECK(all[0].about == names(many.begin(), many.begin() + 20));

  const std::string long_name = std::string(99, 'n') + "\u00e4\u00e4";
  note(w, {long_name, long_name}, "pause", {std::string(199, 'q') + "\u00e4"});
  const auto cut = actions(w).front();
  CHECK(cut.by == author{std::string(99, 'n'), std::string(99, 'n')});
  CHECK(cut.about == names{std::string(199, 'q')});
  audit(w);
}

ON_EACH_STORE("The newest thousand actions are kept") {
  std::vector<storage::request> all;
  for (std::uint32_t i = 0; i < storage::max_actions + 5; ++i)
    all.emplace_back(storage::log_action_request{{cat("n", i), "sluice"}, "pause", {"q"}, 1});
  for (const auto& answer : w.store().apply(all))
    REQUIRE(code_of(answer) == errc::none);
  const auto kept = names_in_pages(w, 200);
  REQUIRE(kept.size() == storage::max_actions);
  CHECK(kept.front() == cat("n", storage::max_actions + 4));
  CHECK(kept.back() == "n5");
  audit(w);
}

ON_EACH_STORE("Acts are listed page by page, the newest first, also when the clock was set back") {
  names expected;
  for (int i = 0; i < 7; ++i) {
    expected.insert(expected.begin(), cat("n", i));
    note(w, {expected.front(), ""}, "pause", {"q"});
    w.clock.advance(i == 3 ? -1h : i == 4 ? 0us : 1s);
  }
  for (const std::uint32_t limit : {1u, 2u, 6u, 7u, 200u})
    CHECK(names_in_pages(w, limit) == expected);
  const auto first = page_of(w, 2);
  note(w, anna, "pause", {"q"});  // comes before them, and is not met
  CHECK(page_of(w, 200, first.next).actions.size() == 5);
  for (const auto* nonsense : {"x", "-", "9", "nan-", "5-abc"})
    CHECK(refusal(w, storage::operator_log_request{10, nonsense}) == errc::invalid_argument);
  audit(w);
}

ON_EACH_STORE("The history of a job tells what people did to it, also once it ran again") {
  put_all(w, {"a"});
  const auto first = claim_one(w);
  REQUIRE(settle(w, first, how::failed) == errc::none);
  w.clock.advance(1s);
  change(w, requeuing(job_id("a"), {}, anna));
  const auto requeued_at = w.clock.now();
  CHECK(get(w, "a").fence == first.fence);
  w.clock.advance(1s);
  const auto second = claim_one(w);
  CHECK(second.attempt == 1);
  REQUIRE(settle(w, second, how::succeeded) == errc::none);
  change(w, removing(job_id("a")));
  CHECK(remove(w, "a").changed == false);

  const auto seen = get(w, "a");
  REQUIRE(seen.history.size() == 4);
  const auto& by_anna = seen.history[1];
  CHECK(by_anna.cause == "requeued");
  CHECK(by_anna.error == "requeued by anna through dashboard");
  CHECK(by_anna.ended == requeued_at);
  CHECK(by_anna.started == requeued_at);
  CHECK(by_anna.fence.value == 0);
  CHECK(by_anna.attempt == 0);
  CHECK(by_anna.server.empty());
  CHECK_FALSE(by_anna.end.has_value());
  CHECK(seen.history[2].fence == second.fence);
  CHECK(seen.history[3].cause == "deleted");
  CHECK(seen.history[3].error == "deleted by hand");
  CHECK(seen.fence == second.fence);
  job_query ran_there;
  ran_there.server = "s1";
  CHECK(ids(list(w, ran_there)) == names{"a"});
  job_query named_in_an_error;  // who changed it is none
  named_in_an_error.error = "anna";
  CHECK(ids(list(w, named_in_an_error)).empty());
  audit(w);
}

ON_EACH_STORE("The reason of a job says who changed it, when they said who they are") {
  const auto changed = [&](const storage::change_jobs_request& r) { REQUIRE(change(w, r).code == errc::none); };
  put_all(w, {"a"});
  changed(removing(job_id("a"), {}, anna));
  CHECK(get(w, "a").reason == "deleted by anna through dashboard");
  changed(requeuing(job_id("a"), {}, {"bob", ""}));
  CHECK(get(w, "a").reason == "requeued by bob");
  claim_one(w);
  changed(removing(job_id("a"), {}, bob));
  CHECK(get(w, "a").reason == "deleted by bob through sluice");
  CHECK(get(w, "a").history.back().error == "deleted by bob through sluice while it ran");
  changed(requeuing(job_id("a")));
  CHECK(get(w, "a").reason == "requeued by hand");
  audit(w);
}

#define ON_HARMED_STORES(name) TEMPLATE_TEST_CASE(name, "[contract]", harmed_file_world, harmed_redis_world)

ON_HARMED_STORES("An act that cannot be read is left out, and nothing is added to it") {
  TestType w;
  note(w, anna, "pause", {"q"});
  for (const auto& harm :
       {std::string("x"), std::string("1 1 1 1 4:anna9:dashboard5:pause4:idle"), std::string(),
        packed({{"number", 1}, {"by", "anna"}}), act_value(1).substr(0, 40), std::string(9000, '\x91')})
    w.command({"ZADD", "operator_log", "1780000000000001", harm});
  w.command({"ZADD", "operator_log", "inf", "y"});
  note(w, bob, "pause", {"r"});
  REQUIRE(names_in_pages(w, 200) == names{"bob", "anna"});
  CHECK(actions(w)[0].about == names{"r"});
  CHECK_FALSE(w.store().audit()->empty());
}

ON_HARMED_STORES("Acts whose key is of another type are refused and change nothing") {
  TestType w;
  w.command({"SET", "operator_log", "a text"});
  CHECK(refusal(w, storage::log_action_request{anna, "pause", {"q"}, 1}) == errc::storage_damaged);
  CHECK(refusal(w, storage::operator_log_request{}) == errc::storage_damaged);
  put_all(w, {"a"});
  CHECK(remove(w, "a").code == errc::none);
}
