// What was wrong with what somebody sent, and what failed, as they may be told.
#pragma once

#include <string>

#include <sluice/error.hpp>

namespace sluice::wire {

// So much is told of what failed.
inline constexpr std::size_t max_of_a_detail = 1000;

// More of what is wrong with one body would help nobody.
inline constexpr std::size_t max_faults_told = 20;
struct body_fault {
  std::string pointer;
  std::string problem;
};

// Whether the sentence of such a failure is for whoever asked. What failed in the store or the system may name files,
// SQL or addresses.
bool is_for_clients(errc code);
// What they are told: else the sentence of its code alone.
std::string told_of(const error& why);

}  // namespace sluice::wire
