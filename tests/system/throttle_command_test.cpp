// Throttlers and explanations as an operator meets them.
#include "support/catch.hpp"
#include "support/places.hpp"
#include "system/work_world.hpp"

namespace sluice::test {
namespace {

using nlohmann::json;

json explained(work_world& w, const std::string& id) {
  const auto said = w.sluice({"explain", id, "--json"});
  return said.exit_code == 0 ? json::parse(said.out) : json{{"reason", said.err}};
}

// Explained so within a while; the last explanation.
json explained_as(work_world& w, const std::string& id, const std::string& reason) {
  json last;
  const bool came = eventually([&] { return (last = explained(w, id)).at("reason") == reason; });
  INFO(last.dump());
  CHECK(came);
  return last;
}

json shown(work_world& w, const std::string& throttler) {
  const auto said = w.sluice({"throttler", "show", throttler, "--json"});
  INFO(said.err);
  REQUIRE(said.exit_code == 0);
  return json::parse(said.out);
}

// Runs until `file` is there.
std::string until(const std::string& file) { return "while [ ! -e " + file + " ]; do sleep 0.02; done"; }

new_job noop(const std::string& id, const std::string& queue = "default") {
  new_job j;
  j.type = job_type("noop");
  j.queue = queue_name(queue);
  j.id = job_id(id);
  return j;
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("throttlers are set, listed, shown and removed without a server") {
  work_world w;
  CHECK(w.sluice({"throttlers"}).out == "KIND  RESOURCE  LIMIT  HELD  WAITING  NEXT\n");
  const auto set = w.sluice({"throttler", "set", "semaphore:Provider-API", "limit=4"});
  CHECK(set.exit_code == 0);
  CHECK(set.out == "semaphore:provider-api set: new\nnow: limit 4; jobs woken: 0, waiting: 0\n");
  CHECK(
      w.sluice({"throttler", "set", "--json", "sliding_window:dropbox", "limit=40", "interval=1h", "buckets=3"}).out ==
      "{\"resource\":\"sliding_window:dropbox\",\"done\":\"set\",\"changes\":\"limit 40, interval 1h, buckets 3\","
      "\"woken\":0,\"waiting\":0}\n");
  REQUIRE(w.sluice({"throttler", "set", "dynamic_window:news", "key=tenant:{tenant_id}", "capacity=20", "min_limit=2",
                    "max_limit=20", "interval=1h", "buckets=60"})
              .exit_code == 0);
  CHECK(w.sluice({"throttlers"}).out ==
        "KIND            RESOURCE                LIMIT  HELD  WAITING  NEXT\n"
        "dynamic_window  dynamic_window:news        20     0        0\n"
        "semaphore       semaphore:provider-api      4     0        0\n"
        "sliding_window  sliding_window:dropbox     40     0        0\n");
  REQUIRE(w.sluice({"throttler", "set", "semaphore:provider-api", "limit=5", "mode=release"}).exit_code == 0);
  CHECK(
      w.sluice({"throttlers", "--json"})
          .out.find(
              R"({"kind":"semaphore","resource":"semaphore:provider-api","limit":null,"held":0,"waiting":0,"next_at":null})") !=
      std::string::npos);
  const auto one = shown(w, "semaphore:PROVIDER-api");
  CHECK(one.at("definition") ==
        json{{"kind", "semaphore"}, {"name", "provider-api"}, {"limit", 5}, {"mode", "release"}});
  for (const auto* list : {"keys", "holders", "waiters"})
    CHECK(one.at(list) == json::array());
  CHECK(says(w.sluice({"throttler", "show", "dynamic_window:news"}).out, "resource    dynamic_window:news\n"));
  CHECK(shown(w, "mutex:anything").at("limit") == 1);

  CHECK(w.sluice({"throttler", "remove", "semaphore:provider-api"}).out == "semaphore:provider-api removed\n");
  const auto again = w.sluice({"throttler", "remove", "semaphore:provider-api", "--json"});
  CHECK(again.exit_code == 0);
  CHECK(again.out == "{\"resource\":\"semaphore:provider-api\",\"done\":\"was not there\"}\n");
  const auto gone = w.sluice({"throttler", "show", "semaphore:provider-api"});
  CHECK(gone.exit_code == 1);
  CHECK(says(gone.err, "there is no throttler semaphore:provider-api"));
  for (const auto* list : {"holders", "waiters"}) {
    const auto none = w.sluice({"throttler", list, "semaphore:provider-api"});
    CHECK(none.exit_code == 1);
    CHECK(none.err == gone.err);
    CHECK(w.sluice({"throttler", list, "mutex:anything", "--json"}).out.empty());
    CHECK(says(w.sluice({"throttler", list, "mutex:anything", "--after", "x"}).err,
               "is not where a page of this list ended"));
  }
  CHECK(says(w.sluice({"throttler", "waiters", "dynamic_window:news"}).err, "name news/KEY"));
  REQUIRE(w.sluice({"throttler", "set", "custom:door"}).exit_code == 0);
  CHECK(says(w.sluice({"throttler", "show", "custom:door"}).out, "held        -\n"));  // only its code knows
}

TEST_CASE("a limit is changed alone, with from what to what and whom that woke") {
  work_world w(
      json{{"throttlers", {{"gate", {{"kind", "semaphore"}, {"limit", 1}}}}},
           {"jobs", {{"exec", {{"throttle", {"semaphore:gate"}}}}, {"noop", {{"throttle", {"mutex:of:{id}"}}}}}}});
  const auto file = w.folder.file("go");
  auto p = w.work();
  w.enqueue({work_world::exec(until(file), "holder")});
  explained_as(w, "holder", "running");
  w.enqueue({work_world::exec(until(file), "first"), work_world::exec(until(file), "second"),
             work_world::exec(until(file), "third")});
  REQUIRE(eventually([&] { return shown(w, "semaphore:gate").at("waiting") == 3; }));
  const auto raised = w.sluice({"throttler", "set", "semaphore:gate", "limit=3"});
  CHECK(raised.out == "semaphore:gate set: limit 1 → 3\nnow: limit 3; jobs woken: 2, waiting: 1\n");
  CHECK(raised.err.empty());
  CHECK(w.sluice({"throttler", "set", "semaphore:gate", "limit=3"}).out ==
        "semaphore:gate set: nothing changed\nnow: limit 3; jobs woken: 0, waiting: 1\n");
  CHECK(w.sluice({"throttler", "set", "semaphore:gate", "mode=release", "--json"}).out ==
        "{\"resource\":\"semaphore:gate\",\"done\":\"set\",\"changes\":\"mode acquire_and_release → release\","
        "\"woken\":1,\"waiting\":0}\n");
  CHECK(shown(w, "semaphore:gate").at("definition").at("limit") == 3);
  CHECK(says(w.sluice({"log"}).out, "semaphore:gate: limit 1 → 3"));

  const auto unused = [&](const std::string& name) { return w.sluice({"throttler", "set", name, "mode=release"}).err; };
  CHECK(unused("mutex:of:7").empty());  // a server's type names it
  CHECK(says(unused("custom:door"), "nobody uses custom:door yet, as far as servers tell\n"));
  const auto typo = w.sluice({"throttler", "set", "semaphore:gaet", "limit=3"});
  CHECK(typo.exit_code == 0);
  CHECK(says(typo.err, "nobody uses semaphore:gaet yet, as far as servers tell; did you mean semaphore:gate?"));
  write_file(file, "");
}

TEST_CASE("wrong words about throttlers are exit 2 and name what was meant") {
  work_world w;
  const auto refused = [&](std::vector<std::string> words, const std::string& part) {
    const auto said = w.sluice(std::move(words));
    CAPTURE(said.err, part);
    CHECK(said.exit_code == 2);
    CHECK(says(said.err, part));
    CHECK(said.out.empty());
  };
  refused({"throttler", "set", "semaphore:a", "limt=4"}, "/limt: is not known; did you mean 'limit'?");
  refused({"throttler", "set", "semaphore:a", "limit=0"}, "semaphore:a: /limit: must be a whole number from 1");
  refused({"throttler", "set", "semaphore:a", "limit=1", "interval=1h"}, "/interval: is nothing that a semaphore has");
  refused({"throttler", "set", "fixed_window:a", "limit=1"}, "interval must be given: a time of 1s to 366d");
  refused({"throttler", "set", "semaphor:a", "limit=1"}, "did you mean 'semaphore'?");
  refused({"throttler", "set", "a", "limit=1"}, "a throttler is KIND:NAME");
  refused({"throttler", "remove", "semaphore:"}, "the name of the throttler is missing: semaphore:NAME");
  refused({"throttler", "show", "semaphore"}, "the name of the throttler is missing: semaphore:NAME");
  refused({"throttler", "set", "semaphore:" + std::string(101, 'a'), "limit=1"}, "1 to 100");
  refused({"throttler", "show", ""}, "must not be empty");
  refused({"explain", ""}, "must not be empty");
  refused({"throttler"}, "");
  refused({"throttler", "drop", "semaphore:a"}, "");
  refused({"explain"}, "");
  CHECK(w.sluice({"explain", "nobody"}).exit_code == 1);
  CHECK(w.sluice({"throttler", "set", "--help"}).exit_code == 0);
}

TEST_CASE("a configuration whose throttlers make no sense is told by check") {
  work_world w(json{{"throttlers", {{"hourly", {{"kind", "fixed_window"}, {"limit", 4}}}}}});
  const auto said = run({program_path("sluice"), "check", w.folder.file("sluice.json")}, w.folder.path().string());
  CHECK(said.exit_code == 1);
  CHECK(says(said.err, "/throttlers/hourly: fixed window 'hourly': interval must be"));
}

TEST_CASE("where the store and a configuration differ is a warning of check --store") {
  work_world w(json{{"throttlers", {{"gate", {{"kind", "semaphore"}, {"limit", 4}}}}}});
  const auto checked = [&] {
    return run({program_path("sluice"), "check", w.folder.file("sluice.json"), "--store"}, w.folder.path().string());
  };
  REQUIRE(w.sluice({"throttler", "set", "semaphore:gate", "limit=4"}).exit_code == 0);
  CHECK_FALSE(says(checked().err, "semaphore:gate"));
  REQUIRE(w.sluice({"throttler", "set", "semaphore:gate", "limit=16"}).exit_code == 0);
  const auto told = checked();
  CHECK(told.exit_code == 0);
  CHECK(says(told.err,
             "warning: throttler semaphore:gate in the store → in the configuration: limit 16 → 4; "
             "a start sets the configuration's value\n"));
}

TEST_CASE("a throttler that is defined nowhere is a warning of check, and a fault of check --store and of the start") {
  work_world w(json{{"jobs", {{"report", {{"throttle", {"semaphore:nope"}}}}}}});
  const auto file = w.folder.file("sluice.json");
  const auto asked = [&](const std::vector<std::string>& words) {
    auto all = std::vector<std::string>{program_path("sluice")};
    all.insert(all.end(), words.begin(), words.end());
    return run(all, w.folder.path().string());
  };
  const auto named = "throttler semaphore:nope, which jobs.report names, is not defined";
  const auto checked = asked({"check", file});
  CHECK(checked.exit_code == 0);
  CHECK(says(checked.err, std::string("warning: ") + named + " here"));
  const auto before = asked({"check", file, "--store"});
  CHECK(before.exit_code == 1);
  REQUIRE(w.sluice({"throttler", "set", "semaphore:other", "limit=1"}).exit_code == 0);
  const auto refused = asked({"check", file, "--store"});
  CHECK(refused.exit_code == 1);
  CHECK(says(refused.err, std::string("/jobs: ") + named));
  CHECK(says(refused.err, "`sluice throttler set semaphore:nope"));
  const auto started = asked({"work", file});
  CHECK(started.exit_code == 1);
  CHECK(says(started.err, named));
  REQUIRE(w.sluice({"throttler", "set", "semaphore:nope", "limit=1"}).exit_code == 0);
  CHECK(asked({"check", file, "--store"}).exit_code == 0);
}

TEST_CASE("a schedule whose jobs nobody takes is told by check, in the log and by recurring list") {
  const auto schedule = [](const char* job, const char* queue) {
    return json{{"job", job}, {"queue", queue}, {"every", "1s"}, {"stagger", false}};
  };
  work_world w(json{{"recurring", {{"typo", schedule("nopo", "default")}, {"lost", schedule("noop", "nosuch")}}}});
  const auto checked = run({program_path("sluice"), "check", w.folder.file("sluice.json")}, w.folder.path().string());
  CHECK(checked.exit_code == 0);
  CHECK(says(checked.err, "warning: schedule lost enqueues into queue nosuch, which this server does not serve"));
  CHECK(says(checked.err, "warning: schedule typo makes jobs of type nopo, which this server does not know"));
  CHECK(says(checked.err, "did you mean 'noop'?"));
  auto server = w.work();
  CHECK(eventually([&] { return says(server.log(), "schedule typo makes jobs of type nopo"); }));
  const auto remark = [&](const std::string& name, const std::string& why) {
    return eventually([&] {
      const auto listed = w.sluice({"recurring", "list", "--json"}).out;
      std::istringstream lines(listed);
      for (std::string line; std::getline(lines, line);)
        if (const auto one = json::parse(line); one.value("name", "") == name)
          return says(one.value("problem", ""), why);
      return false;
    });
  };
  CHECK(remark("lost", "waits: no server that is alive serves its queue nosuch"));
  CHECK(remark("typo", "waits: no server that serves queue default knows its type nopo"));
}

TEST_CASE("a job without a server, a time or a running queue is explained") {
  work_world w;
  w.enqueue({noop("lonely"), noop("held-up")});
  new_job tomorrow = noop("tomorrow");
  tomorrow.delay = 24h;
  w.enqueue({tomorrow});
  CHECK(explained(w, "lonely").at("text") == "no server that is alive serves its queue default");
  CHECK(w.sluice({"explain", "lonely"}).out == "no server that is alive serves its queue default\n");
  const auto due = explained(w, "tomorrow");
  CHECK(due.at("reason") == "due");
  CHECK(due.at("text") == "is due at " + due.at("when").get<std::string>());
  REQUIRE(w.sluice({"pause", "default"}).exit_code == 0);
  CHECK(explained(w, "held-up").at("text") == "its queue default is paused");
  REQUIRE(w.sluice({"delete", "held-up"}).exit_code == 0);
  const std::string deleted = explained(w, "held-up").at("text");
  CHECK(deleted.starts_with("is deleted: deleted by "));
  CHECK(deleted.ends_with(" through sluice"));
  for (const char* key : {"id", "reason", "text", "resource", "when", "before", "holders"})
    CHECK(due.contains(key));
}

TEST_CASE("a job behind others, of an unknown type, running or ended is explained") {
  work_world w(json{{"queues", {{"default", {{"workers", 1}, {"retry", {{"attempts", 1}, {"delay", "1h"}}}}}}}});
  const auto file = w.folder.file("go");
  auto p = w.work();
  auto stranger = noop("stranger");
  stranger.type = job_type("nobody_knows");
  w.enqueue({work_world::exec(until(file), "runs")});
  CHECK(says(explained_as(w, "runs", "running").at("text"), "runs since "));
  w.enqueue({work_world::exec("exit 7", "first"), work_world::exec("exit 0", "second"), stranger});
  CHECK(explained_as(w, "first", "no_worker").at("text") == "no worker of queue default is free (1 runs)");
  const auto behind = explained_as(w, "second", "queued_behind");
  CHECK(behind.at("text") == "behind 1 job of queue default");
  CHECK(behind.at("before") == 1);
  explained_as(w, "stranger", "unknown_type");  // before any claim has come to it
  write_file(file, "");
  CHECK(explained_as(w, "second", "final").at("text") == "is succeeded");
  CHECK(explained_as(w, "stranger", "unknown_type").at("text") ==
        "no server that serves queue default knows its type nobody_knows");
  const auto retry = explained_as(w, "first", "retry");
  CHECK(says(retry.at("text"), "retry 1 at " + retry.at("when").get<std::string>() + ": exit 7"));
}

TEST_CASE("a job that waits for a semaphore is told who holds it, and the semaphore cannot be removed meanwhile") {
  work_world w(json{{"throttlers", {{"gate", {{"kind", "semaphore"}, {"limit", 1}}}}},
                    {"jobs", {{"exec", {{"throttle", {"semaphore:gate"}}}}}}});
  const auto file = w.folder.file("go");
  auto p = w.work();
  w.enqueue({work_world::exec(until(file), "holder")});
  explained_as(w, "holder", "running");
  REQUIRE(eventually([&] { return shown(w, "semaphore:gate").at("held") == 1; }));
  w.enqueue({work_world::exec("exit 0", "first")});
  explained_as(w, "first", "waits_for_permit");
  w.enqueue({work_world::exec("exit 0", "second")});
  const auto waits = explained_as(w, "second", "waits_for_permit");
  CHECK(waits.at("text") == "waits for semaphore:gate, held by holder; 1 waits before it");
  CHECK(waits.at("resource") == "semaphore:gate");
  CHECK(waits.at("before") == 1);
  CHECK(waits.at("holders") == json{"holder"});
  const auto gate = shown(w, "semaphore:gate");
  CHECK(gate.at("waiting") == 2);
  CHECK(gate.at("waiters") == json{"first", "second"});
  REQUIRE(gate.at("holders").size() == 1);
  CHECK(gate.at("holders")[0].at("id") == "holder");
  CHECK(gate.at("holders")[0].at("reserved") == false);
  CHECK(says(w.sluice({"throttler", "show", "semaphore:gate"}).out, "HOLDER"));
  CHECK(json::parse(w.sluice({"throttler", "holders", "semaphore:GATE", "--json"}).out) == gate.at("holders")[0]);
  const auto line = w.sluice({"throttler", "waiters", "semaphore:gate", "--limit", "1"});
  CHECK(line.out == "WAITER\nfirst\n");
  REQUIRE(line.err.starts_with("sluice: there are more; the next: sluice throttler waiters semaphore:gate --limit 1 "));
  const auto next = line.err.rfind(' ') + 1;
  const auto after = line.err.substr(next, line.err.size() - next - 1);
  CHECK(w.sluice({"throttler", "waiters", "semaphore:gate", "--after", after, "--json"}).out ==
        "{\"id\":\"second\"}\n");
  CHECK(says(w.sluice({"throttlers"}).out, "semaphore  semaphore:gate      1     1        2\n"));
  const auto busy = w.sluice({"throttler", "remove", "semaphore:gate"});
  CHECK(busy.exit_code == 1);
  CHECK(says(busy.err, "held by 1 job and 2 wait for it"));

  // Nobody is held up any more, so both go on beside the holder, and it drains.
  REQUIRE(w.sluice({"throttler", "set", "semaphore:gate", "limit=1", "mode=release"}).exit_code == 0);
  explained_as(w, "second", "final");
  write_file(file, "");
  explained_as(w, "holder", "final");
  REQUIRE(eventually([&] { return w.sluice({"throttler", "remove", "semaphore:gate"}).exit_code == 0; }));
}

TEST_CASE("a job that waits for a window is told when it opens") {
  work_world w(json{{"throttlers", {{"yearly", {{"kind", "fixed_window"}, {"limit", 1}, {"interval", "300d"}}}}},
                    {"jobs", {{"noop", {{"throttle", {"fixed_window:yearly"}}}}}}});
  auto p = w.work();
  w.enqueue({noop("in")});
  explained_as(w, "in", "final");
  w.enqueue({noop("late")});
  const auto slot = explained_as(w, "late", "waits_for_slot");
  CHECK(slot.at("text") ==
        "waits for a slot of fixed_window:yearly at " + slot.at("when").get<std::string>() + "; it is next");
  const auto window = shown(w, "fixed_window:yearly");
  CHECK(window.at("limit") == 1);
  CHECK(window.at("held") == 1);
  CHECK(window.at("waiting") == 1);
  CHECK(window.at("next_at") == slot.at("when"));
  REQUIRE(w.sluice({"throttler", "set", "fixed_window:yearly", "limit=2", "interval=300d"}).exit_code == 0);
  explained_as(w, "late", "final");
}

TEST_CASE("a dynamic window is shown with its keys, and with one of them") {
  work_world w(json{{"throttlers",
                     {{"news",
                       {{"kind", "dynamic_window"},
                        {"key", "tenant:{tenant}"},
                        {"limit", 1},
                        {"interval", "300d"},
                        {"buckets", 2}}}}},
                    {"jobs", {{"noop", {{"throttle", {"dynamic_window:news"}}}}}}});
  auto p = w.work();
  const auto of_tenant = [](const std::string& id, int tenant) {
    auto j = noop(id);
    j.args = json{{"tenant", tenant}}.dump();
    return j;
  };
  w.enqueue({of_tenant("in", 7), of_tenant("other", 8)});
  explained_as(w, "in", "final");
  explained_as(w, "other", "final");
  w.enqueue({of_tenant("late", 7)});
  CHECK(explained_as(w, "late", "waits_for_slot").at("resource") == "dynamic_window:news/tenant:7");
  const auto whole = shown(w, "dynamic_window:news");
  CHECK(whole.at("held") == 2);
  CHECK(whole.at("waiting") == 1);
  CHECK(whole.at("keys").size() == 2);
  CHECK(whole.at("waiters") == json{"late"});
  const auto listed = json::parse(w.sluice({"throttlers", "--json"}).out);
  CHECK(listed.at("waiting") == 1);
  CHECK(listed.at("next_at") == whole.at("next_at"));
  const auto one = shown(w, "dynamic_window:news/tenant:7");
  CHECK(one.at("limit") == 1);
  CHECK(one.at("held") == 1);
  CHECK(one.at("waiters") == json{"late"});
}

TEST_CASE("a job that a throttler put off is told when it is asked again") {
  work_world w(json{
      {"throttlers", {{"yearly", {{"kind", "fixed_window"}, {"limit", 1}, {"interval", "300d"}}}}},
      {"jobs",
       {{"noop", {{"throttle", {"fixed_window:yearly"}}, {"when_throttled", "retry"}, {"throttle_delay", "1h"}}}}}});
  auto p = w.work();
  w.enqueue({noop("in")});
  explained_as(w, "in", "final");
  w.enqueue({noop("off")});
  const auto off = explained_as(w, "off", "deferred");
  CHECK(off.at("text") ==
        "was deferred by fixed_window:yearly and is asked again at " + off.at("when").get<std::string>());
  CHECK(off.at("resource") == "fixed_window:yearly");
}

}  // namespace sluice::test
