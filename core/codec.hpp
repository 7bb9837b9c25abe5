// The stored form of a job: two records, each with a version byte in front and a checksum behind.
// `content` is what the enqueuer said and never changes; `progress` is what happened since.
// Decoding reads any bytes without harm and answers nothing when they are not what was written.
#pragma once

#include <optional>
#include <string>
#include <string_view>

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

  // What makes two enqueues of one id the same job.
  bool same_job(const job_content& other) const {
    return type == other.type && queue == other.queue && args == other.args && headers == other.headers;
  }
};

struct job_progress {
  std::optional<progress_report> reported;
  std::string reason;
  std::string result;
  std::vector<start_record> history;
  std::uint32_t failures = 0;  // runs that failed, for the retry policy
};

inline constexpr std::size_t history_limit = 20;

// The id is part of the checksum: a record that strayed to another job is not taken for its own.
std::string encode(const job_id& id, const job_content& content);
std::string encode(const job_id& id, const job_progress& progress);
std::optional<job_content> decode_content(const job_id& id, std::string_view bytes);
// No bytes is the progress of a job that nothing has happened to.
std::optional<job_progress> decode_progress(const job_id& id, std::string_view bytes);

}  // namespace sluice
