// What commands leave behind, where it becomes a child of the server: in a container, and below a subreaper.
#include <dirent.h>

#include <algorithm>

#include "core/text.hpp"
#include "support/catch.hpp"
#include "system/work_world.hpp"

namespace sluice::test {
namespace {

// Zombies, too.
std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> found;
  DIR* proc = ::opendir("/proc");
  while (const auto* entry = ::readdir(proc)) {
    if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
    const auto stat = read_file(cat("/proc/", entry->d_name, "/stat"));
    const auto name_ends = stat.rfind(')');  // then " S 4711 ": the state, the parent
    if (name_ends != std::string::npos && std::atoi(stat.c_str() + name_ends + 4) == parent)
      found.push_back(std::atoi(entry->d_name));
  }
  ::closedir(proc);
  return found;
}

bool has_only_its_guard(pid_t server) { return children_of(server).size() == 1; }

new_job once(const std::string& script, const std::string& id) {
  auto made = work_world::exec(script, id);
  made.retry.attempts = 0;
  return made;
}

// Ends when it is told to, long after its command.
new_job leaves_one_that_escapes(const work_world& w) {
  const auto runs = w.folder.file("runs"), go = w.folder.file("go");
  return once(cat("setsid sh -c ': > ", runs, "; until [ -e ", go, " ]; do sleep 0.02; done' & until [ -e ", runs,
                  " ]; do sleep 0.02; done; echo hi"),
              "escapes");
}

void check_that_orphans_are_reaped(work_world& w, pid_t server) {
  REQUIRE(has_only_its_guard(server));
  std::vector<new_job> jobs{leaves_one_that_escapes(w)};
  for (int i = 0; i < 20; ++i) {
    jobs.push_back(once("sleep 0.1 & echo hi", cat("hi", i)));
    jobs.push_back(once("sleep 0.1 & exit 7", cat("seven", i)));
  }
  w.enqueue(std::move(jobs));
  const auto ended = [&](const std::string& id, job_state as) {
    return eventually([&] { return w.get(id).state == as; });
  };
  for (int i = 0; i < 20; ++i) {
    REQUIRE(ended(cat("hi", i), job_state::succeeded));
    CHECK(w.get(cat("hi", i)).result == "hi\n");
    REQUIRE(ended(cat("seven", i), job_state::failed));
    CHECK(w.get(cat("seven", i)).history.back().error == "exit 7");
  }
  REQUIRE(ended("escapes", job_state::succeeded));
  CHECK(eventually([&] { return children_of(server).size() == 2; }));
  // No command ends any more, so only the end of the orphan itself is heard.
  write_file(w.folder.file("go"), "");
  CHECK(eventually([&] { return has_only_its_guard(server); }));
}

}  // namespace

TEST_CASE("as the first process of a container a server reaps what commands leave behind") {
  work_world w;
  std::vector<std::string> argv{"unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "true"};
  if (run(argv, w.folder.path().string()).exit_code != 0) {
    WARN("skipped: nobody may make a PID namespace here");
    return;
  }
  argv.pop_back();
  argv.insert(argv.end(), {program_path("sluice"), "work", w.folder.file("sluice.json")});
  process container(argv, w.folder.file("work.log"));
  REQUIRE(eventually([&] {
    const auto servers = w.client->servers();
    return servers && !servers->empty();
  }));
  REQUIRE(w.client->servers()->front().pid == 1);
  const auto first = children_of(container.pid());
  REQUIRE(first.size() == 1);
  check_that_orphans_are_reaped(w, first[0]);
  ::kill(first[0], SIGTERM);
  CHECK(container.exit_code(20s) == 0);
}

TEST_CASE("as a subreaper a server reaps what commands leave behind") {
  if (!is_here("python3")) return;
  work_world w;
  const std::string becomes_one =
      "import ctypes, os, sys; ctypes.CDLL(None).prctl(36, 1, 0, 0, 0); os.execv(sys.argv[1], sys.argv[1:])";
  auto p =
      w.serve({"python3", "-c", becomes_one, program_path("sluice"), "work", w.folder.file("sluice.json")}, "work.log");
  check_that_orphans_are_reaped(w, p.pid());
  p.signal(SIGTERM);
  CHECK(p.exit_code(20s) == 0);
}

}  // namespace sluice::test
