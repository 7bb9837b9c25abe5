// Which watched jobs the store is asked for, and who is told what by its answer.
#include "client/watched_ends.hpp"

#include <set>

#include "support/catch.hpp"

using namespace sluice;

namespace {

using answers_of_look = std::vector<storage::answer>;

storage::answer in_state(job_state state, std::size_t bytes_of_args = 2) {
  storage::get_answer got;
  got.found.emplace();
  got.found->state = state;
  got.found->args = std::string(bytes_of_args, '1');
  return got;
}
storage::answer no_such(errc code) {
  storage::get_answer got;
  got.code = code;
  return got;
}

// What one look at a job that somebody watches makes of this answer: whether it is told, and as what.
std::optional<errc> told_by(storage::answer answer) {
  watched_ends watched;
  watched.add("a", [](const result<job>&) {});
  answers_of_look all;
  all.push_back(std::move(answer));
  const auto ends = watched.seen(watched.next_look(), all);
  if (ends.empty()) return std::nullopt;
  return ends[0].how ? errc::none : ends[0].how.error().code;
}

void watch_many(watched_ends& watched, int count) {
  for (int i = 0; i < count; ++i)
    watched.add(job_id(std::to_string(i)), [](const result<job>&) {});
}

// How many jobs the next look is for; each has args of so many bytes, and goes on.
std::size_t look(watched_ends& watched, std::size_t bytes_of_args) {
  const auto ids = watched.next_look();
  answers_of_look all(ids.size(), in_state(job_state::processing, bytes_of_args));
  CHECK(watched.seen(ids, all).empty());
  return ids.size();
}

}  // namespace

TEST_CASE("watched jobs take turns to be looked at and none is looked at twice before all others") {
  watched_ends watched;
  CHECK(watched.next_look().empty());
  watch_many(watched, 450);
  std::multiset<std::string> looked_at;
  for (int i = 0; i < 9; ++i) {
    const auto ids = watched.next_look();
    CHECK(ids.size() == watched_ends::most_in_a_look);
    for (const auto& id : ids)
      looked_at.insert(id.value);
  }
  for (int i = 0; i < 450; ++i)
    CHECK(looked_at.count(std::to_string(i)) == 4);
}

TEST_CASE("fewer jobs are looked at together while their args are large and one at least") {
  constexpr std::size_t mib = 1024 * 1024;
  watched_ends watched;
  watch_many(watched, 20);
  CHECK(look(watched, mib) == 20);
  CHECK(look(watched, 8 * mib) == 4);
  CHECK(look(watched, 8 * mib) == 1);
  CHECK(look(watched, 10) == 1);
  CHECK(look(watched, 10) == 20);
}

TEST_CASE("a job is told when its state is final and when there is none and not while the store may come back") {
  for (const auto state : {job_state::succeeded, job_state::failed, job_state::deleted})
    CHECK(told_by(in_state(state)) == errc::none);
  for (const auto state : {job_state::enqueued, job_state::scheduled, job_state::processing})
    CHECK_FALSE(told_by(in_state(state)));
  for (const auto code : {errc::not_found, errc::damaged_record})
    CHECK(told_by(no_such(code)) == code);
  for (const auto code : {errc::storage_lost, errc::storage_damaged})
    CHECK(told_by(error{code, "for good"}) == code);
  for (const auto code : {errc::storage_unavailable, errc::storage_busy, errc::overloaded, errc::unknown_outcome})
    CHECK_FALSE(told_by(error{code, "for now"}));
}

TEST_CASE("all who watch a job are told of its end once") {
  watched_ends watched;
  watched.add("a", [](const result<job>&) {});
  watched.add("a", [](const result<job>&) {});
  answers_of_look all{in_state(job_state::succeeded)};
  const auto ends = watched.seen(watched.next_look(), all);
  REQUIRE(ends.size() == 1);
  CHECK(ends[0].id == "a");
  CHECK(ends[0].listeners.size() == 2);
  CHECK(watched.next_look().empty());
}

TEST_CASE("whoever begins to watch while the store is asked is told by the next look") {
  watched_ends watched;
  watched.add("a", [](const result<job>&) {});
  const auto first = watched.next_look();
  int later = 0;
  watched.add("a", [&](const result<job>&) { ++later; });
  answers_of_look before{no_such(errc::not_found)};
  const auto ends = watched.seen(first, before);
  REQUIRE(ends.size() == 1);
  CHECK(ends[0].listeners.size() == 1);
  answers_of_look after{in_state(job_state::succeeded)};
  const auto next = watched.seen(watched.next_look(), after);
  REQUIRE(next.size() == 1);
  next[0].listeners.at(0)(next[0].how);
  CHECK(later == 1);
}

TEST_CASE("who is given up is told why by the name of the job") {
  watched_ends watched;
  watch_many(watched, 2);
  const auto ends = watched.give_up([](const job_id& id) { return error{errc::not_running, id.value}; });
  REQUIRE(ends.size() == 2);
  CHECK(ends[1].how.error().message == "1");
  CHECK(watched.next_look().empty());
}
