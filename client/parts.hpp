// What a client is made of, for the files of this room.
#pragma once

#include <functional>

#include <sluice/client.hpp>

#include "core/pipeline.hpp"
#include "core/text.hpp"
#include "storage/runner.hpp"

namespace sluice {

struct client::parts {
  client_options options;
  enqueue_pipeline pipeline;
  std::shared_ptr<storage::runner> runner;

  parts(client_options o, enqueue_pipeline p, std::shared_ptr<storage::runner> r)
      : options(std::move(o)), pipeline(std::move(p)), runner(std::move(r)) {}

  // Asks until the store has carried it out, has refused it for good, or the deadline is near. Every
  // request may be repeated (the store knows it again), so an unknown outcome is asked again.
  storage::answer ask(const storage::request& r);

  template <class Answer>
  result<Answer> ask_for(const storage::request& r) {
    auto got = ask(r);
    if (auto* failed = std::get_if<error>(&got)) return std::move(*failed);
    return std::get<Answer>(std::move(got));
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

  result<void> add_keys(throttler_status& status);

  static error no_job(const job_id& id, errc code) {
    return {code, cat("job ", printable(id.value, 200), ": ", describe(code))};
  }
};

}  // namespace sluice
