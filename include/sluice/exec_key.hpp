/// Signs jobs of type `exec`, for servers whose options have `exec.key_file`: these run no others. What is signed is
/// what runs (id, type, queue and args of a job; name, type, queue and args of a schedule), and not when or how often:
/// docs/configuration.md, "Who can run what".
#pragma once

#include <string>
#include <vector>

#include <sluice/error.hpp>
#include <sluice/filter.hpp>
#include <sluice/job.hpp>
#include <sluice/recurring.hpp>

namespace sluice {

class job_context;

inline constexpr const char* exec_job_type = "exec";
/// The header with the signature: "v1=" and 64 digits.
inline constexpr const char* signature_header = "sluice-signature";

class exec_key {
public:
  /// Each line is a key of at least 32 bytes: the first signs and each is accepted, so that one can follow another.
  /// io_error; invalid_argument, also when others than the file's owner and group may read it.
  static result<exec_key> read(const std::string& file);

  /// Gives a job its signature, and an id when it has none. invalid_argument: it names no queue.
  result<void> sign(new_job& job) const;
  /// The same for a schedule, which signs its jobs: their ids are "NAME:…". Sign it after each change.
  result<void> sign(recurring& schedule) const;

  /// Whether what runs was signed: as it is, or by its schedule. refused says what is missing and what to do.
  result<void> check(const job_context& run) const;

private:
  exec_key() = default;
  std::vector<std::string> keys_;
};

/// Has a client sign the `exec` jobs that it enqueues, as the last of its filters; those that name no queue go to this
/// one. The file is read for each of them. Jobs of schedules stay as they are: what is signed there is the schedule.
filter_entry signing_exec_jobs(std::string key_file, queue_name otherwise = queue_name("default"));

}  // namespace sluice
