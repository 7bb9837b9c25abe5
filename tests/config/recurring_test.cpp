// Schedules of recurring jobs in a configuration, and in words.
#include "core/recurring.hpp"
#include "config/loading.hpp"
#include "scheduler/recurrence.hpp"

using namespace sluice;
using namespace std::chrono_literals;

namespace {

config::loaded load(const std::string& text) {
  return config::load({text, {}, {}}, {storage::check_url, scheduler::check});
}

std::string faults(const std::string& schedule) {
  return test::shown(load("{\"recurring\": {\"r\": " + schedule + "}}").faults);
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a configuration names schedules with all that they may say") {
  const auto got = load(R"({"prune_recurring": true, "recurring": {
    "plain": {"job": "work", "every": "90s"},
    "all": {"job": "work", "args": {"a": [1, {"b": "x"}]}, "cron": "*/10 * * * *", "zone": "Europe/London",
            "queue": "q", "stagger": "even", "catch_up": "all", "catch_up_max": 7, "overlap": "queue_one",
            "headers": {"tenant": "a"}}}})");
  INFO(test::shown(got.faults));
  REQUIRE(got.faults.empty());
  CHECK(got.options.prune_recurring);
  REQUIRE(got.options.recurring.size() == 2);
  recurring all;
  all.name = "all";
  all.job = job_type("work");
  all.args = R"({"a":[1,{"b":"x"}]})";
  all.cron = "*/10 * * * *";
  all.zone = "Europe/London";
  all.queue = queue_name("q");
  all.stagger = stagger_rule::even;
  all.catch_up = catch_up_rule::all;
  all.catch_up_max = 7;
  all.headers = {{"tenant", "a"}};
  all.overlap = overlap_rule::queue_one;
  CHECK(got.options.recurring[0] == all);
  recurring plain;
  plain.name = "plain";
  plain.job = job_type("work");
  plain.every = 90s;
  CHECK(got.options.recurring[1] == plain);
  CHECK_FALSE(load("{}").options.prune_recurring);
}

TEST_CASE("the args of a schedule keep their numbers and the order of their keys") {
  const std::string kept =
      "{\"n\":12345678901234567890123,\"m\":1.50,\"b\":[1e2,-3,{\"a\":\"\u00e9\\\"\\n\"}],\"a\":{}}";
  const std::string spaced =
      R"({ "n": 12345678901234567890123, "m" : 1.50, "b": [ 1e2, -3, {"a": "\u00e9\"\n"} ], "a": { } })";
  const config::checks checks{storage::check_url, scheduler::check};
  const auto file = R"({"jobs": {}, "recurring": {"r": {"job": "t", "every": "1m", "args": )" + spaced + "}}}";
  CHECK(load(file).options.recurring.at(0).args == kept);
  CHECK(config::load_recurring("r", {"job=t", "every=1m", "args=" + spaced}, checks).definition.args == kept);
  CHECK(config::load_recurring("r", config::json_text{R"({"job":"t","every":"1m","args":)" + spaced + "}"}, checks)
            .definition.args == kept);
  recurring shown;
  shown.name = "r";
  shown.job = job_type("t");
  shown.every = 1min;
  shown.args = spaced;
  const auto again = config::load_recurring("r", config::json_text{write_recurring(shown)}, checks);
  INFO(test::shown(again.faults));
  CHECK(again.definition.args == spaced);  // a text is kept as it is

  const auto over = config::load({file, {}, {"/recurring/r/args/m=2"}}, checks);
  INFO(test::shown(over.faults));
  CHECK(over.options.recurring.at(0).args.find("\"m\":2") != std::string::npos);
}

TEST_CASE("stagger is true or false or even") {
  const auto rule = [](const std::string& word) {
    return load(R"({"recurring": {"r": {"job": "t", "cron": "* * * * *", "stagger": )" + word + "}}}")
        .options.recurring.at(0)
        .stagger;
  };
  CHECK(rule("true") == stagger_rule::by_name);
  CHECK(rule("false") == stagger_rule::off);
  CHECK(rule("\"even\"") == stagger_rule::even);
}

TEST_CASE("the faults of a schedule are told with their places") {
  const auto one = [](const std::string& more) { return faults(R"({"job": "t", "cron": "* * * * *", )" + more + "}"); };
  CHECK(says(faults("1"), "[/recurring/r] must be an object"));
  CHECK(faults(R"({"cron": "* * * * *"})") == "[/recurring/r/job] must be given: the type of its jobs\n");
  CHECK(says(faults(R"({"job": "t"})"), "[/recurring/r] cron or every must be given"));
  CHECK(says(faults(R"({"job": "t", "cron": "* * * * *", "every": "1m"})"), "not both"));
  CHECK(says(faults(R"({"job": "t", "cron": "* * * 13 *"})"), "[/recurring/r] cron '"));
  CHECK(says(faults(R"({"job": "t", "every": "1ms"})"), "[/recurring/r/every]"));
  CHECK(one(R"("args": [1])") == "[/recurring/r/args] must be a JSON object\n");
  CHECK(one(R"("stagger": "no")") == "[/recurring/r/stagger] must be true, false or \"even\"\n");
  CHECK(one(R"("stagger": "true")") == "[/recurring/r/stagger] must be true, false or \"even\"\n");
  CHECK(says(one(R"("catch_up": "al")"), "did you mean 'all'"));
  CHECK(says(one(R"("catch_up_max": 0)"), "1 to 1000"));
  CHECK(says(one(R"("overlap": "skipp")"), "did you mean 'skip'"));
  CHECK(says(faults(R"({"job": "t", "cron": "61 * * * *", "overlap": "skipp"})"), "[/recurring/r] cron '"));
  CHECK(says(one(R"("zon": "UTC")"), "did you mean 'zone'"));
  CHECK(says(one(R"("zone": "Europe/Lundon")"), "no time zone"));
  CHECK(faults(R"({"job": "t", "evry": "90s"})") == "[/recurring/r/evry] is not known; did you mean 'every'?\n");
  CHECK(faults(R"({"job": "t", "corn": "* * * * *", "zone": "Europe/London"})") ==
        "[/recurring/r/corn] is not known; did you mean 'cron'?\n");
  CHECK(faults(R"({"jbo": "t", "every": "90s"})") == "[/recurring/r/jbo] is not known; did you mean 'job'?\n");
  const auto two = faults(R"({"job": "t", "cron": "61 * * * *", "zone": "Europe/Lundon"})");
  CHECK(says(two, "61 is out of range"));
  CHECK(says(two, "; and there is no time zone 'Europe/Lundon'"));
  CHECK(says(test::shown(load(R"({"recurring": {"a b": {"job": "t", "every": "1m"}}})").faults), "1 to 150"));
  CHECK(says(test::shown(load(R"({"recurring": []})").faults), "must be an object by name"));
}

TEST_CASE("a schedule in words is the one of a file") {
  const auto said = [](const std::vector<std::string>& words) {
    return config::load_recurring("r", words, {storage::check_url, scheduler::check});
  };
  const auto got = said({"job=t", "cron=0 3 * * *", "zone=Europe/London", R"(args={"a": 1})", "stagger=false"});
  INFO(test::shown(got.faults));
  REQUIRE(got.faults.empty());
  CHECK(got.definition.name == "r");
  CHECK(got.definition.cron == "0 3 * * *");
  CHECK(got.definition.args == R"({"a":1})");
  CHECK(got.definition.stagger == stagger_rule::off);
  CHECK(said({"job=t", "every=90s"}).definition.every == 90s);
  CHECK(says(test::shown(said({"job=t", "every"}).faults), "must look like"));
  CHECK(says(test::shown(said({"job=t", "job=u", "every=1m"}).faults), "[/job] is given twice"));
  CHECK(says(test::shown(said({"job=t"}).faults), "cron or every"));
}
