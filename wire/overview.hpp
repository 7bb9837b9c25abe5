// What is wrong, first of all; and how much there is.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sluice/error.hpp>
#include <sluice/job.hpp>
#include <sluice/recurring.hpp>
#include <sluice/throttler_status.hpp>

#include "core/describe.hpp"
#include "storage/store.hpp"

namespace sluice::wire {

// What is known of a whole store.
struct known_store {
  std::optional<time_point> at{};  // when it answered last, by its clock; none: it never did
  std::optional<error> away{};     // why it did not answer the last question
  std::vector<queue_counts> queues{};
  std::vector<storage::queue_unknown> unknown{};
  std::vector<server_info> servers{};
  double jobs_a_second = 0;  // that came into a queue, or ended, by the counts of this answer and the one before
  // Defined ones, and schedules, by name. With more than a page of them these are read page after page, and the oldest
  // page is as old as all of that takes.
  std::vector<throttler_status> throttlers{};
  std::vector<recurring_status> schedules{};
};

// A server that has said nothing for so long is probably gone.
inline constexpr duration silent_after = std::chrono::minutes(1);
// A schedule whose time has passed by so much is late.
inline constexpr duration late_after = std::chrono::seconds(30);

struct trouble {
  std::string kind;   // one word for programs, as "unserved_queue"
  std::string about;  // the name of the queue, server, throttler or schedule; empty: the store as a whole
  std::string text;   // the whole of it, for people
};
// The worst first. Without content: no error texts.
std::vector<trouble> troubles_of(const known_store& known, bool with_content = true);

bool is_silent(const server_info& server, const known_store& known);

// Workers of the servers that are alive, by queue.
std::map<std::string, std::uint64_t> workers_of(const known_store& known);

// All of it in numbers, behind what is wrong.
struct overview {
  std::optional<time_point> at{};
  bool reachable = false;
  std::vector<trouble> troubles{};
  std::uint64_t queues = 0;
  struct server_count {
    std::uint64_t alive = 0, silent = 0;
  } servers{};
  std::uint64_t throttlers = 0, schedules = 0;
  struct job_count {
    queue_counts sum{};
  } jobs{};
};
overview overview_of(const known_store& known, bool with_content = true);

void show(auto& v, const trouble& t) { v("kind", t.kind)("about", t.about)("text", t.text); }
void show(auto& v, const overview::server_count& c) { v("alive", c.alive)("silent", c.silent); }
void show(auto& v, const overview::job_count& c) {
  for_each_count(c.sum, [&](std::string_view name, std::uint64_t n) { v(name, n); });
}
void show(auto& v, const overview& o) {
  v("at", o.at)("reachable", o.reachable)("troubles", o.troubles)("queues", o.queues)("servers", o.servers);
  v("throttlers", o.throttlers)("schedules", o.schedules)("jobs", o.jobs);
}

}  // namespace sluice::wire
