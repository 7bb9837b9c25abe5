// Server processes whose handlers keep logs of their own, and what must hold of these logs and the store together.
#pragma once

#include <algorithm>
#include <map>
#include <sstream>

#include "support/places.hpp"
#include "support/redis_server.hpp"
#include "system/work_world.hpp"

namespace sluice::test {

using nlohmann::json;
using std::chrono::steady_clock;
using steady_time = steady_clock::time_point;

// What the handler of one run did, by the log of its process.
struct seen_run {
  std::string id;
  std::string by;  // the process
  steady_time begin;
  std::optional<steady_time> end;
};
using seen_runs = std::map<std::uint64_t, seen_run>;  // by fence

// On an SQLite file of its own, or wherever a URL says.
struct worker_world : work_world {
  explicit worker_world(const json& settings = json::object(), const std::string& store = {})
      : work_world(settings, store), settings_(settings) {}

  // A noop_worker (support/noop_worker.cpp) called `name`, with `name`.runs as its log of what ran.
  process worker(const std::string& name, const json& its_own = json::object()) {
    auto mine = settings_;
    mine.update(its_own);
    mine["server_name"] = name;
    configure(name + ".json", mine);
    return serve(words_of_worker(name), name + ".log");
  }
  // How one is started that has a configuration.
  std::vector<std::string> words_of_worker(const std::string& name) const {
    return {program_path("noop_worker"), folder.file(name + ".json"), folder.file(name + ".runs")};
  }

  // Its jobs that run until they are told may end.
  void tell(const std::string& name) { write_file(folder.file(name + ".runs.go"), ""); }

  // How often a handler noted "begin" or "end"; no store is asked.
  int noted(const std::string& what, const std::vector<std::string>& names) {
    int found = 0;
    for (const auto& name : names) {
      std::istringstream lines(read_file(folder.file(name + ".runs")));
      for (std::string line; std::getline(lines, line);)
        found += line.starts_with(what);
    }
    return found;
  }

  seen_runs runs(const std::vector<std::string>& names) {
    seen_runs found;
    for (const auto& name : names) {
      std::istringstream lines(read_file(folder.file(name + ".runs")));
      std::string what, id;
      std::uint64_t fence = 0;
      std::int64_t us = 0;
      while (lines >> what >> id >> fence >> us) {
        const steady_time at{std::chrono::microseconds(us)};
        if (what == "begin") {
          if (!found.try_emplace(fence, seen_run{id, name, at, {}}).second)
            throw std::runtime_error("two runs have the fence " + std::to_string(fence));
        } else {
          found.at(fence).end = at;
        }
      }
    }
    return found;
  }

  bool all_succeeded(std::uint64_t count) { return counts().succeeded == count; }

private:
  json settings_;
};

struct redis_home {
  redis_server redis;
};

struct redis_work_world : redis_home, worker_world {
  explicit redis_work_world(const json& settings = json::object(), const redis_options& redis_as = {})
      : redis_home{redis_server(redis_as)}, worker_world(settings, redis.url()) {}
};

inline new_job noop(const std::string& id, const json& args = json::object(), const std::string& queue = "default") {
  new_job j;
  j.type = job_type("noop");
  j.queue = queue_name(queue);
  j.id = job_id(id);
  j.args = args.dump();
  return j;
}

inline std::vector<new_job> noops(int count, const json& args = json::object()) {
  std::vector<new_job> jobs;
  for (int i = 0; i < count; ++i)
    jobs.push_back(noop("job" + std::to_string(i), args));
  return jobs;
}

// A server's id is its name, a colon and what makes it one of its own.
template <class Start>
bool was_on(const Start& recorded, const std::string& server) {
  return recorded.server.starts_with(server + ":");
}

inline std::map<std::string, int> runs_of_each(const seen_runs& runs) {
  std::map<std::string, int> times;
  for (const auto& [fence, run] : runs)
    ++times[run.id];
  return times;
}

// What must hold whatever happened, as sentences about where it does not. Each job succeeded in its last start and in
// no other; each run that a handler ran has one outcome in the store, lost or succeeded; each success ran to its end.
inline std::vector<std::string> faults_of(work_world& w, const seen_runs& runs) {
  std::vector<std::string> faults;
  std::set<std::uint64_t> known;
  for (const auto& j : w.all(job_state::succeeded)) {
    for (std::size_t i = 0; i < j.history.size(); ++i) {
      const auto& recorded = j.history[i];
      const auto about = j.id.value + ", fence " + std::to_string(recorded.fence.value) + ": " + recorded.cause;
      if (!known.insert(recorded.fence.value).second) faults.push_back(about + ": the second outcome of one fence");
      const bool last = i + 1 == j.history.size();
      if (last != (recorded.cause == "succeeded")) faults.push_back(about + ": no job ends so");
      const auto run = runs.find(recorded.fence.value);
      if (run != runs.end() && (run->second.id != j.id.value || !was_on(recorded, run->second.by)))
        faults.push_back(about + ": was run as " + run->second.id + " by " + run->second.by);
      if (last && (run == runs.end() || !run->second.end)) faults.push_back(about + ": did not run to its end");
      if (run != runs.end() && !last && recorded.cause != "lost") faults.push_back(about + ": ran, and was not lost");
    }
  }
  for (const auto& [fence, run] : runs)
    if (!known.contains(fence)) faults.push_back(run.id + ", fence " + std::to_string(fence) + ": the store knows not");
  if (faults.size() > 20) faults.resize(20);  // enough to see what is wrong
  return faults;
}

inline const std::vector<std::string> none;

}  // namespace sluice::test
