#include <set>

#include "config/loading.hpp"

using namespace sluice;
using namespace std::chrono_literals;

namespace {

struct broken {
  std::string what;
  std::string text;
  std::vector<std::pair<std::string, std::string>> expected;  // pointer, fragment of the problem
};

void check(const broken& file) {
  const auto got = test::load(file.text);
  INFO(file.what << ": " << file.text.substr(0, 200) << "\n" << test::shown(got.faults));
  std::set<std::string> pointers;
  for (const auto& f : got.faults)
    pointers.insert(f.pointer);
  std::set<std::string> wanted;
  for (const auto& [pointer, fragment] : file.expected) {
    wanted.insert(pointer);
    CHECK(std::any_of(got.faults.begin(), got.faults.end(), [&, at = pointer, words = fragment](const auto& f) {
      return f.pointer == at && f.problem.find(words) != std::string::npos;
    }));
  }
  CHECK(pointers == wanted);
}

std::string one_throttler(const std::string& keys) { return R"({"throttlers": {"a": {)" + keys + "}}}"; }
std::string one_job(const std::string& keys) { return R"({"jobs": {"t": {)" + keys + "}}}"; }
std::string in_default(const std::string& keys) { return R"({"queues": {"default": {)" + keys + "}}}"; }

const std::string workers = "/queues/default/workers";
const std::string whole_number = "whole number from 1 to 1000";

}  // namespace

TEST_CASE("a file that is no JSON object is one fault of the whole file") {
  for (const auto& file : std::vector<broken>{
           {"empty", " \n", {{"", "is empty"}}},
           {"words", "lease = 30s", {{"", "not JSON at byte"}}},
           {"cut off", R"({"lease": "30s")", {{"", "not JSON at byte"}}},
           {"trailing comma", R"({"lease": "30s",})", {{"", "not JSON at byte"}}},
           {"two objects", "{} {}", {{"", "not JSON at byte"}}},
           {"bad UTF-8", "{\"server_name\": \"\xff\"}", {{"", "not JSON at byte"}}},
           {"null", "null", {{"", "must be one JSON object"}}},
           {"list", "[]", {{"", "must be one JSON object"}}},
           {"number", "7", {{"", "must be one JSON object"}}},
       })
    check(file);
}

TEST_CASE("a key that is given twice is a fault wherever it stands") {
  check({"top", R"({"lease": "30s", "lease": "30s"})", {{"/lease", "twice"}}});
  check({"nested", in_default(R"("workers": 1, "workers": 2)"), {{workers, "twice"}}});
  check({"object", R"({"queues": {"a": {"workers": 1}, "a": {"workers": 2}}})", {{"/queues/a", "twice"}}});
  check({"escaped", R"({"x/y~": {"a": 1, "a": 2}})", {{"/x~1y~0/a", "twice"}, {"/x~1y~0", "not known"}}});
  check({"in a list", R"({"x": [0, {"a": 1, "a": 2}]})", {{"/x/1/a", "twice"}, {"/x", "not known"}}});
}

TEST_CASE("a wrong number of workers is a fault that tells the range") {
  for (const auto* value : {"0", "1001", "-1", "2.5", "\"2\"", "true", "null", "[1]", "99999999999999999999", "1e2"})
    check({value, in_default(std::string("\"workers\": ") + value), {{workers, whole_number}}});
}

TEST_CASE("a wrong length of time is a fault that tells the range") {
  const std::string range = R"(a time from "1s" to "1h")";
  for (const auto* value : {"30", "true", "{}", "null", "[\"30s\"]", "\"2h\"", "\"999ms\"", "\"0s\"", "\"-30s\"",
                            "\"\"", "\"30 seconds\"", "\"9999999d\""})
    check({value, std::string("{\"lease\": ") + value + "}", {{"/lease", range}}});
  check({"unit missing", R"({"lease": "30"})", {{"/lease", "units: us ms s m h d"}}});
  check({"joined units", R"({"lease": "1m30s"})", {{"/lease", "write \"90s\" for \"1m30s\"; it must be " + range}}});
}

TEST_CASE("each broken file tells where and what") {
  const std::vector<broken> files{
      {"empty queue name", R"({"queues": {"": {}}})", {{"/queues/", "1 to 200 characters"}}},
      {"bad queue name", R"({"queues": {"a b/c": {}}})", {{"/queues/a b~1c", "pattern with *"}}},
      {"long queue name",
       R"({"queues": {")" + std::string(201, 'q') + R"(": {}}})",
       {{"/queues/" + std::string(201, 'q'), "200 characters"}}},
      {"no queues", R"({"queues": {}})", {{"/queues", "at least one queue"}}},
      {"queues as a list", R"({"queues": ["default"]})", {{"/queues", "object"}}},
      {"a queue that is a number", R"({"queues": {"default": 4}})", {{"/queues/default", "must be an object"}}},
      {"prefetch", in_default(R"("prefetch": 1001)"), {{"/queues/default/prefetch", "from 0 to 1000"}}},
      {"store of no kind", R"({"storage": "mysql://h/db"})", {{"/storage", "names no known store"}}},
      {"store without a file", R"({"storage": "sqlite:"})", {{"/storage", "names no file"}}},
      {"store as a number", R"({"storage": 6379})", {{"/storage", "must be a text"}}},
      {"server name", R"({"server_name": "web 1"})", {{"/server_name", "200 characters"}}},
      {"empty server name", R"({"server_name": ""})", {{"/server_name", "must not be empty"}}},
      {"flag as a text", R"({"allow_exec": "true"})", {{"/allow_exec", "true or false"}}},
      {"losses", R"({"max_losses": 0})", {{"/max_losses", "from 1 to 100"}}},
      {"grace", R"({"grace": "2h"})", {{"/grace", "a time from"}}},
      {"renewal too slow", R"({"lease": "10s", "renew_every": "6s"})", {{"/renew_every", "half of the lease (10s)"}}},
      {"renewal against the default lease", R"({"renew_every": "16s"})", {{"/renew_every", "half of the lease (30s)"}}},
      {"unknown word",
       R"({"require_durability": "crash-safe"})",
       {{"/require_durability", "did you mean 'crash_safe'"}}},
      {"unknown word far off",
       R"({"require_durability": "yes"})",
       {{"/require_durability", "must be one of volatile"}}},
      {"backoff", R"({"retry": {"backoff": "linear"}})", {{"/retry/backoff", "polynomial, fixed, exponential"}}},
      {"then", in_default(R"("retry": {"then": "remove"})"), {{"/queues/default/retry/then", "fail, delete"}}},
      {"jitter", R"({"retry": {"jitter": 1.5}})", {{"/retry/jitter", "from 0 to 1"}}},
      {"attempts", R"({"jobs": {"t": {"retry": {"attempts": 1001}}}})", {{"/jobs/t/retry/attempts", "0 to 1000"}}},
      {"retry as a number", R"({"retry": 3})", {{"/retry", "must be an object"}}},
      {"too few bytes", R"({"retention": {"bytes": 1000}})", {{"/retention/bytes", "from 1000000 to"}}},
      {"empty retention", R"({"retention": {"failed": {}}})", {{"/retention/failed", "must say"}}},
      {"job type", R"({"jobs": {"a b": {}}})", {{"/jobs/a b", "1 to 200 characters"}}},
      {"empty job type", R"({"jobs": {"": {}}})", {{"/jobs/", "1 to 200 characters"}}},
      {"a pattern as the queue of a type",
       R"({"jobs": {"t": {"queue": "a-*"}}})",
       {{"/jobs/t/queue", "1 to 200 characters"}}},
      {"unknown key", R"({"leese": "30s"})", {{"/leese", "did you mean 'lease'"}}},
      {"unknown key in a queue", in_default(R"("worker": 2)"), {{"/queues/default/worker", "did you mean 'workers'"}}},
      {"unknown key like no other", in_default(R"("colour": 2)"), {{"/queues/default/colour", "known here: workers"}}},
      {"replicas", R"({"wait_replicas": 1})", {{"/wait_replicas", "needs a Redis store"}}},
      {"replicas twice",
       R"({"wait_replicas": 1, "storage": "redis://h/0?wait_replicas=2"})",
       {{"/wait_replicas", "say it once"}}},
      {"exec that allows nothing", R"({"exec": {"allow": []}})", {{"/exec/allow", "must name a program"}}},
      {"exec that allows a name", R"({"exec": {"allow": ["date"]}})", {{"/exec/allow", "whole paths"}}},
      {"exec with a variable of two words",
       R"({"exec": {"variables": ["PGHOST", "A B"]}})",
       {{"/exec/variables", "not \"A B\""}}},
      {"exec with a pattern of variables",
       R"({"exec": {"variables": ["AWS_*"]}})",
       {{"/exec/variables", "alone for all"}}},
      {"no time to start", in_default(R"("start_within": "0s")"), {{"/queues/default/start_within", "from \"1ms\""}}},
      {"no time to finish", one_job(R"("finish_within": "0s")"), {{"/jobs/t/finish_within", "from \"1ms\""}}},
      {"no time to put off",
       one_job(R"("unique": {"by": "*", "then": "extend", "at_most": "0s"})"),
       {{"/jobs/t/unique/at_most", "from \"1ms\""}}},
      {"a file's mode of a store in memory",
       R"({"storage": "sqlite::memory:?mode=0660"})",
       {{"/storage", "a store in memory has none"}}},
      {"unknown key of exec like no other",
       R"({"exec": {"colour": 2}})",
       {{"/exec/colour", "known here: allow, user, folder"}}},
      {"exec with a key in no file", R"({"exec": {"key_file": ""}})", {{"/exec/key_file", "must not be empty"}}},
      {"exec without files", R"({"exec": {"open_files": 2}})", {{"/exec/open_files", "16"}}},
      {"a Redis URL with a fault", R"({"storage": "redis://h:0"})", {{"/storage", "the port must be 1 to 65535"}}},
      {"a password with a bare %",
       R"({"storage": "redis://:100%sure@h/0"})",
       {{"/storage", "a % must be written %25"}}},
      {"a user with a bare % at its end", R"({"storage": "redis://a%2:b@h/0"})", {{"/storage", "must be written %25"}}},
      {"a password with a slash", R"({"storage": "redis://:a/b@h/0"})", {{"/storage", "write each of / @ ' \" % and"}}},
      {"an IPv6 address without brackets",
       R"({"storage": "redis://::1:6379/0"})",
       {{"/storage", "an IPv6 address stands in brackets, as in redis://[::1]:6379/0"}}},
      {"a sentinel's IPv6 address without brackets",
       R"({"storage": "redis+sentinel://[::1]:1,fe80::2/jobs"})",
       {{"/storage", "in brackets"}}},
      {"a name with two ports", R"({"storage": "redis://host:1:2/0"})", {{"/storage", "the port must be"}}},
      {"a certificate without its key", R"({"storage": "rediss://h?cert=a"})", {{"/storage", "?cert= and ?key="}}},
      {"a certificate without TLS", R"({"storage": "redis://h?ca=a"})", {{"/storage", "write rediss://"}}},
      {"two passwords", R"({"storage": "redis://:a@h?password_file=b"})", {{"/storage", "more than one password"}}},
      {"a password of no sentinels",
       R"({"storage": "redis://h?sentinel_password_variable=b"})",
       {{"/storage", "names sentinels"}}},
  };
  for (const auto& file : files)
    check(file);
}

TEST_CASE("each broken throttler tells where and what") {
  const std::string all_kinds = "mutex, semaphore, fixed_window, sliding_window, dynamic_window, custom";
  const std::string limits = "a whole number from 1 to 1000000000";
  const std::vector<broken> files{
      {"a list of throttlers", R"({"throttlers": []})", {{"/throttlers", "must be an object"}}},
      {"throttlers as a text", R"({"throttlers": "semaphore"})", {{"/throttlers", "must be an object"}}},
      {"a throttler that is a number", R"({"throttlers": {"a": 4}})", {{"/throttlers/a", "must be an object"}}},
      {"no kind", one_throttler(""), {{"/throttlers/a/kind", "must be given: one of " + all_kinds}}},
      {"no kind, and more",
       one_throttler(R"("limit": 0)"),
       {{"/throttlers/a/kind", "must be given"}, {"/throttlers/a/limit", limits}}},
      {"a kind like another", one_throttler(R"("kind": "semafore")"), {{"/throttlers/a/kind", "mean 'semaphore'"}}},
      {"a kind like no other", one_throttler(R"("kind": "banana")"), {{"/throttlers/a/kind", all_kinds}}},
      {"a kind that is a number", one_throttler(R"("kind": 1)"), {{"/throttlers/a/kind", "must be one of"}}},
      {"a kind that is null", one_throttler(R"("kind": null)"), {{"/throttlers/a/kind", "must be one of"}}},
      {"an empty name", R"({"throttlers": {"": {"kind": "mutex"}}})", {{"/throttlers/", "empty name"}}},
      {"a long name",
       R"({"throttlers": {")" + std::string(101, 'n') + R"(": {"kind": "mutex"}}})",
       {{"/throttlers/" + std::string(101, 'n'), "1 to 100 characters"}}},
      {"a name with a control character",
       R"({"throttlers": {"a\nb": {"kind": "mutex"}}})",
       {{"/throttlers/a\nb", "control character"}}},
      {"one name in two cases",
       R"({"throttlers": {"API": {"kind": "mutex"}, "api": {"kind": "mutex"}}})",
       {{"/throttlers/api", "is the mutex 'API' in other letters"}}},
      {"one name in two cases, and more",
       R"({"throttlers": {"API": {"kind": "mutex", "x": 1}, "api": {"kind": "mutex"}}})",
       {{"/throttlers/api", "in other letters"}, {"/throttlers/API/x", "not known"}}},
      {"no limit at all", one_throttler(R"("kind": "semaphore", "limit": 0)"), {{"/throttlers/a/limit", limits}}},
      {"too high a limit",
       one_throttler(R"("kind": "semaphore", "limit": 1000000001)"),
       {{"/throttlers/a/limit", limits}}},
      {"a limit as a text", one_throttler(R"("kind": "semaphore", "limit": "4")"), {{"/throttlers/a/limit", limits}}},
      {"a negative limit", one_throttler(R"("kind": "semaphore", "limit": -1)"), {{"/throttlers/a/limit", limits}}},
      {"an interval that is too short",
       one_throttler(R"("kind": "fixed_window", "interval": "999ms")"),
       {{"/throttlers/a/interval", "a time from \"1s\""}, {"/throttlers/a", "must be given"}}},
      {"an interval that is too long",
       one_throttler(R"("kind": "fixed_window", "interval": "367d")"),
       {{"/throttlers/a/interval", "a time from \"1s\""}, {"/throttlers/a", "must be given"}}},
      {"an interval without a unit",
       one_throttler(R"("kind": "fixed_window", "interval": 60)"),
       {{"/throttlers/a/interval", "a time from"}, {"/throttlers/a", "must be given"}}},
      {"buckets",
       one_throttler(R"("kind": "sliding_window", "buckets": 1001)"),
       {{"/throttlers/a/buckets", "from 1 to 1000"}, {"/throttlers/a", "must be given"}}},
      {"compatible",
       one_throttler(R"("kind": "sliding_window", "compatible": "yes")"),
       {{"/throttlers/a/compatible", "true or false"}, {"/throttlers/a", "must be given"}}},
      {"capacity",
       one_throttler(R"("kind": "dynamic_window", "capacity": 0)"),
       {{"/throttlers/a/capacity", limits}, {"/throttlers/a", "must be given"}}},
      {"min_limit",
       one_throttler(R"("kind": "dynamic_window", "min_limit": 0)"),
       {{"/throttlers/a/min_limit", limits}, {"/throttlers/a", "must be given"}}},
      {"max_limit",
       one_throttler(R"("kind": "dynamic_window", "max_limit": 1.5)"),
       {{"/throttlers/a/max_limit", limits}, {"/throttlers/a", "must be given"}}},
      {"a key that is not closed",
       one_throttler(R"("kind": "dynamic_window", "key": "tenant:{id")"),
       {{"/throttlers/a/key", "byte 8 of 'tenant:{id' is not closed"}, {"/throttlers/a", "must be given"}}},
      {"an empty key",
       one_throttler(R"("kind": "dynamic_window", "key": "")"),
       {{"/throttlers/a/key", "empty"}, {"/throttlers/a", "must be given"}}},
      {"a key that is a number",
       one_throttler(R"("kind": "dynamic_window", "key": 1)"),
       {{"/throttlers/a/key", "must be a text"}, {"/throttlers/a", "must be given"}}},
      {"mode",
       one_throttler(R"("kind": "mutex", "mode": "relase")"),
       {{"/throttlers/a/mode", "did you mean 'release'"}}},
      {"an unknown key",
       one_throttler(R"("kind": "semaphore", "limits": 4)"),
       {{"/throttlers/a/limits", "did you mean 'limit'"}}},
      {"a key of another kind",
       one_throttler(R"("kind": "semaphore", "limit": 4, "interval": "1h")"),
       {{"/throttlers/a/interval", "nothing that a semaphore has"}}},
      {"a limit of a mutex",
       one_throttler(R"("kind": "mutex", "limit": 1)"),
       {{"/throttlers/a/limit", "nothing that a mutex has"}}},
      {"buckets of a fixed window",
       one_throttler(R"("kind": "fixed_window", "buckets": 3)"),
       {{"/throttlers/a/buckets", "nothing that a fixed_window has"}, {"/throttlers/a", "must be given"}}},
      {"throttlers of a type as a text", one_job(R"("throttle": "mutex:a")"), {{"/jobs/t/throttle", "list of texts"}}},
      {"throttlers of a type as numbers",
       one_job(R"("throttle": ["mutex:a", 1, null])"),
       {{"/jobs/t/throttle/1", "must be a text"}, {"/jobs/t/throttle/2", "must be a text"}}},
      {"no kind in front", one_job(R"("throttle": ["provider-api"])"), {{"/jobs/t/throttle/0", "KIND:NAME"}}},
      {"a wrong kind in front",
       one_job(R"("throttle": ["mutex:a", "semafore:a"])"),
       {{"/jobs/t/throttle/1", "did you mean 'semaphore'"}}},
      {"no name behind", one_job(R"("throttle": ["semaphore:"])"), {{"/jobs/t/throttle/0", "must not be empty"}}},
      {"a placeholder of a semaphore",
       one_job(R"("throttle": ["semaphore:{id}"])"),
       {{"/jobs/t/throttle/0", "only a mutex may have {placeholders}"}}},
      {"a template with a fault", one_job(R"("throttle": ["mutex:{id"])"), {{"/jobs/t/throttle/0", "byte 1 of '{id'"}}},
      {"a throttler twice",
       one_job(R"("throttle": ["semaphore:a", "mutex:a", "semaphore:A"])"),
       {{"/jobs/t/throttle/2", "'semaphore:A' is named twice"}}},
      {"nine throttlers",
       one_job(
           R"("throttle": ["mutex:1","mutex:2","mutex:3","mutex:4","mutex:5","mutex:6","mutex:7","mutex:8","mutex:9"])"),
       {{"/jobs/t/throttle", "at most 8"}}},
      {"when", one_job(R"("when_throttled": "wat")"), {{"/jobs/t/when_throttled", "did you mean 'wait'"}}},
      {"when as a flag", one_job(R"("when_throttled": true)"), {{"/jobs/t/when_throttled", "wait, retry, delete"}}},
      {"a delay that is too short",
       one_job(R"("throttle_delay": "14s")"),
       {{"/jobs/t/throttle_delay", "\"15s\" to \"24h\""}}},
      {"a delay that is too long",
       one_job(R"("throttle_delay": "25h")"),
       {{"/jobs/t/throttle_delay", "\"15s\" to \"24h\""}}},
      {"strict", one_job(R"("strict": 1)"), {{"/jobs/t/strict", "true or false"}}},
      {"overlap as a number",
       one_job(R"("without_overlap": 1)"),
       {{"/jobs/t/without_overlap", "true, false or a text"}}},
      {"overlap as an empty text",
       one_job(R"("without_overlap": "")"),
       {{"/jobs/t/without_overlap", "true, false or a text"}}},
      {"overlap with a fault",
       one_job(R"("without_overlap": "a{id")"),
       {{"/jobs/t/without_overlap", "byte 2 of 'a{id'"}}},
      {"overlap that is too long",
       one_job(R"("without_overlap": "{a})" + std::string(188, 'x') + "\""),
       {{"/jobs/t/without_overlap", "at most 200 bytes"}}},
      {"a key until nothing",
       one_job(R"("unique": {"until": "never"})"),
       {{"/jobs/t/unique/until", "must be start, end, or a period"}}},
      {"a key without braces", one_job(R"("unique": {"by": "customer"})"), {{"/jobs/t/unique/by", "'{customer}'?"}}},
      {"an overlap without braces",
       one_job(R"("without_overlap": "customer")"),
       {{"/jobs/t/without_overlap", "did you mean '{customer}'?"}}},
      {"a window's key without braces",
       R"({"throttlers": {"w": {"kind": "dynamic_window", "limit": 1, "interval": "1s", "key": "tenant"}}})",
       {{"/throttlers/w/key", "did you mean '{tenant}'?"}, {"/throttlers/w", "buckets must be given"}}},
      {"a key with a fault", one_job(R"("unique": {"by": "{a"})"), {{"/jobs/t/unique/by", "brace"}}},
      {"a key that is done nothing with",
       one_job(R"("unique": {"then": "drop"})"),
       {{"/jobs/t/unique/then", "coalesce"}}},
      {"a coalescing key until the start",
       one_job(R"("unique": {"until": "start", "then": "coalesce"})"),
       {{"/jobs/t/unique/then", "until the end"}}},
      {"a time to start that is no time", one_job(R"("start_within": 5)"), {{"/jobs/t/start_within", "time"}}},
      {"an unknown key of a type", one_job(R"("throtle": [])"), {{"/jobs/t/throtle", "did you mean 'throttle'"}}},
  };
  for (const auto& file : files)
    check(file);
}

TEST_CASE("a definition whose values are fine one by one is told when they make no sense together") {
  check({"together",
         R"({"throttlers": {"bad": {"kind": "semaphore", "limit": 0}, "fine": {"kind": "semaphore", "limit": 1},
                            "odd/": {"kind": "semaphore"}}})",
         {{"/throttlers/bad/limit", whole_number}, {"/throttlers/odd~1", "limit must be given"}}});
  check({"with a fault of its own",
         one_throttler(R"("kind": "fixed_window", "limit": 4, "buckets": 3)"),
         {{"/throttlers/a/buckets", "nothing that a fixed_window has"},
          {"/throttlers/a", "fixed window 'a': interval must be given: a time of 1s to 366d"}}});
  check({"with a wrong value and two that are missing",
         one_throttler(R"("kind": "sliding_window", "limit": 0)"),
         {{"/throttlers/a/limit", "whole number"},
          {"/throttlers/a", "interval must be given"},
          {"/throttlers/a", "buckets must be given"}}});
}

TEST_CASE("all faults of a file are told at once") {
  check({"many",
         R"({"storage": "mysql:x", "lease": 5, "leese": "1s", "max_losses": 0, "allow_exec": 1, "grace": "x",
             "queues": {"": {"workers": 0}, "b": {"workers": 0, "prefetch": -1, "x": 1}, "c": null},
             "jobs": {"t": {"queue": "", "timeout": "0s"}}, "throttlers": {"a": {"kind": "mutex", "limit": 1}},
             "recurring": {"r": {"job": 1}}, "lease": "1s"})",
         {{"/storage", "no known store"},
          {"/lease", "twice"},
          {"/leese", "'lease'"},
          {"/max_losses", "1 to 100"},
          {"/allow_exec", "true or false"},
          {"/grace", "a time from"},
          {"/queues/", "1 to 200 characters"},
          {"/queues//workers", whole_number},
          {"/queues/b/workers", whole_number},
          {"/queues/b/prefetch", "0 to 1000"},
          {"/queues/b/x", "not known"},
          {"/queues/c", "must be an object"},
          {"/jobs/t/queue", "must not be empty"},
          {"/jobs/t/timeout", "a time from"},
          {"/throttlers/a/limit", "a mutex"},
          {"/recurring/r/job", "must be"}}});
}

TEST_CASE("every fault of a dashboard is told at its place") {
  check({"a dashboard",
         R"({"dashboard": {"listen": 8080, "alow_changes": true, "hosts": "a", "proxies": [""], "users": {
              "anna": {"role": "boss", "secret_file": "a", "secret_variable": "b"}, "a b": {}}}})",
         {{"/dashboard/listen", "text"},
          {"/dashboard/alow_changes", "allow_changes"},
          {"/dashboard/hosts", "list of texts"},
          {"/dashboard/proxies", "list of texts"},
          {"/dashboard/users/anna/role", "viewer"},
          {"/dashboard/users/anna/secret_variable", "give one of them"},
          {"/dashboard/users/a b", "1 to 200 characters"}}});
  check({"no users", R"({"dashboard": {"users": {}}})", {{"/dashboard/users", "must be an object by name"}}});
}

TEST_CASE("deep nesting is a fault and no crash") {
  for (const auto levels : {33, 100, 100'000}) {
    const auto n = static_cast<std::size_t>(levels);
    const auto got = test::load("{\"queues\": " + std::string(n, '[') + std::string(n, ']') + "}");
    REQUIRE(got.faults.size() == 1);
    CHECK(got.faults[0].problem.find("nested deeper than 32 levels") != std::string::npos);
    CHECK(got.faults[0].pointer.starts_with("/queues/0/0"));
  }
}

TEST_CASE("the problems of a file are short and carry no control characters") {
  const std::string junk = R"(\u001b[2J)" + std::string(5'000, 'x');
  for (const auto& text : std::vector<std::string>{
           "{\"lease\": \"" + junk + "\"}", "{\"storage\": \"" + junk + "\"}", "{\"" + junk + "\": 1}",
           "{\"queues\": {\"" + junk + "\": {}}}", "{\"x\": \x1b", "{\"lease\": 1, \"\x1b",
           one_job("\"throttle\": [\"" + junk + "\"]"), one_job("\"throttle\": [\"mutex:{" + junk + "\"]"),
           one_throttler("\"kind\": \"" + junk + "\""), one_throttler("\"kind\": \"mutex\", \"key\": \"" + junk + "\""),
           "{\"throttlers\": {\"" + junk + "\": {}}}"})
    for (const auto& f : test::load(text).faults) {
      CAPTURE(f.pointer.substr(0, 100), f.problem.substr(0, 300));
      CHECK(f.problem.find('\x1b') == std::string::npos);
      CHECK(f.problem.size() < 1'000);
    }
}
