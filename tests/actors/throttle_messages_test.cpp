// Throttlers and explanations by message: what a client says of them, a host's actor is told too, on each store.
#include <atomic>
#include <latch>

#include "actors/host_world.hpp"
#include "core/text.hpp"
#include "support/catch.hpp"
#include "support/redis_server.hpp"

namespace sluice::test {
namespace {

struct on_sqlite {
  host_world w;
};
struct on_redis {
  redis_server redis;
  host_world w{redis.url()};
};

throttler semaphore(const std::string& name, std::uint64_t limit) {
  return {.kind = throttler_kind::semaphore, .name = name, .limit = limit};
}

throttler window_of_tenants() {
  throttler t;
  t.kind = throttler_kind::dynamic_window;
  t.name = "Tenants";
  t.limit = 1;
  t.interval = 365 * 24h;
  t.buckets = 1;
  t.key = "{tenant}";
  return t;
}

// Waits for the server's answer, as a host's actor that blocks would.
template <class Answer, class... Words>
result<Answer> say(host_world& w, Words... words) {
  caf::scoped_actor self{w.system};
  result<Answer> got = error{errc::timed_out, "no answer"};
  self->request(w.embedded->handle(), std::chrono::seconds(30), std::move(words)...)
      .receive([&](const Answer& told) { got = told; }, [&](caf::error& e) { got = error_of(e); });
  return got;
}

result<std::string> set(host_world& w, const throttler& t) { return say<std::string>(w, throttler_atom::value, t); }
result<std::string> unset(host_world& w, throttler_kind kind, const std::string& name) {
  return say<std::string>(w, remove_throttler_atom::value, throttler_name{kind, name});
}
result<throttler_status> look(host_world& w, throttler_kind kind, const std::string& name) {
  return say<throttler_status>(w, describe_atom::value, throttler_name{kind, name});
}
result<std::vector<throttler_status>> look_at_all(host_world& w) {
  return say<std::vector<throttler_status>>(w, describe_atom::value);
}
result<explanation> explain(host_world& w, const job_id& id) { return say<explanation>(w, explain_atom::value, id); }

// All that stands still while nothing happens.
std::string text_of(const throttler_status& s) {
  auto all = cat(s.resource, " limit ", s.limit.value_or(0), " held ", s.held, " waiting ", s.waiting, " next ",
                 s.next_at ? format_time(*s.next_at) : "-", " named ", s.definition ? s.definition->name : "-");
  for (const auto& k : s.keys)
    all += cat("; key ", k.key, " ", k.used, "/", k.limit);
  for (const auto& h : s.holders)
    all += cat("; holder ", h.id.value, " ", h.fence.value, h.reserved ? " reserved" : "", " ", format_time(h.since));
  for (const auto& id : s.waiters)
    all += cat("; waiter ", id.value);
  return all;
}
std::string text_of(const std::vector<throttler_status>& all) {
  std::string text;
  for (const auto& s : all)
    text += text_of(s) + "\n";
  return text;
}
std::string text_of(const explanation& e) {
  auto all = cat(name_of(e.reason), ": ", e.text, " (", e.resource, ", ", e.before, ")");
  for (const auto& id : e.holders)
    all += " " + id.value;
  return all;
}
std::string text_of(const std::string& text) { return text; }

// The answer, or what is wrong.
template <class T>
std::string words_of(const result<T>& r) {
  return r ? text_of(*r) : "error: " + to_string(r.error());
}
}  // namespace

TEMPLATE_TEST_CASE("an actor of the host sets describes lists and removes throttlers by message", "", on_sqlite,
                   on_redis) {
  std::latch may_end{1};
  TestType on;
  auto& w = on.w;
  w.options.jobs["call"].throttle = {"semaphore:api"};
  w.handlers.handle("call", [&](job_context&) { may_end.wait(); });
  REQUIRE(w.client->set_throttler(semaphore("api", 9)).ok());
  w.start();
  CHECK(words_of(set(w, semaphore("API", 1))) == "semaphore:api");
  CHECK(look(w, throttler_kind::semaphore, "api")->definition == semaphore("API", 1));
  const auto first = w.enqueue("call");
  REQUIRE(w.becomes(first, job_state::processing));
  const auto second = w.enqueue("call");
  REQUIRE(w.becomes(second, job_state::throttled));

  const auto seen = look(w, throttler_kind::semaphore, "api");
  REQUIRE(seen.ok());
  CHECK(seen->limit == 1u);
  REQUIRE(seen->holders.size() == 1);
  CHECK(seen->holders[0].id == first);
  CHECK(seen->waiters == std::vector{second});
  CHECK(words_of(look_at_all(w)).starts_with("semaphore:api limit 1 held 1 waiting 1"));
  const auto why = explain(w, second);
  REQUIRE(why.ok());
  CHECK(why->reason == explain_reason::waits_for_permit);
  CHECK(why->resource == "semaphore:api");
  CHECK(why->holders == std::vector{first});
  CHECK(explain(w, first)->reason == explain_reason::running);
  CHECK(unset(w, throttler_kind::semaphore, "api").error().code == errc::illegal_transition);

  CHECK(set(w, semaphore("api", 2)).ok());
  CHECK(w.becomes(second, job_state::processing));
  may_end.count_down();
  REQUIRE(w.becomes(first, job_state::succeeded));
  REQUIRE(w.becomes(second, job_state::succeeded));
  CHECK(explain(w, second)->reason == explain_reason::final_);
  CHECK(words_of(unset(w, throttler_kind::semaphore, "Api")) == "semaphore:api");
  CHECK(words_of(unset(w, throttler_kind::semaphore, "Api")) == "semaphore:api");  // fine when there is none
  CHECK(look(w, throttler_kind::semaphore, "api").error().code == errc::not_found);
  CHECK(look_at_all(w)->empty());
}

TEMPLATE_TEST_CASE("a message tells of each kind of throttler what a client tells", "", on_sqlite, on_redis) {
  std::latch may_end{1};
  TestType on;
  auto& w = on.w;
  w.options.throttlers = {window_of_tenants(), semaphore("idle", 3)};
  w.options.jobs["rent"].throttle = {"dynamic_window:tenants"};
  w.options.jobs["order"].throttle = {"mutex:order:{n}"};
  w.handlers.handle("rent", [](job_context&) {});
  w.handlers.handle("order", [&](job_context&) { may_end.wait(); });
  w.start();
  REQUIRE(w.becomes(w.enqueue("order", R"({"n":7})"), job_state::processing));
  REQUIRE(w.becomes(w.enqueue("order", R"({"n":7})"), job_state::throttled));
  job_id waits;
  for (const auto* tenant : {"a", "b"}) {
    const auto args = cat("{\"tenant\":\"", tenant, "\"}");
    REQUIRE(w.becomes(w.enqueue("rent", args), job_state::succeeded));
    waits = w.enqueue("rent", args);
    REQUIRE(w.becomes(waits, job_state::throttled));
  }
  const auto all = look_at_all(w);
  REQUIRE(all.ok());
  CHECK(all->size() == 3);
  CHECK(words_of(all) == words_of(w.client->throttlers()));
  using named = std::pair<throttler_kind, const char*>;
  for (const auto& [kind, name] :
       {named{throttler_kind::dynamic_window, "tenants"}, named{throttler_kind::dynamic_window, "tenants/b"},
        named{throttler_kind::mutex, "order:7"}, named{throttler_kind::mutex, "never used"},
        named{throttler_kind::semaphore, "IDLE"}}) {
    const auto told = look(w, kind, name);
    CHECK(told.ok());
    CHECK(words_of(told) == words_of(w.client->throttler(kind, name)));
  }
  CHECK(look(w, throttler_kind::dynamic_window, "tenants")->waiters.size() == 2);
  CHECK(explain(w, waits)->reason == explain_reason::waits_for_slot);
  CHECK(words_of(explain(w, waits)) == words_of(w.client->explain(waits)));
  may_end.count_down();
}

TEMPLATE_TEST_CASE("what is wrong with a question about throttlers is answered as a client is answered", "", on_sqlite,
                   on_redis) {
  TestType on;
  auto& w = on.w;
  w.options.throttlers = {semaphore("api", 1)};
  w.start();
  auto& c = *w.client;
  auto keyless = window_of_tenants();
  keyless.key.clear();
  for (const auto& bad : {semaphore("api", 0), semaphore("", 1), semaphore("a\nb", 1), keyless,
                          throttler{.kind = throttler_kind::mutex, .name = "m", .limit = 2},
                          throttler{.kind = static_cast<throttler_kind>(77), .name = "what", .limit = 2}}) {
    const auto refused = set(w, bad);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == errc::invalid_argument);
    CHECK(words_of(refused) == "error: " + to_string(c.set_throttler(bad).error()));
  }
  using named = std::pair<throttler_kind, const char*>;
  for (const auto& [kind, name] :
       {named{throttler_kind::semaphore, "nobody"}, named{throttler_kind::fixed_window, "api"},  // it is a semaphore
        named{throttler_kind::custom, "api"}, named{throttler_kind::semaphore, "api/key"},
        named{static_cast<throttler_kind>(77), "api"}}) {
    const auto unknown = look(w, kind, name);
    REQUIRE_FALSE(unknown.ok());
    CHECK(unknown.error().code == errc::not_found);
    CHECK(words_of(unknown) == words_of(c.throttler(kind, name)));
  }
  const auto nobody = explain(w, job_id("nobody"));
  REQUIRE_FALSE(nobody.ok());
  CHECK(nobody.error().code == errc::not_found);
  CHECK(words_of(nobody) == words_of(c.explain(job_id("nobody"))));
  CHECK(look(w, throttler_kind::semaphore, "api")->limit == 1u);  // as it was
}

TEST_CASE("while the store is away every question about throttlers is answered with an error that says so") {
  redis_server redis;
  host_world w(redis.url());
  w.start();
  REQUIRE(set(w, semaphore("api", 1)).ok());
  redis.kill();
  std::vector<error> told;
  caf::scoped_actor self{w.system};
  const auto failed = [&](caf::error& e) { told.push_back(error_of(e)); };
  const auto which = throttler_name{throttler_kind::semaphore, "api"};
  const auto ask = [&](auto... words) {
    return self->request(w.embedded->handle(), std::chrono::seconds(30), std::move(words)...);
  };
  // All at once: none waits for the patience of another.
  auto set_it = ask(throttler_atom::value, semaphore("api", 2));
  auto unset_it = ask(remove_throttler_atom::value, which);
  auto check_it = ask(describe_atom::value, which);
  auto check_each = ask(describe_atom::value);
  auto explain_it = ask(explain_atom::value, job_id("any"));
  set_it.receive([](const std::string&) {}, failed);
  unset_it.receive([](const std::string&) {}, failed);
  check_it.receive([](const throttler_status&) {}, failed);
  check_each.receive([](const std::vector<throttler_status>&) {}, failed);
  explain_it.receive([](const explanation&) {}, failed);
  REQUIRE(told.size() == 5);
  for (const auto& e : told) {
    CAPTURE(to_string(e));
    CHECK((is_transient(e.code) || e.code == errc::unknown_outcome));
  }
  redis.start();
  CHECK(eventually([&] { return look_at_all(w).ok(); }));
  CHECK(set(w, semaphore("api", 3)).ok());
}

TEST_CASE("what a host has asked about throttlers is answered though the server stops or its actor is killed") {
  std::atomic<int> asked{0}, answered{0};
  host_world w;
  for (int i = 0; i < 20; ++i) {  // each is a question of its own to the store
    throttler t;
    t.kind = throttler_kind::fixed_window;
    t.name = cat("w", i);
    t.limit = 1;
    t.interval = 1s;
    w.options.throttlers.push_back(t);
  }
  w.start();
  const auto handle = w.embedded->handle();
  const auto producer = w.spawn([&, handle](caf::event_based_actor* self) -> caf::behavior {
    return {[&, self, handle](int) {
      const auto failed = [&](const caf::error&) { ++answered; };
      const auto which = throttler_name{throttler_kind::fixed_window, "w1"};
      for (int i = 0; i < 20; ++i) {
        asked += 4;
        self->request(handle, caf::infinite, describe_atom::value)
            .then([&](const std::vector<throttler_status>&) { ++answered; }, failed);
        self->request(handle, caf::infinite, describe_atom::value, which)
            .then([&](const throttler_status&) { ++answered; }, failed);
        self->request(handle, caf::infinite, explain_atom::value, job_id("nobody"))
            .then([&](const explanation&) { ++answered; }, failed);
        self->request(handle, caf::infinite, throttler_atom::value, semaphore("s", 1))
            .then([&](const std::string&) { ++answered; }, failed);
      }
    }};
  });
  for (int i = 0; i < 5; ++i)
    caf::anon_send(producer, 1);
  REQUIRE(eventually([&] { return answered > 0; }));
  SECTION("stopped") { w.embedded->stop(); }
  SECTION("killed") { caf::anon_send_exit(handle, caf::exit_reason::kill); }
  CHECK(eventually([&] { return asked == 400 && answered == 400; }));
  CHECK(eventually([&] { return w.client->servers()->empty(); }));
  w.embedded->stop();
  CHECK(look_at_all(w).error().code == errc::not_running);
}

}  // namespace sluice::test
