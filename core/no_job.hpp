// What is said of a job, a group or a queue that is not there, or not to be had, in words that name it. For stores,
// clients, actors and the API.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sluice/error.hpp>
#include <sluice/types.hpp>

#include "core/text.hpp"

namespace sluice {

// Behind "there is no X": which one was meant, or which there are.
inline std::string instead_of(std::string_view name, const std::vector<std::string>& known) {
  constexpr std::size_t told = 5;
  if (auto meant = did_you_mean(name, known); !meant.empty()) return meant;
  if (known.empty()) return "; there is none yet";
  std::string all = known.size() == 1 ? "; there is " : "; there are ";
  for (std::size_t i = 0; i < known.size() && i < told; ++i)
    all += cat(i == 0 ? "" : ", ", printable(known[i], 200));
  return known.size() > told ? cat(all, " and ", known.size() - told, " more") : all;
}

inline error no_queue(std::string_view name, const std::vector<std::string>& known) {
  return {errc::not_found, cat("there is no queue ", printable(name, 200), instead_of(name, known)),
          error_subject::queue};
}

inline error no_group(std::string_view name) {
  return {errc::not_found, cat("there is no group ", printable(name, 200)), error_subject::group};
}

inline error no_job(const job_id& id, errc code) {
  const auto name = printable(id.value, 200);
  if (code == errc::not_found) return {code, cat("there is no job ", name), error_subject::job};
  if (code == errc::damaged_record)
    return {code, cat("the record of job ", name, " cannot be decoded; it is in quarantine")};
  return {code, cat("job ", name, ": ", describe(code))};
}

}  // namespace sluice
