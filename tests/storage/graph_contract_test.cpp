// Graphs of jobs that are stored all or none. The names of the scenarios begin with the number of the case.
#include "storage/flow_words.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

prepared_job after(const std::string& id, const names& parents, when_unmet unless = when_unmet::remove,
                   parent_end on = parent_end::succeeded) {
  return changed({.id = id}, [&](prepared_job& j) {
    auto& its = flow_of(j).after;
    for (const auto& parent : parents)
      its.parents.emplace_back(parent);
    its.unless = unless;
    its.on = on;
  });
}
storage::enqueue_answer put_graph(world& w, std::vector<prepared_job> jobs) {
  return ask(w, storage::enqueue_request{std::move(jobs), true});
}
names reports(const storage::enqueue_answer& told) {
  names all;
  for (std::size_t i = 0; i < told.each.size(); ++i)
    all.push_back(report(told, i));
  return all;
}

}  // namespace

ON_EACH_STORE("dag-1 Of a graph all jobs are stored, and the same call again is the same graph") {
  const std::vector<prepared_job> graph = {prepared({.id = "a"}), after("b", {"a"}), after("c", {"a", "b"})};
  CHECK(reports(put_graph(w, graph)) == names{"stored", "stored", "stored"});
  CHECK(reports(put_graph(w, graph)) == names{"same", "same", "same"});
  end(w, "a");
  end(w, "b");
  end(w, "c");
  CHECK(reports(put_graph(w, graph)) == names{"same", "same", "same"});
  audit(w);
}

ON_EACH_STORE("dag-1 Of a graph with one job at fault none is stored, and nothing else has changed") {
  REQUIRE(create(w, "g").code == errc::none);
  REQUIRE(put(w, {.id = "holder", .delay = 1h}) == errc::none);
  auto holder = changed({.id = "has-key", .delay = 1h}, [](prepared_job& j) { flow_of(j).unique_key = "work/k"; });
  REQUIRE(report(put_jobs(w, {holder})) == "stored");
  auto replaces = changed({.id = "replaces"}, [](prepared_job& j) {
    flow_of(j).unique_key = "work/k";
    flow_of(j).unique.then = when_taken::replace;
  });
  const auto told = put_graph(w, {prepared({.id = "a"}), replaces, member("m", "g"), after("b", {"a", "nobody"})});
  CHECK(reports(told) == names{"refused", "refused", "refused", "not_found"});
  CHECK(storage::report_of(job_id("a"), told, 0).error().message ==
        "job a was not stored: all jobs of this call are stored or none is, and job b was refused");
  for (const auto* id : {"a", "replaces", "m", "b"})
    CHECK(look(w, id).code == errc::not_found);
  CHECK(state(w, "has-key") == job_state::scheduled);
  CHECK(group_in_words(w, "g") == "0 open, 0 succeeded, 0 failed, 0 deleted");
  audit(w);
}

ON_EACH_STORE("dag-1 A graph of which a part is there already, or whose unique key another has, is not stored") {
  put_all(w, {"a"});
  CHECK(reports(put_graph(w, {prepared({.id = "a"}), after("b", {"a"})})) == names{"id_conflict", "refused"});
  const auto keyed = [](const std::string& id) {
    return changed({.id = id}, [](prepared_job& j) { flow_of(j).unique_key = "work/k"; });
  };
  REQUIRE(report(put_jobs(w, {keyed("first")})) == "stored");
  CHECK(reports(put_graph(w, {prepared({.id = "c"}), keyed("second")})) == names{"refused", "unique_conflict"});
  CHECK(ids(list(w)) == names{"a", "first"});
  audit(w);
}

ON_EACH_STORE("dag-1 A graph of a thousand jobs of one group is stored in one step") {
  REQUIRE(create(w, "g").code == errc::none);
  std::vector<prepared_job> chain = {member("j0", "g")};
  for (int i = 1; i < 1000; ++i) {
    chain.push_back(after(cat("j", i), {cat("j", i - 1)}));
    flow_of(chain.back()).group = "g"_group;
  }
  for (const auto code : put_graph(w, chain).each)
    REQUIRE(code == errc::none);
  end(w, "j0");
  CHECK(state(w, "j1") == job_state::enqueued);
  CHECK(state(w, "j999") == job_state::awaiting);
  CHECK(group_in_words(w, "g") == "999 open, 1 succeeded, 0 failed, 0 deleted");
  audit(w);
}

// top -> left, right; left -> deep; a join of both, one that runs in any case, and one that is kept.
ON_EACH_STORE("dag-7 A cancel goes down to what only the cancelled job could release") {
  REQUIRE(reports(put_graph(
              w, {prepared({.id = "top"}), after("left", {"top"}), after("right", {"top"}), after("deep", {"left"}),
                  after("join", {"left", "right"}), after("anyway", {"left"}, when_unmet::run),
                  after("kept", {"left", "right"}, when_unmet::keep),
                  after("cleanup", {"left"}, when_unmet::remove, parent_end::deleted)})) == names(8, "stored"));
  REQUIRE(cancel(w, "left").code == errc::none);
  work_off(w);
  for (const auto* id : {"left", "deep", "join"})
    CHECK(state(w, id) == job_state::deleted);
  for (const auto* id : {"anyway", "cleanup"})
    CHECK(state(w, id) == job_state::enqueued);
  for (const auto* id : {"right", "kept"})
    CHECK(state(w, id) == job_state::awaiting);
  end(w, "top");
  end(w, "anyway");
  end(w, "cleanup");
  end(w, "right");
  CHECK(state(w, "kept") == job_state::awaiting);
  audit(w);
}
