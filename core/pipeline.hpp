// What happens to a new job before it reaches a store, for clients and actors: filters, id, queue, limits,
// encoding. Runs in the enqueuing process.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <sluice/error.hpp>
#include <sluice/filter.hpp>
#include <sluice/options.hpp>

#include "core/clock.hpp"

namespace sluice {

inline constexpr std::size_t max_args_bytes = 1024 * 1024;
inline constexpr int max_json_depth = 64;
inline constexpr std::size_t max_headers_bytes = 64 * 1024;
inline constexpr std::size_t max_result_bytes = 1024 * 1024;
inline constexpr std::size_t max_error_bytes = 16 * 1024;
inline constexpr std::size_t max_progress_bytes = 1024;
inline constexpr std::size_t max_parents = 64;
inline constexpr std::size_t max_next = 100;  // jobs that an end carries

// What is kept of what a handler says: a fraction, and a text of bounded size.
progress_report bounded(progress_report said);

// What ties a job to other jobs, or to time.
struct flow_options {
  run_after after{};
  group_name group{};
  group_run added_by{};
  std::string unique_key{};  // empty: none
  unique_rule unique{};
  std::optional<duration> start_within{}, finish_within{};

  bool is_empty() const {
    return after.parents.empty() && after.groups.empty() && group.empty() && unique_key.empty() && !start_within &&
           !finish_within;
  }
};

// A job that passed the pipeline, ready to be stored.
struct prepared_job {
  job_id id;
  queue_name queue;
  duration delay{0};
  std::string record;                          // encoded content
  std::shared_ptr<const flow_options> flow{};  // null: the store keeps nothing but the record
  // Headers that a filter added or changed. Each call may get others, and is about the same job all the same.
  std::vector<std::string> headers_of_filters{};

  bool is_plain() const { return !flow; }
  std::size_t parents() const { return flow ? flow->after.parents.size() + flow->after.groups.size() : 0; }
};

// Filters in the order they run: by `order`, those registered first before others of the same.
filter_list in_order(filter_list filters);

// As a job may have them.
result<void> check_headers(const std::map<std::string, std::string>& headers);

class enqueue_pipeline {
public:
  enqueue_pipeline(filter_list filters, std::map<std::string, type_options> types,
                   std::map<std::string, queue_options> queues = {})
      : filters_(in_order(std::move(filters))), types_(std::move(types)), queues_(std::move(queues)) {}

  // `now` is the enqueuer's clock; it stamps created_at and decides nothing.
  result<prepared_job> prepare(new_job job, time_point now) const;

private:
  filter_list filters_;
  std::map<std::string, type_options> types_;
  std::map<std::string, queue_options> queues_;
};

}  // namespace sluice
