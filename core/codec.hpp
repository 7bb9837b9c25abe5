// The stored form of what an enqueuer said, which never changes: a version byte in front and a checksum behind.
// Decoding reads any bytes without harm and answers nothing when they are not what was written.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/job.hpp>

namespace sluice {

struct job_content {
  job_type type;
  queue_name queue;
  std::string args;
  std::map<std::string, std::string> headers;
  retry_policy retry;
  std::optional<duration> timeout;
  time_point created_at;

  // What makes two enqueues of one id the same job: the parts of it that differ, by name. The headers that are named
  // in `left_out` do not count.
  std::vector<std::string> what_differs(const job_content& other, const std::vector<std::string>& left_out = {}) const;
  bool same_job(const job_content& other) const { return what_differs(other).empty(); }
};

// Of what has happened to a job its last runs, and so many bytes of them: the errors of older ones are cut.
inline constexpr std::size_t history_limit = 20;
inline constexpr std::size_t max_history_bytes = 49152;

// Where jobs go that nobody names a queue for.
inline constexpr std::string_view default_queue = "default";

// The id is part of the checksum: a record that strayed to another job is not taken for its own.
std::string encode(const job_id& id, const job_content& content);
std::optional<job_content> decode_content(const job_id& id, std::string_view bytes);
// Of what stands before the checksum, when a part of it was left out on its way.
std::optional<job_content> decode_unsealed(const job_id& id, std::string_view body);

}  // namespace sluice
