// Why jobs failed, by kind: what fails alike counts together.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sluice/job.hpp>

namespace sluice::wire {

struct error_group {
  job_type type;
  std::string error;  // see `kind_of_error`
  std::uint64_t count = 0;
  time_point first_at, last_at;
  job_id last_id;
};

// The first line of an error, at most 200 bytes, with # for each number: so "timeout after 5012 ms" and "timeout after
// 4998 ms" are one kind. A number of up to three digits stays behind HTTP, status, code, exit, errno or signal: "HTTP
// 404" and "HTTP 503" are two kinds.
std::string kind_of_error(std::string_view said);
// That of what the last run of a failed job said.
std::string kind_of_error(const job& failed);

class error_groups {
public:
  void add(const job& failed);
  std::size_t size() const { return by_kind_.size(); }
  std::vector<error_group> most_first() const;

private:
  std::map<std::pair<std::string, std::string>, error_group> by_kind_;  // by type and error
};

}  // namespace sluice::wire
