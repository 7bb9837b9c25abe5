// What a client is made of, for the files of this room.
#pragma once

#include <functional>

#include <sluice/client.hpp>

#include "client/asking.hpp"
#include "core/pipeline.hpp"
#include "core/text.hpp"
#include "scheduler/schedules.hpp"
#include "storage/runner.hpp"

namespace sluice {

struct client::parts {
  client_options options;
  enqueue_pipeline pipeline;
  std::shared_ptr<storage::runner> runner;

  parts(client_options o, enqueue_pipeline p, std::shared_ptr<storage::runner> r)
      : options(std::move(o)), pipeline(std::move(p)), runner(std::move(r)) {}

  storage::answer ask(const storage::request& r) { return sluice::ask(*runner, r, options.deadline); }
  template <class Answer>
  result<Answer> ask_for(const storage::request& r) {
    return sluice::ask_for<Answer>(*runner, r, options.deadline);
  }

  result<void> change(const storage::request& r) {
    auto got = ask_for<storage::change_answer>(r);
    if (!got) return got.error();
    if (got->code != errc::none) return error{got->code, got->message};
    return {};
  }

  // Looks at the throttlers behind `after`, by resource, until it answers false.
  result<void> each_throttler(std::string after, const std::function<bool(storage::throttler_row)>& look);
  // Empty for those that have none.
  result<storage::cell_view> cell_of(const std::string& resource);

  result<void> change_schedule(const std::string& name, const scheduler::schedule_change& change);

  result<void> add_keys(throttler_status& status);

  static error no_job(const job_id& id, errc code) {
    return {code, cat("job ", printable(id.value, 200), ": ", describe(code))};
  }
};

}  // namespace sluice
