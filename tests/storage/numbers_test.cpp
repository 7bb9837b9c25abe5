// What a process counts of its stores for metrics.
#include "storage/numbers.hpp"

#include "storage/contract.hpp"

using namespace sluice;
using namespace sluice::test;

TEST_CASE("Queues beyond the cap are counted as others, also beside a queue of that name") {
  storage::numbers all;
  auto& queues = all.queues;
  queues.of("other");
  for (std::size_t i = 1; i < storage::max_queues_counted; ++i)
    queues.of(cat("q", i));
  CHECK_FALSE(queues.has_others());
  auto& beyond = queues.of("late");
  CHECK(queues.has_others());
  CHECK(&beyond == &queues.of("later"));
  CHECK(&queues.of("q1") != &beyond);
}

TEST_CASE("Ends are counted by the type of their job, the first forty by name and the rest together") {
  storage::numbers all;
  storage::settle_request asked;
  asked.queue = queue_name("default");
  storage::settle_answer told;
  const auto ended = [&](const std::string& type, run_end how, errc became = errc::none) {
    auto& end = asked.runs.emplace_back();
    end.type = job_type(type);
    end.end = how;
    end.ran = 2s;
    told.each.push_back(became);
  };
  ended("mail", run_end::succeeded);
  ended("mail", run_end::retry);
  ended("mail", run_end::given_up);
  ended("mail", run_end::deferred);
  ended("mail", run_end::given_back);
  ended("mail", run_end::succeeded, errc::stale_fence);
  ended("", run_end::given_back);  // it never began
  constexpr int beyond = 7;
  for (std::size_t i = 1; i < storage::max_types_counted + beyond; ++i)
    ended(cat("t", i), run_end::succeeded);
  all.note(std::vector<storage::request>{asked}, std::vector<storage::answer>{told}, 1ms);

  const auto ends_of = [&](const std::string& type) {
    std::vector<std::uint64_t> each;
    for (const auto& n : all.types.of(type).ended)
      each.push_back(n);
    return each;
  };
  // succeeded, failed, retry, given_back, deleted, deferred
  CHECK(ends_of("mail") == std::vector<std::uint64_t>{1, 1, 1, 0, 0, 1});
  CHECK(all.types.of("mail").ran.look().seconds == 6);
  CHECK(all.types.all().size() == storage::max_types_counted + 1);
  CHECK(all.types.has_others());
  CHECK(ends_of("other").front() == beyond);
  CHECK(ends_of("of nobody yet") == ends_of("other"));
  const auto& queue = all.queues.of("default");
  CHECK(queue.ended.front() == 1 + storage::max_types_counted - 1 + beyond);
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
  CHECK(all.queues.of("default").enqueued == 2);
}
