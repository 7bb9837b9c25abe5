#include "core/job_state.hpp"

#include <algorithm>
#include <array>

namespace sluice {
namespace {

using enum job_state;

constexpr std::array table{
    transition{enqueued, processing, "claim"},   transition{enqueued, deleted, "delete"},
    transition{scheduled, enqueued, "promote"},  transition{scheduled, deleted, "delete"},
    transition{awaiting, enqueued, "parent"},    transition{awaiting, deleted, "delete"},
    transition{awaiting, scheduled, "parent"},   transition{deleted, awaiting, "requeue"},
    transition{throttled, enqueued, "wake"},     transition{throttled, deleted, "delete"},
    transition{processing, succeeded, "settle"}, transition{processing, failed, "settle"},
    transition{processing, deleted, "settle"},   transition{processing, scheduled, "settle"},
    transition{processing, enqueued, "settle"},  transition{processing, throttled, "park"},
    transition{enqueued, throttled, "lapse"},    transition{succeeded, enqueued, "requeue"},
    transition{failed, enqueued, "requeue"},     transition{deleted, enqueued, "requeue"},
    transition{succeeded, deleted, "delete"},    transition{failed, deleted, "delete"},
    transition{enqueued, failed, "deadline"},    transition{scheduled, failed, "deadline"},
    transition{awaiting, failed, "deadline"},    transition{throttled, failed, "deadline"},
};

constexpr std::array<std::string_view, 9> names{"",           "enqueued",  "scheduled", "awaiting", "throttled",
                                                "processing", "succeeded", "failed",    "deleted"};

}  // namespace

std::span<const transition> transitions() noexcept { return table; }

bool may_become(job_state from, job_state to) noexcept {
  return std::any_of(table.begin(), table.end(), [&](const transition& t) { return t.from == from && t.to == to; });
}

bool may_begin_in(job_state state) noexcept { return state == enqueued || state == scheduled || state == awaiting; }

std::string_view name_of(job_state state) noexcept {
  const auto at = static_cast<std::size_t>(state);
  return at < names.size() ? names[at] : "";
}

std::optional<job_state> parse_job_state(std::string_view name) noexcept {
  for (std::size_t i = 1; i < names.size(); ++i)
    if (names[i] == name) return static_cast<job_state>(i);
  return std::nullopt;
}

bool is_final(job_state state) noexcept { return state == succeeded || state == failed || state == deleted; }

bool goes_on(run_end end) noexcept {
  return end == run_end::retry || end == run_end::given_back || end == run_end::deferred;
}

std::string_view name_of(enqueue_result what) noexcept {
  switch (what) {
    case enqueue_result::stored: return "stored";
    case enqueue_result::same: return "same";
    case enqueue_result::duplicate: return "duplicate";
    case enqueue_result::extended: return "extended";
    case enqueue_result::replaced: return "replaced";
  }
  return "stored";
}

std::string_view name_of(cancel_result what) noexcept {
  switch (what) {
    case cancel_result::deleted: return "cancelled";
    case cancel_result::asked: return "asked to stop";
    case cancel_result::was_deleted: return "was deleted already";
    case cancel_result::was_asked: return "was asked to stop already";
  }
  return "cancelled";
}

std::string_view name_of(run_end end) noexcept {
  switch (end) {
    case run_end::succeeded: return "succeeded";
    case run_end::failed:
    case run_end::given_up: return "failed";
    case run_end::retry: return "retry";
    case run_end::given_back: return "given_back";
    case run_end::removed: return "deleted";
    case run_end::deferred: return "deferred";
  }
  return "failed";
}

}  // namespace sluice
