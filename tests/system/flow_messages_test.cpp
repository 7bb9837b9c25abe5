// A host's own actors do by message all that jobs may have to do with others and with time (support/flow_host.cpp). The
// host is killed in the middle; how all has ended is judged from outside, by `sluice` and by the host's exit code.
#include <map>

#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/redis_server.hpp"
#include "system/work_world.hpp"

namespace sluice::test {
namespace {

using nlohmann::json;
using states = std::map<std::string, std::string>;

// Whatever waits for a run that only a second life ends.
const states in_the_middle{
    {"holds", "processing"},        {"two-of-three", "awaiting"},    {"publish", "awaiting"},
    {"page-3", "processing"},       {"told-of-pages", "awaiting"},   {"doomed-1", "processing"},
    {"told-of-doomed", "awaiting"}, {"asked-to-stop", "processing"},
};
const states at_the_end{
    // After others, and carried.
    {"works", "succeeded"},
    {"holds", "succeeded"},
    {"fails", "failed"},
    {"if-failed", "succeeded"},
    {"if-succeeded", "deleted"},
    {"run-anyway", "succeeded"},
    {"kept", "deleted"},
    {"two-of-three", "succeeded"},
    {"if-missing", "succeeded"},
    {"carries", "succeeded"},
    {"carried", "succeeded"},
    // Groups.
    {"page-1", "succeeded"},
    {"page-2", "succeeded"},
    {"page-3", "succeeded"},
    {"told-of-pages", "succeeded"},
    {"doomed-1", "deleted"},
    {"doomed-2", "deleted"},
    {"told-of-doomed", "succeeded"},
    // Unique keys, cancels and times.
    {"mail", "deleted"},
    {"mail-instead", "scheduled"},
    {"late-1", "deleted"},
    {"late-2", "deleted"},
    {"late-3", "deleted"},
    {"asked-to-stop", "deleted"},
    {"not-begun", "deleted"},
    {"not-over", "failed"},
    // All or none.
    {"fetch", "succeeded"},
    {"parse", "succeeded"},
    {"publish", "succeeded"},
};

// What the host itself has to say, beside the log of its server.
std::string complaint_in(const std::string& log) {
  const auto at = log.find("flow_host: ");
  return at == std::string::npos ? std::string() : log.substr(at);
}

json shown(work_world& w, std::vector<std::string> words) {
  words.push_back("--json");
  const auto said = w.sluice(std::move(words));
  return said.exit_code == 0 ? json::parse(said.out) : json();
}

// Of all jobs that the store has.
states told_by_the_command(work_world& w) {
  states all;
  std::istringstream lines(w.sluice({"jobs", "--limit", "1000", "--json"}).out);
  for (std::string line; std::getline(lines, line);)
    if (const auto one = json::parse(line); one.contains("id")) all[one.at("id")] = one.at("state");
  return all;
}

}  // namespace

TEST_CASE(
    "a host's actors do by message all that jobs have to do with each other, and a kill in the middle costs none") {
  const bool on_redis = GENERATE(false, true);
  CAPTURE(on_redis);
  std::optional<redis_server> redis;
  if (on_redis) redis.emplace();
  work_world w(json::object(), on_redis ? redis->url() : std::string());

  auto middle = at_the_end;
  for (const auto& [id, state] : in_the_middle)
    middle[id] = state;
  process first({program_path("flow_host"), w.url}, w.folder.file("first.log"));
  states told;
  const auto is_in_the_middle = [&] { return (told = told_by_the_command(w)) == middle; };
  eventually([&] { return is_in_the_middle() || !first.alive(); }, 60s);
  CHECK(complaint_in(first.log()).empty());
  REQUIRE(told == middle);
  first.signal(SIGKILL);
  REQUIRE(first.exit_code(20s) == -SIGKILL);

  process second({program_path("flow_host"), w.url}, w.folder.file("second.log"));
  const auto code = second.exit_code(120s);
  CHECK(complaint_in(second.log()).empty());
  CHECK(code == 0);
  CHECK(told_by_the_command(w) == at_the_end);

  const auto pages = shown(w, {"group", "show", "pages"});
  CHECK(pages.at("ended_as") == "succeeded");
  CHECK(pages.at("succeeded") == 3);
  const auto doomed = shown(w, {"group", "show", "doomed"});
  CHECK(doomed.at("ended_as") == "deleted");
  CHECK(doomed.at("deleted") == 2);
  const auto last_cause = [&](const std::string& id) {
    return shown(w, {"show", id}).at("history").back().at("cause");
  };
  CHECK(last_cause("asked-to-stop") == "cancelled");
  CHECK(last_cause("not-over") == "deadline");
  CHECK(shown(w, {"show", "not-begun"}).at("reason").get<std::string>().find("start") != std::string::npos);
  const auto of_page_2 = shown(w, {"show", "page-2"}).at("history");
  CHECK(of_page_2.size() == 3);  // failed, requeued, succeeded
  CHECK(w.sluice({"audit"}).exit_code == 0);
}

}  // namespace sluice::test
