#include "cache_refresh/timetable.hpp"

#include <condition_variable>
#include <cstdio>
#include <mutex>

#include "cache_refresh/handlers.hpp"

namespace sample {
namespace {

constexpr const char* due_header = "due_us";
constexpr const char* run_header = "run_us";

std::string micros(sluice::time_point t) { return std::to_string(t.time_since_epoch().count()); }

}  // namespace

std::vector<sluice::new_job> run_plan::due_in(std::uint32_t minute_number) const {
  std::vector<sluice::new_job> due;
  for (const auto& kind : job_kinds()) {
    if (minute_number % kind.every != 0) continue;
    auto job = sluice::make_job(kind.name, refresh{kind.resource});  // its queue is the configuration's
    job.id = sluice::job_id(kind.name + "." + micros(start) + "." + std::to_string(minute_number));
    job.headers = {{run_header, micros(start)}, {due_header, micros(start + minute_number * minute)}};
    due.push_back(std::move(job));
  }
  return due;
}

std::optional<sluice::time_point> run_plan::due_of(const sluice::job& about) const {
  const auto run = about.headers.find(run_header);
  const auto due = about.headers.find(due_header);
  if (run == about.headers.end() || run->second != micros(start) || due == about.headers.end()) return std::nullopt;
  return sluice::time_point(sluice::duration(std::stoll(due->second)));
}

timetable::timetable(sluice::client& client, run_plan plan) : client_(client), plan_(plan) {
  thread_ = std::jthread([this](const std::stop_token& stop) {
    const auto begin = std::chrono::steady_clock::now();
    std::mutex mutex;
    std::condition_variable_any woken;
    std::unique_lock hold(mutex);
    for (std::uint32_t minute = 0; minute < plan_.minutes; ++minute) {
      woken.wait_until(hold, stop, begin + minute * plan_.minute, [] { return false; });
      if (stop.stop_requested()) return;
      enqueue(minute);
    }
  });
}

void timetable::enqueue(std::uint32_t minute) {
  for (const auto& stored : client_.enqueue(plan_.due_in(minute))) {
    ++(stored ? stored_ : refused_);
    if (stored) continue;
    std::fprintf(stderr, "cache_refresh: a job of minute %u was not stored: %s\n", minute,
                 sluice::to_string(stored.error()).c_str());
  }
}

}  // namespace sample
