// Schedules as an operator lists them and looks at one.
#include "support/catch.hpp"
#include "system/work_world.hpp"

namespace sluice::test {
namespace {

using nlohmann::json;
using names = std::vector<std::string>;

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

struct scheduled_world : work_world {
  scheduled_world() {
    set({"nightly", "job=report", "cron=0 3 * * *", "zone=America/New_York", "queue=slow-queue"});
    set({"Nightfall", "job=report", "every=1h", "stagger=false"});
    set({"leap", "job=noop", "cron=0 0 29 2 *", "stagger=even"});
  }

  void set(names words) {
    words.insert(words.begin(), {"recurring", "set"});
    REQUIRE(sluice(words).exit_code == 0);
  }

  json shown(const std::string& name, names more = {}) {
    more.insert(more.begin(), {"recurring", "show", name, "--json"});
    const auto said = sluice(more);
    INFO(said.err);
    REQUIRE(said.exit_code == 0);
    return json::parse(said.out);
  }

  names listed(names words) {
    words.insert(words.begin(), {"recurring", "list", "--json"});
    const auto said = sluice(words);
    CHECK(said.exit_code == 0);
    names found;
    for (std::size_t at = 0, end = 0; (end = said.out.find('\n', at)) != std::string::npos; at = end + 1) {
      const auto one = json::parse(said.out.substr(at, end - at));
      found.push_back(one.value("name", "next: " + one.value("next", "")));
    }
    return found;
  }
};

}  // namespace

TEST_CASE_METHOD(scheduled_world, "recurring show tells the definition and the next runs by UTC and by the zone") {
  const auto one = shown("nightly", {"--count", "3"});
  CHECK(one.at("definition").at("cron") == "0 3 * * *");
  CHECK(one.at("problem").get<std::string>().empty());
  CHECK(one.at("last_at").is_null());
  REQUIRE(one.at("next").size() == 3);
  CHECK(one.at("next")[0].at("utc") == one.at("next_at"));
  for (const auto& run : one.at("next")) {
    const std::string utc = run.at("utc"), local = run.at("local");
    CHECK(local.substr(10, 7) == "T03:00:");
    CHECK(local.substr(17, 6) == utc.substr(17, 6));  // its second is that of its name
    CHECK((local.ends_with("-05:00") || local.ends_with("-04:00")));
  }
  CHECK(one.at("next")[0].at("utc") < one.at("next")[1].at("utc"));
  CHECK(shown("leap").at("next").size() == 5);
  CHECK(shown("leap").at("next")[0].at("utc") == shown("leap").at("next_at"));
  const auto page = sluice({"recurring", "show", "nightly"});
  CHECK(page.exit_code == 0);
  for (const auto* line :
       {"name        nightly\n", "job         report\n", "queue       slow-queue\n", "args        {}\n",
        "cron        0 3 * * *\n", "zone        America/New_York\n", "stagger     true\n", "catch up    last\n",
        "overlap     allow\n", "paused      no\n", "\nNEXT "})
    CHECK(says(page.out, line));
}

TEST_CASE_METHOD(scheduled_world, "recurring show tells of a paused schedule when it would run and its last job") {
  const auto id = sluice({"recurring", "trigger", "Nightfall"}).out;
  REQUIRE(sluice({"recurring", "pause", "Nightfall"}).exit_code == 0);
  const auto one = shown("Nightfall");
  CHECK(one.at("paused") == true);
  CHECK(one.at("next_at").is_null());
  CHECK(one.at("last_job").get<std::string>() + "\n" == id);
  CHECK(one.at("last_at").is_string());
  REQUIRE(one.at("next").size() == 5);
  CHECK(one.at("next")[0].at("utc").get<std::string>().ends_with(":00:00.000Z"));
  const auto page = sluice({"recurring", "show", "Nightfall"}).out;
  for (const auto* part : {"every       1h\n", "paused      yes\n", "last job    ", "\nNEXT, IF RESUMED NOW "})
    CHECK(says(page, part));
}

TEST_CASE_METHOD(scheduled_world, "a schedule that is triggered again with the same id makes one job") {
  for (int i = 0; i < 2; ++i)
    CHECK(sluice({"recurring", "trigger", "Nightfall", "--id", "by-hand"}).out == "by-hand\n");
  CHECK(counts().enqueued == 1);
  CHECK(shown("Nightfall").at("last_job") == "by-hand");
  const auto other = sluice({"recurring", "trigger", "leap", "--id", "by-hand"});
  CHECK(other.exit_code == 1);
  CHECK(says(other.err, "by-hand"));
  CHECK(counts().enqueued == 1);
}

TEST_CASE_METHOD(scheduled_world, "schedule is another name of recurring") {
  const auto said = sluice({"schedule", "list"});
  CHECK(said.exit_code == 0);
  CHECK(said.out == sluice({"recurring", "list"}).out);
  CHECK(sluice({"schedule", "pause", "nightly"}).out == "nightly paused\n");
  CHECK(says(sluice({"--help"}).out, "recurring, schedule"));
}

TEST_CASE_METHOD(scheduled_world, "recurring show names the schedule that was meant") {
  const auto said = sluice({"recurring", "show", "nightli"});
  CHECK(said.exit_code == 1);
  CHECK(says(said.err, "there is no schedule nightli; did you mean 'nightly'?"));
  const auto other = sluice({"recurring", "show", "quarterly-report"});
  CHECK(other.exit_code == 1);
  CHECK(says(
      other.err,
      "there is no schedule quarterly-report; there are Nightfall, leap, nightly; `sluice recurring list` lists all"));
  CHECK(sluice({"recurring", "show", "nightly", "--count", "0"}).exit_code == 2);
  CHECK(sluice({"recurring", "show"}).exit_code == 2);
}

TEST_CASE_METHOD(scheduled_world, "recurring list finds and orders schedules and goes on where it ended") {
  REQUIRE(sluice({"recurring", "pause", "nightly"}).exit_code == 0);
  CHECK(listed({}) == names{"Nightfall", "leap", "nightly"});
  CHECK(listed({"--name", "NIGHT"}) == names{"Nightfall", "nightly"});
  CHECK(listed({"--type", "report", "--queue", "slow-queue"}) == names{"nightly"});
  CHECK(listed({"--paused"}) == names{"nightly"});
  CHECK(listed({"--sort", "next"}) == names{"Nightfall", "leap", "nightly"});
  const auto go_on_behind = [&](names words) {
    words.insert(words.begin(), {"recurring", "list", "--limit", "1"});
    const auto said = sluice(words).err;
    REQUIRE(said.starts_with("sluice: there are more; the next: sluice recurring list --limit 1 "));
    const auto next = said.rfind(' ') + 1;
    return said.substr(next, said.size() - next - 1);
  };
  CHECK(listed({"--after", go_on_behind({})}) == names{"leap", "nightly"});
  CHECK(listed({"--limit", "1"}) == names{"Nightfall", "next: Nightfall"});
  const auto next = go_on_behind({"--sort", "next"});
  CHECK(next.ends_with("/Nightfall"));
  CHECK(listed({"--sort", "next", "--after", next}) == names{"leap", "nightly"});
  const auto refused = sluice({"recurring", "list", "--after", next});
  CHECK(refused.exit_code == 1);
  CHECK(says(refused.err, "is not where a page of this list ended"));
}

}  // namespace sluice::test
