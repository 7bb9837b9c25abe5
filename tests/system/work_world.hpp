// A folder with a configuration, a store (an SQLite file in the folder, or wherever a URL says), real server processes
// on it, and a client beside.
#pragma once

#include <dirent.h>
#include <signal.h>
#include <sqlite3.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include <sluice/client.hpp>

#include "support/places.hpp"
#include "support/process.hpp"
#include "support/temp_dir.hpp"

namespace sluice::test {

// A command that notes its server and ends once a second one has run some, too.
inline std::string until_two_share(const std::string& file) {
  return "echo $PPID >> " + file + "; until [ $(sort -u " + file + " | wc -l) -gt 1 ]; do sleep 0.05; done";
}

class work_world {
public:
  temp_dir folder;
  const std::string url;

  explicit work_world(const nlohmann::json& settings = nlohmann::json::object(), const std::string& store = {})
      : url(store.empty() ? folder.url() : store) {
    configure("sluice.json", settings);
    auto opened = sluice::client::open({url, 20s, {}, {}});
    if (!opened) throw std::runtime_error(to_string(opened.error()));
    client = std::make_unique<sluice::client>(std::move(*opened));
  }

  std::unique_ptr<sluice::client> client;

  void configure(const std::string& file, const nlohmann::json& settings) {
    nlohmann::json config{
        {"storage", url}, {"allow_exec", true}, {"lease", "2s"}, {"queues", {{"default", {{"workers", 4}}}}}};
    config.update(settings);
    write_file(folder.file(file), config.dump());
  }

  process work(const std::string& log = "work.log", const std::string& config = "sluice.json") {
    return serve({program_path("sluice"), "work", folder.file(config)}, log);
  }

  // Started, and known to the store.
  process serve(std::vector<std::string> argv, const std::string& log) {
    process p(std::move(argv), folder.file(log));
    const bool up = eventually([&] {
      if (!p.alive()) return true;
      const auto servers = client->servers();
      if (servers)
        for (const auto& s : *servers)
          if (s.pid == p.pid()) return true;
      return false;
    });
    if (!up || !p.alive()) throw std::runtime_error("the server did not start: " + p.log());
    return p;
  }

  ran sluice(std::vector<std::string> words) {
    words.insert(words.begin(), program_path("sluice"));
    words.insert(words.end(), {"--store", url});
    return run(words, folder.path().string());
  }

  // In the file of a store, to harm it.
  void run_sql(const std::string& sql) const {
    sqlite3* db = nullptr;
    const bool is_open = sqlite3_open(folder.file("jobs.db").c_str(), &db) == SQLITE_OK;
    sqlite3_busy_timeout(db, 10'000);
    const bool is_done = is_open && sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
    const std::string why = sqlite3_errmsg(db);
    sqlite3_close(db);
    if (!is_done) throw std::runtime_error(why);
  }

  static new_job exec(const std::string& script, const std::string& id = {}, const std::string& queue = "default") {
    new_job j;
    j.type = job_type("exec");
    j.queue = queue_name(queue);
    j.id = job_id(id);
    j.args = nlohmann::json{{"argv", {"sh", "-c", script}}}.dump();
    return j;
  }

  void enqueue(std::vector<new_job> jobs) {
    for (const auto& r : client->enqueue(std::move(jobs)))
      if (!r) throw std::runtime_error(to_string(r.error()));
  }

  job get(const std::string& id) {
    auto found = client->get(job_id(id));
    if (!found) throw std::runtime_error(to_string(found.error()));
    return std::move(*found);
  }

  queue_counts counts(const std::string& queue = "default") {
    const auto all = client->queues();
    if (all)
      for (const auto& q : *all)
        if (q.queue.value == queue) return q;
    return {};
  }

  // Every job in one state.
  std::vector<job> all(job_state state) {
    std::vector<job> found;
    job_query query;
    query.state = state;
    query.limit = 200;
    do {
      auto page = client->list(query);
      if (!page) throw std::runtime_error(to_string(page.error()));
      query.after = page->next;
      for (auto& j : page->jobs)
        found.push_back(std::move(j));
    } while (!query.after.empty());
    return found;
  }
};

// How often each line stands in a file: the ground truth of what ran, outside of the store.
inline std::map<std::string, int> lines_of(const std::string& path) {
  std::map<std::string, int> found;
  std::string text = read_file(path);
  for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    ++found[text.substr(at, end - at)];
  return found;
}

// Processes whose command line holds `mark`.
inline int processes_with(const std::string& mark) {
  int found = 0;
  DIR* proc = ::opendir("/proc");
  while (const auto* entry = ::readdir(proc)) {
    if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
    const auto line = read_file(std::string("/proc/") + entry->d_name + "/cmdline");
    if (line.find(mark) != std::string::npos) ++found;
  }
  ::closedir(proc);
  return found;
}

}  // namespace sluice::test
