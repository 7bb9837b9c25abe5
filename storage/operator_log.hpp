// What people did. A part of the contract in storage/store.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sluice/operator_log.hpp>

#include "core/describe.hpp"

namespace sluice::storage {

// So many are kept, the newest; and of each so many of what it was done to, and of each text so many bytes. An act is
// 4.5 kB at most, so that all of them are no more than about 4 MiB.
inline constexpr std::uint32_t max_actions = 1000;
inline constexpr std::uint32_t max_about = 20;
inline constexpr std::uint32_t max_about_bytes = 200;
inline constexpr std::uint32_t max_author_bytes = 100;

// What the same person does again so soon after that act began is added to it, while it is one of the ten newest.
inline constexpr duration joined_within = std::chrono::seconds(60);

// Notes what was done. Asked again it counts again. What goes beyond the bounds is cut off.
struct log_action_request {
  static constexpr std::string_view request_name = "log_action";
  author by;
  std::string what;
  std::vector<std::string> about;  // the first of them
  std::uint64_t count = 1;
};
void describe(auto& v, described<log_action_request> auto& r) {
  v("by", r.by)("what", r.what)("about", r.about)("count", r.count);
}

// The newest first.
struct operator_log_request {
  static constexpr std::string_view request_name = "operator_log";
  std::uint32_t limit = 200;  // 1 to 200
  std::string after{};

  std::size_t weight() const { return 1 + limit; }
};
void describe(auto& v, described<operator_log_request> auto& r) { v("limit", r.limit)("after", r.after); }
struct operator_log_answer {
  operator_log_page page;
};
void describe(auto& v, described<operator_log_answer> auto& a) { v("page", a.page); }

}  // namespace sluice::storage
