#include <algorithm>
#include <set>

#include "core/job_state.hpp"
#include "support/catch.hpp"

using namespace sluice;

namespace {

std::vector<job_state> all_states() {
  std::vector<job_state> states;
  for (int i = 1; i <= 8; ++i)
    states.push_back(static_cast<job_state>(i));
  return states;
}

}  // namespace

TEST_CASE("the names of the states read back") {
  std::set<std::string_view> names;
  for (const auto state : all_states()) {
    names.insert(name_of(state));
    CHECK(parse_job_state(name_of(state)) == state);
  }
  CHECK(names == std::set<std::string_view>{"enqueued", "scheduled", "awaiting", "throttled", "processing", "succeeded",
                                            "failed", "deleted"});
}

TEST_CASE("the names of the ends are those of history") {
  using enum run_end;
  CHECK(name_of(succeeded) == "succeeded");
  CHECK(name_of(failed) == "failed");
  CHECK(name_of(given_up) == "failed");
  CHECK(name_of(removed) == "deleted");
  for (const auto end : {retry, given_back, deferred})
    CHECK(goes_on(end));
  for (const auto end : {succeeded, failed, given_up, removed})
    CHECK_FALSE(goes_on(end));
}

TEST_CASE("the stored numbers of the ends never change") {
  CHECK(run_end::succeeded == static_cast<run_end>(1));
  CHECK(run_end::failed == static_cast<run_end>(2));
  CHECK(run_end::given_up == static_cast<run_end>(3));
  CHECK(run_end::retry == static_cast<run_end>(4));
  CHECK(run_end::given_back == static_cast<run_end>(5));
  CHECK(run_end::removed == static_cast<run_end>(6));
  CHECK(run_end::deferred == static_cast<run_end>(7));
}

TEST_CASE("the stored numbers of the states never change") {
  CHECK(name_of(static_cast<job_state>(1)) == "enqueued");
  CHECK(name_of(static_cast<job_state>(2)) == "scheduled");
  CHECK(name_of(static_cast<job_state>(3)) == "awaiting");
  CHECK(name_of(static_cast<job_state>(4)) == "throttled");
  CHECK(name_of(static_cast<job_state>(5)) == "processing");
  CHECK(name_of(static_cast<job_state>(6)) == "succeeded");
  CHECK(name_of(static_cast<job_state>(7)) == "failed");
  CHECK(name_of(static_cast<job_state>(8)) == "deleted");
}

TEST_CASE("what is no state has no name and reads as none") {
  CHECK_FALSE(parse_job_state(""));
  CHECK_FALSE(parse_job_state("Enqueued"));
  CHECK_FALSE(parse_job_state("done"));
  CHECK(name_of(static_cast<job_state>(0)).empty());
  CHECK(name_of(static_cast<job_state>(9)).empty());
  CHECK(name_of(static_cast<job_state>(255)).empty());
}

TEST_CASE("three states are final") {
  for (const auto state : all_states())
    CHECK(is_final(state) ==
          (state == job_state::succeeded || state == job_state::failed || state == job_state::deleted));
}

TEST_CASE("a job is born ready or scheduled or awaiting") {
  for (const auto state : all_states())
    CHECK(may_begin_in(state) ==
          (state == job_state::enqueued || state == job_state::scheduled || state == job_state::awaiting));
}

TEST_CASE("no transition stands in the table twice") {
  std::set<std::pair<job_state, job_state>> seen;
  for (const auto& t : transitions()) {
    CHECK(seen.emplace(t.from, t.to).second);
    CHECK(t.from != t.to);
    CHECK_FALSE(t.verb.empty());
  }
}

TEST_CASE("only what the table names is legal") {
  for (const auto from : all_states())
    for (const auto to : all_states()) {
      const auto table = transitions();
      const bool named =
          std::any_of(table.begin(), table.end(), [&](const transition& t) { return t.from == from && t.to == to; });
      CHECK(may_become(from, to) == named);
    }
}

TEST_CASE("a job runs only out of its queue") {
  for (const auto state : all_states())
    CHECK(may_become(state, job_state::processing) == (state == job_state::enqueued));
}

TEST_CASE("a final job leaves only by a word from outside") {
  for (const auto& t : transitions())
    if (is_final(t.from)) CHECK((t.verb == "requeue" || t.verb == "delete"));
}

TEST_CASE("only a run succeeds, and who is final fails no more") {
  for (const auto state : all_states()) {
    CHECK(may_become(state, job_state::succeeded) == (state == job_state::processing));
    CHECK(may_become(state, job_state::failed) == !is_final(state));
  }
}

TEST_CASE("every job that is not deleted may be deleted") {
  for (const auto state : all_states())
    CHECK(may_become(state, job_state::deleted) == (state != job_state::deleted));
}

TEST_CASE("every state is reached and can be left") {
  for (const auto state : all_states()) {
    const auto table = transitions();
    CHECK(std::any_of(table.begin(), table.end(), [&](const transition& t) { return t.from == state; }));
    CHECK((may_begin_in(state) ||
           std::any_of(table.begin(), table.end(), [&](const transition& t) { return t.to == state; })));
  }
}
