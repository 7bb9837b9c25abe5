// What recurring jobs need of a store: schedules. A part of the contract in storage/store.hpp.
//
// A schedule is a versioned record, which only its readers understand (core/recurring.hpp), and the instant at which it
// is due next. Every change is one update against the version that was read: adding, changing, pausing and planning
// anew, and enqueueing occurrences, which happens in the same step that moves the schedule on. So any number of servers
// may try, and one of them does it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sluice/error.hpp>
#include <sluice/recurring.hpp>

#include "core/describe.hpp"
#include "core/pipeline.hpp"

namespace sluice::storage {

// How many of a schedule's jobs are remembered; overlap rules look at these.
inline constexpr std::size_t runs_remembered = 20;

// The part of its minute, or shorter interval, that an evenly staggered schedule keeps.
struct schedule_place {
  duration offset{0};
  duration span{0};          // it comes back after this
  std::uint64_t number = 0;  // drawn when it was taken

  // False for what nobody wrote: it is as if there were none.
  bool is_sound() const {
    constexpr duration shortest = std::chrono::milliseconds(1), longest = std::chrono::minutes(1);
    return span >= shortest && span <= longest && offset >= duration::zero() && offset < span;
  }
};
void describe(auto& v, described<schedule_place> auto& p) { v("offset", p.offset)("span", p.span)("number", p.number); }

struct schedule_row {
  struct run {
    job_id id;
    time_point at{};  // the occurrence
  };
  std::string name;
  std::uint64_t version = 0;          // drawn at every change; 0: the row cannot be read
  std::string record;                 // any bytes
  std::optional<time_point> next_at;  // none: never due
  std::optional<schedule_place> place;
  std::vector<run> runs;  // its last jobs, oldest first
};
void describe(auto& v, described<schedule_row::run> auto& r) { v("id", r.id)("at", r.at); }
void describe(auto& v, described<schedule_row> auto& r) {
  v("name", r.name)("version", r.version)("record", r.record)("next_at", r.next_at)("place", r.place)("runs", r.runs);
}

// By name.
struct schedules_request {
  static constexpr std::string_view request_name = "schedules";
  std::uint32_t limit = 200;
  std::string after;  // names behind this one
};
void describe(auto& v, described<schedules_request> auto& r) { v("limit", r.limit)("after", r.after); }
struct schedules_answer {
  time_point now{};  // the store's clock, here and below
  std::vector<schedule_row> rows;
  std::string next;  // empty: that was all
};
void describe(auto& v, described<schedules_answer> auto& a) { v("now", a.now)("rows", a.rows)("next", a.next); }

// One schedule, and the places of all.
struct schedule_request {
  static constexpr std::string_view request_name = "schedule";
  std::string name;
};
void describe(auto& v, described<schedule_request> auto& r) { v("name", r.name); }
struct schedule_answer {
  time_point now{};
  std::optional<schedule_row> row;
  std::vector<schedule_place> places;
};
void describe(auto& v, described<schedule_answer> auto& a) { v("now", a.now)("row", a.row)("places", a.places); }

// Those that are due, the longest first.
struct due_request {
  static constexpr std::string_view request_name = "due";
  std::uint32_t limit = 100;
};
void describe(auto& v, described<due_request> auto& r) { v("limit", r.limit); }
struct due_answer {
  time_point now{};
  std::vector<schedule_row> rows;
  std::optional<duration> next_in;  // until the next of the others is due; 0 when more are due now
};
void describe(auto& v, described<due_answer> auto& a) { v("now", a.now)("rows", a.rows)("next_in", a.next_in); }

struct update_schedule_request {
  static constexpr std::string_view request_name = "update_schedule";
  struct occurrence {
    time_point at{};
    prepared_job job;
  };
  std::string name;
  std::uint64_t version = 0;          // as it was read; 0: there was none, or it could not be read
  std::optional<std::string> record;  // none: the schedule is removed
  std::optional<time_point> next_at;
  std::optional<schedule_place> place;
  // With it, `place` is a new one, and nothing is changed unless this is the largest number of all places; the store
  // draws its number. 0: there was none.
  std::optional<std::uint64_t> expected_last_place;
  overlap_rule overlap = overlap_rule::allow;
  std::vector<occurrence> enqueue;  // an id that is there already is left as it is
  bool by_hand = false;             // these are no occurrences: a person wanted them now

  std::size_t weight() const;
};
// Its job travels behind, packed.
void describe(auto& v, described<update_schedule_request::occurrence> auto& o) { v("at", o.at); }
void describe(auto& v, described<update_schedule_request> auto& r) {
  v("name", r.name)("version", r.version)("record", r.record)("next_at", r.next_at)("place", r.place);
  v("expected_last_place", r.expected_last_place)("overlap", r.overlap)("enqueue", r.enqueue);
}
struct update_schedule_answer {
  enum class how : std::uint8_t { enqueued, there, overlaps };
  bool updated = false;  // false: nothing was changed
  time_point now{};
  std::optional<schedule_row> row;  // afterwards
  std::vector<how> each;            // of `enqueue`
};
constexpr std::array<std::string_view, 3> words_of(update_schedule_answer::how) {
  return {"enqueued", "there", "overlaps"};
}
void describe(auto& v, described<update_schedule_answer> auto& a) {
  v("updated", a.updated)("now", a.now)("row", a.row)("each", a.each);
}

}  // namespace sluice::storage
