// samples/service as a supervisor and a producer meet it.
#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/redis_server.hpp"
#include "system/work_world.hpp"

namespace sluice::test {
namespace {

using nlohmann::json;

new_job invoice(const std::string& id, const std::string& args) {
  new_job made;
  made.type = job_type("invoice");
  made.id = job_id(id);
  made.args = args;
  return made;
}

// The sample on the store of a world, with a schedule.
void serve_and_stop(work_world& w) {
  w.configure("service.json",
              {{"dashboard", {{"listen", "localhost:0"}}},
               {"recurring", {{"pulse", {{"job", "invoice"}, {"args", {{"order", "p"}}}, {"every", "1s"}}}}}});
  auto p = w.serve({program_path("service"), w.folder.file("service.json")}, "service.log");

  w.enqueue({invoice("fits", R"({"order": "o-7"})"), invoice("misfit", "{}")});
  REQUIRE(eventually([&] { return is_final(w.get("fits").state) && is_final(w.get("misfit").state); }));
  CHECK(w.get("fits").result == "sent for o-7");
  CHECK(w.get("misfit").state == job_state::failed);
  CHECK(w.get("misfit").attempt == 1);
  CHECK(eventually([&] { return p.log().find("job misfit has failed: the args do not fit") != std::string::npos; }));
  CHECK(eventually([&] { return w.counts().succeeded >= 2; }));  // the schedule has no tenant and is let in

  p.signal(SIGTERM);
  CHECK(p.exit_code(10s) == 0);
  CHECK(w.client->servers()->empty());
}

}  // namespace

TEST_CASE("the service of the samples runs jobs by its filters and ends in order at SIGTERM, on SQLite and on Redis") {
  {
    work_world on_a_file;
    serve_and_stop(on_a_file);
  }
  redis_server redis;
  work_world on_redis(json::object(), redis.url());
  serve_and_stop(on_redis);
}

}  // namespace sluice::test
