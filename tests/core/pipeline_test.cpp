#include <stdexcept>

#include <sluice/exec_key.hpp>

#include "core/codec.hpp"
#include "core/pipeline.hpp"
#include "core/text.hpp"
#include "support/catch.hpp"

using namespace sluice;
using namespace std::chrono_literals;

namespace {

const time_point now = from_micros(1'780'000'000'000'000);

// A filter that does what a test says.
class scripted : public filter {
public:
  explicit scripted(std::function<result<void>(new_job&)> act) : act_(std::move(act)) {}
  result<void> on_enqueue(new_job& job) override { return act_(job); }

private:
  std::function<result<void>(new_job&)> act_;
};

filter_entry entry(int order, std::function<result<void>(new_job&)> act, std::string only_for = {}) {
  return {std::make_shared<scripted>(std::move(act)), order, job_type(std::move(only_for))};
}

new_job make(std::string type = "mail") {
  new_job job;
  job.type = job_type(std::move(type));
  return job;
}

job_content content_of(const prepared_job& ready) {
  auto read = decode_content(ready.id, ready.record);
  REQUIRE(read);
  return *read;
}

}  // namespace

TEST_CASE("a prepared job holds all that its enqueuer said") {
  auto job = make();
  job.args = R"({"to":"a@b"})";
  job.queue = queue_name("mails");
  job.id = job_id("mine");
  job.delay = 5s;
  job.headers = {{"trace", "1"}};
  job.retry.attempts = 2;
  job.timeout = 1min;
  const auto ready = enqueue_pipeline({}, {}).prepare(job, now);
  REQUIRE(ready);
  CHECK(ready->id == job.id);
  CHECK(ready->queue == job.queue);
  CHECK(ready->delay == job.delay);
  const auto said = content_of(*ready);
  CHECK(said.type == job.type);
  CHECK(said.queue == job.queue);
  CHECK(said.args == job.args);
  CHECK(said.headers == job.headers);
  CHECK(said.retry == job.retry);
  CHECK(said.timeout == job.timeout);
  CHECK(said.created_at == now);
}

TEST_CASE("a job without an id gets a new one") {
  const enqueue_pipeline pipeline({}, {});
  const auto first = pipeline.prepare(make(), now);
  const auto second = pipeline.prepare(make(), now);
  REQUIRE(first);
  REQUIRE(second);
  CHECK(valid_name(first->id.value));
  CHECK(first->id != second->id);
}

TEST_CASE("the same id and content prepared again is the same job") {
  const enqueue_pipeline pipeline({}, {});
  auto job = make();
  job.id = job_id("mine");
  const auto first = pipeline.prepare(job, now);
  const auto second = pipeline.prepare(job, now + 1h);
  REQUIRE(first);
  REQUIRE(second);
  CHECK(first->id == second->id);
  CHECK(content_of(*first).same_job(content_of(*second)));
}

TEST_CASE("other content is not the same job") {
  const enqueue_pipeline pipeline({}, {});
  auto job = make();
  job.id = job_id("mine");
  const auto first = pipeline.prepare(job, now);
  REQUIRE(first);
  std::vector<new_job> others(4, job);
  others[0].type = job_type("other");
  others[1].args = "{ }";
  others[2].queue = queue_name("other");
  others[3].headers = {{"a", "b"}};
  for (const auto& other : others) {
    const auto second = pipeline.prepare(other, now);
    REQUIRE(second);
    CHECK_FALSE(content_of(*first).same_job(content_of(*second)));
  }
}

TEST_CASE("the queue is the word of the enqueuer before that of the type") {
  std::map<std::string, type_options> types;
  types["mail"].queue = queue_name("mails");
  types["bare"].timeout = 1s;
  const enqueue_pipeline pipeline({}, types);
  auto named = make();
  named.queue = queue_name("urgent");
  CHECK(pipeline.prepare(named, now)->queue == queue_name("urgent"));
  CHECK(pipeline.prepare(make(), now)->queue == queue_name("mails"));
  CHECK(pipeline.prepare(make("bare"), now)->queue == queue_name("default"));
  CHECK(pipeline.prepare(make("unknown"), now)->queue == queue_name("default"));
}

TEST_CASE("a unique key is made of the type and of what a template finds in the args, letter by letter") {
  const auto key_of = [](const std::string& args, const unique_rule& rule) {
    auto job = make("mail");
    job.args = args;
    job.unique = rule;
    const auto ready = enqueue_pipeline({}, {}).prepare(job, now);
    return ready ? ready->flow->unique_key : to_string(ready.error());
  };
  CHECK(key_of(R"({"a":1,"b":"X"})", {.by = "{a}-{b}"}) == "mail/1-X");
  CHECK(key_of(R"({"b":"X","a":1})", {.by = "{a}-{b}"}) == "mail/1-X");
  CHECK(key_of(R"({"b":"x","a":1})", {.by = "{a}-{b}"}) == "mail/1-x");
  CHECK(key_of(R"({"a":1})", {.by = "{a}", .per_queue = true}) == "mail/default/1");
  CHECK(key_of("[1]", {}) == key_of("[1]", {}));
  CHECK(key_of("[1]", {}) != key_of("[2]", {}));
  CHECK(key_of("[1]", {}) != key_of("[1 ]", {}));
  CHECK(key_of("[1]", {.by = "*"}) == key_of("[1]", {}));
  CHECK(key_of("[1]", {.at_most = 1min}).find("at_most is of extend") != std::string::npos);
  const std::string text(200, 'a');
  CHECK(key_of(R"({"a":")" + text + R"("})", {.by = "{a}"}).size() < 60);
  CHECK(key_of("{}", {.by = "{a}"}).find("unique.by '{a}': the placeholder {a}") != std::string::npos);
  CHECK(key_of("{}", {.by = "{a"}).find("brace") != std::string::npos);
  CHECK(key_of(R"({"a":1})", {.by = "a"}).find("unique.by 'a' names none of the args") != std::string::npos);
  CHECK(key_of(R"({"a":1})", {.by = "constant:a"}) == "mail/a");
  CHECK(key_of("{}", {.until = unique_until::period}).find("1 ms to 10 years") != std::string::npos);
  CHECK(key_of("{}", {.until = unique_until::start, .then = when_taken::coalesce}).find("coalesce") !=
        std::string::npos);
}

TEST_CASE("times and keys come from the job, then from its type, then from its queue") {
  std::map<std::string, type_options> types;
  types["mail"].start_within = 2s;
  types["mail"].unique = unique_rule{};
  std::map<std::string, queue_options> queues;
  queues["*"].start_within = 3s;
  queues["*"].finish_within = 4s;
  const enqueue_pipeline pipeline({}, types, queues);
  auto own = make("mail");
  own.start_within = 1s;
  CHECK(pipeline.prepare(own, now)->flow->start_within == duration(1s));
  CHECK(pipeline.prepare(make("mail"), now)->flow->start_within == duration(2s));
  CHECK_FALSE(pipeline.prepare(make("mail"), now)->flow->unique_key.empty());
  CHECK(pipeline.prepare(make("other"), now)->flow->start_within == duration(3s));
  CHECK(pipeline.prepare(make("other"), now)->flow->finish_within == duration(4s));
  CHECK_FALSE(pipeline.prepare(make("other"), now)->is_plain());
}

TEST_CASE("what cannot be said of groups and times is refused with the reason") {
  const auto refusal = [](const std::function<void(new_job&)>& change) {
    auto job = make();
    change(job);
    const auto ready = enqueue_pipeline({}, {}).prepare(job, now);
    return ready ? std::string() : ready.error().message;
  };
  CHECK(refusal([](new_job& j) { j.group = group_name("no name"); }).find("group 'no name'") == 0);
  CHECK(refusal([](new_job& j) { j.added_by.id = "a"; }) == "added_by is said without a group");
  CHECK(refusal([](new_job& j) { j.group = "g", j.after.groups = {"g"}; }) ==
        "a job of group g cannot run after that group");
  CHECK(refusal([](new_job& j) { j.after.groups = {"g", "g"}; }) == "group g is named twice");
  CHECK(refusal([](new_job& j) {
          j.after.parents = {"p"}, j.after.on = parent_end::first_failure;
        }).find("first_failure is of groups") == 0);
  CHECK(refusal([](new_job& j) { j.delay = 1h, j.finish_within = 1min; }) ==
        "it would never run: it is due after 1h, and finish_within is over 1m after its enqueue; make that longer, or "
        "the delay shorter");
  CHECK_FALSE(refusal([](new_job& j) { j.delay = 1h, j.finish_within = 1h; }).empty());
  CHECK(refusal([](new_job& j) { j.delay = 1h, j.finish_within = 2h; }).empty());
  CHECK(refusal([](new_job& j) { j.finish_within = 0s; }).empty());  // it is stored as ended
  CHECK(refusal([](new_job& j) { j.start_within = -1s; }) == "start_within must be 0 to 10 years");
  CHECK(refusal([](new_job& j) { j.after.parents = {"a"}, j.after.groups = {"a"}; }).empty());  // a job, and a group
}

TEST_CASE("filters run by their order and then as they were registered") {
  std::string trace;
  const auto note = [&trace](std::string name) {
    return [&trace, name = std::move(name)](new_job&) {
      trace += name;
      return result<void>();
    };
  };
  const enqueue_pipeline pipeline(
      {entry(20, note("c")), entry(-5, note("a")), entry(20, note("d")), entry(0, note("b")), entry(30, note("e"))},
      {});
  REQUIRE(pipeline.prepare(make(), now));
  CHECK(trace == "abcde");
}

TEST_CASE("a filter for one type sees no other") {
  int seen = 0;
  const enqueue_pipeline pipeline({entry(
                                      0, [&](new_job&) { return ++seen, result<void>(); }, "mail")},
                                  {});
  REQUIRE(pipeline.prepare(make("mail"), now));
  REQUIRE(pipeline.prepare(make("mail2"), now));
  CHECK(seen == 1);
}

TEST_CASE("a filter may change the job") {
  std::map<std::string, type_options> types;
  types["mail"].queue = queue_name("mails");
  const enqueue_pipeline pipeline({entry(0,
                                         [](new_job& job) {
                                           job.headers["tenant"] = "7";
                                           job.queue = queue_name("tenant-7");
                                           return result<void>();
                                         })},
                                  types);
  const auto ready = pipeline.prepare(make(), now);
  REQUIRE(ready);
  CHECK(ready->queue == queue_name("tenant-7"));
  CHECK(content_of(*ready).headers.at("tenant") == "7");
}

TEST_CASE("a prepared job names the headers that filters added or changed, and a signature never") {
  auto job = make();
  job.headers = {{"kept", "1"}, {"changed", "1"}, {"set-again", "1"}};
  const auto act = [](new_job& j) {
    j.headers["added"] = "2";
    j.headers["changed"] = "2";
    j.headers["set-again"] = "1";
    j.headers[signature_header] = "v1=2";
    return result<void>();
  };
  const auto ready = enqueue_pipeline({entry(0, act)}, {}).prepare(job, now);
  REQUIRE(ready);
  CHECK(ready->headers_of_filters == std::vector<std::string>{"added", "changed"});
  CHECK(enqueue_pipeline({}, {}).prepare(job, now)->headers_of_filters.empty());
}

TEST_CASE("a filter sees the id that the job will have") {
  job_id seen;
  const enqueue_pipeline pipeline({entry(0, [&](new_job& job) { return seen = job.id, result<void>(); })}, {});
  const auto ready = pipeline.prepare(make(), now);
  REQUIRE(ready);
  CHECK(seen == ready->id);
}

TEST_CASE("a filter that refuses ends it there") {
  bool later = false;
  const enqueue_pipeline pipeline({entry(0,
                                         [](new_job&) {
                                           return result<void>(error{errc::refused, "closed on Sundays"});
                                         }),
                                   entry(1, [&](new_job&) { return later = true, result<void>(); })},
                                  {});
  const auto ready = pipeline.prepare(make(), now);
  REQUIRE_FALSE(ready);
  CHECK(ready.error().code == errc::refused);
  CHECK(ready.error().message == "closed on Sundays");
  CHECK_FALSE(later);
}

TEST_CASE("a filter that throws refuses the job with its words") {
  const enqueue_pipeline pipeline(
      {entry(0, [](new_job&) -> result<void> { throw std::runtime_error("no \x1b tenant"); })}, {});
  const auto ready = pipeline.prepare(make(), now);
  REQUIRE_FALSE(ready);
  CHECK(ready.error().code == errc::refused);
  CHECK(ready.error().message.find("no \\x1b tenant") != std::string::npos);
}

TEST_CASE("a filter that throws no exception refuses the job too") {
  const enqueue_pipeline pipeline({entry(0, [](new_job&) -> result<void> { throw 7; })}, {});
  const auto ready = pipeline.prepare(make(), now);
  REQUIRE_FALSE(ready);
  CHECK(ready.error().code == errc::refused);
}

TEST_CASE("what a filter made of the job is held to the limits") {
  const enqueue_pipeline pipeline({entry(0, [](new_job& job) { return job.args = "{", result<void>(); })}, {});
  const auto ready = pipeline.prepare(make(), now);
  REQUIRE_FALSE(ready);
  CHECK(ready.error().code == errc::invalid_argument);
}
