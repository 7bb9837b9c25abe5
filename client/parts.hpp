// What a client is made of, for the files of this room.
#pragma once

#include <algorithm>
#include <functional>

#include <sluice/client.hpp>

#include "client/asking.hpp"
#include "client/end_watcher.hpp"
#include "core/log.hpp"
#include "core/pipeline.hpp"
#include "core/text.hpp"
#include "operations/groups.hpp"
#include "scheduler/schedules.hpp"
#include "storage/async_store.hpp"
#include "storage/shared_store.hpp"

namespace sluice {

// Of a page.
inline result<void> check_limit(std::uint32_t limit) {
  if (limit >= 1 && limit <= storage::largest_page) return {};
  return error{errc::invalid_argument, cat("limit must be 1 to ", storage::largest_page)};
}

struct client::parts {
  static constexpr auto whose = "client";
  client_options options;
  enqueue_pipeline pipeline;
  std::shared_ptr<storage::shared_store> shared_store;
  std::shared_ptr<end_watcher> watcher;  // shared with those made by `as`

  parts(client_options o, enqueue_pipeline p, std::shared_ptr<storage::shared_store> r)
      : options(std::move(o)),
        pipeline(std::move(p)),
        shared_store(std::move(r)),
        watcher(std::make_shared<end_watcher>(shared_store)) {}

  storage::answer ask(const storage::request& r) { return sluice::ask(*shared_store, r, options.deadline); }
  template <class Answer>
  result<Answer> ask_for(const storage::request& r) {
    return sluice::ask_for<Answer>(*shared_store, r, options.deadline);
  }

  // Notes by whom something was done to these, if he says who he is. The change stands, whatever becomes of its note.
  void note(std::string_view what, std::vector<std::string> about) {
    if (options.by.name.empty() || about.empty()) return;
    storage::log_action_request noted{options.by, std::string(what), {}, about.size()};
    about.resize(std::min<std::size_t>(about.size(), storage::max_about));
    noted.about = std::move(about);
    const auto answer = ask_once(*shared_store, noted, options.deadline);
    if (const auto* failed = std::get_if<error>(&answer))
      log::warn("'", what, "' by ", options.by.name,
                " was done, and could not be noted in the operator log: ", to_string(*failed));
  }

  // Whether each was changed, or was so already.
  std::vector<result<storage::change_answer>> change(storage::job_change what, const std::vector<job_id>& ids,
                                                     std::optional<job_state> only_in = {});
  std::vector<result<void>> change_each(storage::job_change what, const std::vector<job_id>& ids);
  // All of one page of a list, unless one left its state meanwhile.
  result<changed_page> change(storage::job_change what, job_query query);
  std::vector<result<void>> change_quarantined(const char* noted_as, const std::vector<job_id>& ids,
                                               const std::function<result<void>(const job_id&)>& change);
  result<void> requeue_quarantined(const job_id& id);
  result<void> drop_quarantined(const job_id& id, std::optional<time_point> since);

  // On the caller's thread.
  template <class T>
  result<T> carry_out(const std::function<void(const storage::async_store&, const storage::callback<T>&)>& begin) {
    return sluice::carry_out<T>(*shared_store, options.deadline, begin);
  }

  result<void> change_group(operations::group_change change, const new_group& group, std::string_view noted_as);
  result<recurring_page> schedules_by_name(const recurring_query& query);
  void add_unserved(std::vector<recurring_status>& all);
  result<void> pause(const queue_name& queue, bool paused);
  result<storage::update_schedule_answer> swap_schedule(const std::string& name,
                                                        const scheduler::schedule_change& change);
  result<void> change_schedule(std::string_view what, const std::string& name,
                               const scheduler::schedule_change& change);
};

}  // namespace sluice
