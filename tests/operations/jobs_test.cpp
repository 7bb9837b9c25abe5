#include "operations/jobs.hpp"

#include "core/text.hpp"
#include "support/catch.hpp"
#include "support/worlds.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

struct jobs_world : sqlite_memory_world {
  std::vector<std::size_t> parts;  // how many jobs each request named
  std::function<std::optional<error>(const storage::change_jobs_request&)> refuse = [](const auto&) {
    return std::nullopt;
  };

  std::vector<job_id> enqueued(int count) {
    storage::enqueue_request all;
    std::vector<job_id> ids;
    for (int i = 0; i < count; ++i) {
      new_job job;
      job.type = job_type("work");
      job.id = job_id(cat("j", i));
      all.jobs.push_back(enqueue_pipeline({}, {}).prepare(job, clock.now()).value());
      ids.push_back(job.id);
    }
    ask<storage::enqueue_answer>(all);
    return ids;
  }

  operations::changes change(storage::job_change what, const std::vector<job_id>& ids) {
    const storage::asker asked = [this](const storage::request& r) {
      const auto& wanted = std::get<storage::change_jobs_request>(r);
      parts.push_back(wanted.ids.size());
      if (const auto refused = refuse(wanted)) return storage::answer(*refused);
      return std::move(store().apply({&r, 1}).at(0));
    };
    return storage::carry_out<operations::changes>(asked,
                                                   [&](const auto& store, const auto& then) {
                                                     operations::change_jobs(store, {what, ids}, then);
                                                   })
        .value();
  }
};

}  // namespace

TEST_CASE("many jobs are changed by several requests, and each is answered at its place") {
  jobs_world w;
  auto ids = w.enqueued(230);
  ids.insert(ids.begin() + 150, job_id("nobody"));
  const auto told = w.change(storage::job_change::remove, ids);
  CHECK(w.parts == std::vector<std::size_t>{100, 100, 31});
  REQUIRE(told.size() == 231);
  for (std::size_t i = 0; i < told.size(); ++i)
    CHECK((told[i]->code == errc::none && told[i]->changed) == (i != 150));
  CHECK(w.change(storage::job_change::remove, {}).empty());
}

TEST_CASE("a job that is damaged costs those that are changed with it nothing") {
  jobs_world w;
  const auto ids = w.enqueued(103);
  w.refuse = [&](const storage::change_jobs_request& wanted) -> std::optional<error> {
    if (std::find(wanted.ids.begin(), wanted.ids.end(), ids[2]) == wanted.ids.end()) return std::nullopt;
    // What stood before it was changed.
    const storage::request done = storage::change_jobs_request{wanted.change, {ids[0]}};
    w.store().apply({&done, 1});
    return error{errc::storage_damaged, "no list"};
  };
  const auto told = w.change(storage::job_change::remove, ids);
  CHECK(w.parts.size() == 1 + 100 + 1);
  for (std::size_t i = 0; i < told.size(); ++i)
    CHECK((told[i] && told[i]->code == errc::none && told[i]->changed) == (i != 2));
  CHECK(told[2].error().code == errc::storage_damaged);
}

TEST_CASE("once the store is away no more is asked of it, and what was done stands") {
  jobs_world w;
  const auto ids = w.enqueued(201);
  w.refuse = [&](const storage::change_jobs_request&) -> std::optional<error> {
    if (w.parts.size() != 2) return std::nullopt;
    return error{errc::unknown_outcome, "away"};
  };
  const auto told = w.change(storage::job_change::cancel, ids);
  CHECK(w.parts == std::vector<std::size_t>{100, 100});
  REQUIRE(told.size() == 201);
  for (std::size_t i = 0; i < told.size(); ++i)
    CHECK(told[i].ok() == (i < 100));
  CHECK(told[199].error().code == errc::unknown_outcome);
  CHECK(told[200].error().code == errc::storage_unavailable);
}
