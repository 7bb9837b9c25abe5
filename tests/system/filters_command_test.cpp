// What `sluice` says, to who enqueues, of the servers there are: of filters that are code in another process, of queues
// that none serves, and of types that none handles.
#include "core/text.hpp"
#include "storage/shared_store.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "system/work_world.hpp"

namespace sluice::test {
namespace {

using nlohmann::json;
using names = std::vector<std::string>;

struct set_clock final : clock {
  std::atomic<std::int64_t> ahead_us{0};
  time_point now() const override { return system_clock().now() + duration(ahead_us.load()); }
};

// A store, and servers on it that only beat.
struct beating_world {
  temp_dir folder;
  std::shared_ptr<set_clock> time = std::make_shared<set_clock>();
  std::shared_ptr<storage::shared_store> store = storage::open_shared_store(folder.url(), time).value();

  void beat(const std::string& name, bool has_filters, const names& queues = {"default:4"}) {
    server_info info;
    info.types = {job_type("report")};
    info.has_filters = has_filters;
    beat(name, info, queues);
  }
  void beat(const std::string& name, server_info info, const names& queues) {
    info.id.value = info.name = name;
    info.queues = queues;
    const auto known = store->call({storage::heartbeat_request{info}}, std::chrono::steady_clock::now() + 10s);
    REQUIRE(std::holds_alternative<storage::heartbeat_answer>(known.at(0)));
  }

  ran sluice(names words) {
    words.insert(words.begin(), program_path("sluice"));
    words.insert(words.end(), {"--store", folder.url()});
    return run(words, folder.path().string());
  }
  ran enqueue(names more = {}) {
    more.insert(more.begin(), {"enqueue", "default", "noop", "{}"});
    return sluice(more);
  }
};

}  // namespace

TEST_CASE_METHOD(beating_world, "whoever enqueues is told of a live server whose filters were passed by") {
  const std::string passed_by = " filters, whose on_enqueue is not called for what is enqueued here\n";
  beat("plain", false);
  time->ahead_us = -duration(2min).count();
  beat("gone", true);
  time->ahead_us = 0;
  CHECK(enqueue().err.empty());

  beat("api-1", true);
  const auto stored = enqueue({"--json", "--id", "a"});
  CHECK(stored.exit_code == 0);
  CHECK(json::parse(stored.out).at("id") == "a");
  CHECK(stored.err == "sluice: server api-1 has" + passed_by);

  beat("api-2", true);
  const auto both = "sluice: server api-1 and 1 more have" + passed_by;
  REQUIRE(sluice({"recurring", "set", "nightly", "job=noop", "cron=0 3 * * *"}).err.empty());
  CHECK(sluice({"recurring", "trigger", "nightly"}).err == both);
  write_file(folder.file("args"), "{}\n{}\n");
  CHECK(sluice({"enqueue", "default", "noop", "--bulk", "@" + folder.file("args")}).err == both);
  write_file(folder.file("jobs"), "{\"type\": \"noop\"}\n{\"type\": \"noop\"}\n");
  CHECK(sluice({"enqueue-all", folder.file("jobs")}).err == both);

  const auto refused = sluice({"enqueue", "default", "other", "{}", "--id", "a"});
  CHECK(refused.exit_code == 1);
  CHECK(refused.err.find("filters") == std::string::npos);
}

TEST_CASE_METHOD(beating_world, "whoever enqueues is told of a queue that no live server serves") {
  const auto said = [&](const std::string& queue, const std::string& type = "noop") {
    const auto stored = sluice({"enqueue", queue, type, "{}", "--id", "a" + queue + type});
    CHECK(stored.exit_code == 0);
    CHECK(stored.out == "a" + queue + type + "\n");
    return stored.err;
  };
  time->ahead_us = -duration(2min).count();
  beat("gone", false, {"old:1"});
  time->ahead_us = 0;
  CHECK(said("nowhere").empty());

  beat("api", false);
  beat("pages", false, {"mail:2", "tenant-*:1"});
  for (const auto* served : {"default", "mail", "tenant-7"})
    CHECK(said(served).empty());
  CHECK(said("defualt") == "sluice: no live server serves queue defualt; did you mean 'default'?\n");
  CHECK(said("elsewhere") == "sluice: no live server serves queue elsewhere\n");
  CHECK(said("old") == "sluice: no live server serves queue old\n");
  CHECK(said("elsewhere").empty());  // it is stored already
  for (const auto* type : {"noop", "report"})
    CHECK(said(type, "mail") == cat("sluice: the queue comes first: did you mean `sluice enqueue mail ", type, "`?\n"));
  CHECK(said("mails", "mail") == "sluice: no live server serves queue mails; did you mean 'mail'?\n");
  write_file(folder.file("args"), "{}\n{}\n");
  CHECK(sluice({"enqueue", "elsewhere", "noop", "--bulk", "@" + folder.file("args")}).err ==
        "sluice: no live server serves queue elsewhere\n");
  write_file(folder.file("jobs"), "{\"type\": \"noop\", \"queue\": \"elsewhere\"}\n");
  CHECK(sluice({"enqueue-all", folder.file("jobs")}).err == "sluice: no live server serves queue elsewhere\n");
  CHECK(sluice({"recurring", "set", "nightly", "job=noop", "every=1h", "queue=defualt"}).err ==
        "sluice: no live server serves queue defualt; did you mean 'default'?\n");
}

TEST_CASE_METHOD(beating_world, "whoever enqueues is told of a type that no live server handles") {
  server_info all;
  all.types = {job_type("noop"), job_type("order.ship")};
  all.all_types = true;
  beat("orders", all, {"default:2", "order-*:1"});
  const auto none_handles = [](const std::string& type, const std::string& queue, const std::string& meant = "") {
    return cat("sluice: no live server", queue.empty() ? "" : " of queue " + queue, " handles type ", type,
               " now: its jobs wait until one does", meant, "\n");
  };
  const auto said = [&](const std::string& queue, const std::string& type) {
    const auto stored = sluice({"enqueue", queue, type, "{}"});
    CHECK(stored.exit_code == 0);
    return stored.err;
  };
  const std::string meant = "; did you mean 'order.ship'?";
  CHECK(said("default", "order.ship").empty());
  CHECK(said("-", "order.ship").empty());
  CHECK(said("default", "ordr.ship") == none_handles("ordr.ship", "default", meant));
  CHECK(said("order-eu", "ordr.ship") == none_handles("ordr.ship", "order-eu", meant));
  CHECK(said("-", "ordr.ship") == none_handles("ordr.ship", "", meant));
  CHECK(said("default", "thumbnail") == none_handles("thumbnail", "default"));
  CHECK(said("default", "exec").find("; a server takes exec jobs only when its configuration has") !=
        std::string::npos);
  CHECK(said("elsewhere", "thumbnail") == "sluice: no live server serves queue elsewhere\n");

  const auto set = sluice({"recurring", "set", "nightly", "job=ordr.ship", "cron=0 3 * * *"});
  CHECK(set.exit_code == 0);
  CHECK(set.err == none_handles("ordr.ship", "", meant));
  write_file(folder.file("jobs"), "{\"type\": \"ordr.ship\"}\n{\"type\": \"noop\"}\n{\"type\": \"ordr.ship\"}\n");
  CHECK(sluice({"enqueue-all", folder.file("jobs")}).err == none_handles("ordr.ship", "", meant));

  beat("older", server_info(), {"mail:1"});
  CHECK(said("default", "ordr.ship").empty());
}

TEST_CASE_METHOD(beating_world, "the list of servers tells which have filters") {
  beat("api", true);
  beat("plain", false);
  const auto told = sluice({"servers", "--json"}).out;
  const auto second = told.find('\n') + 1;
  CHECK(json::parse(told.substr(0, second)).at("has_filters") == true);
  CHECK(json::parse(told.substr(second)).at("has_filters") == false);
  CHECK(sluice({"servers"}).out.find("  FILTERS  ") != std::string::npos);
}

}  // namespace sluice::test
