// What a process counts of its stores for metrics.
#include "storage/numbers.hpp"

#include "storage/contract.hpp"

using namespace sluice;
using namespace sluice::test;

TEST_CASE("Queues beyond the cap are counted as others, also beside a queue of that name") {
  storage::numbers all;
  all.of("other");
  for (std::size_t i = 1; i < storage::max_queues_counted; ++i)
    all.of(cat("q", i));
  CHECK_FALSE(all.has_others());
  auto& beyond = all.of("late");
  CHECK(all.has_others());
  CHECK(&beyond == &all.of("later"));
  CHECK(&all.of("q1") != &beyond);
}

TEST_CASE("What a person triggers is no occurrence that came late") {
  storage::numbers all;
  storage::update_schedule_request asked;
  asked.enqueue.push_back({{}, prepared({.id = "a"})});
  storage::update_schedule_answer told;
  told.updated = true;
  told.each = {storage::update_schedule_answer::how::enqueued};
  const auto occurrences = [&] {
    std::uint64_t sum = 0;
    for (const auto n : all.occurrence_delay.look().counts)
      sum += n;
    return sum;
  };
  const auto note = [&] { all.note(std::vector<storage::request>{asked}, std::vector<storage::answer>{told}, 1ms); };
  note();
  CHECK(occurrences() == 1);
  asked.by_hand = true;
  note();
  CHECK(occurrences() == 1);
  CHECK(all.of("default").enqueued == 2);
}
