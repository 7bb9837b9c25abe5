#include "core/processors.hpp"

#include <filesystem>
#include <thread>

#include <sched.h>

#include "core/queues.hpp"
#include "support/catch.hpp"
#include "support/process.hpp"
#include "support/temp_dir.hpp"

namespace sluice::test {
namespace {

// A folder with what the kernel tells of a process's groups.
struct told_groups {
  temp_dir folder;

  explicit told_groups(const std::string& groups) { put("proc/self/cgroup", groups); }
  void put(const std::string& file, const std::string& text) const {
    const std::filesystem::path path = folder.file(file);
    std::filesystem::create_directories(path.parent_path());
    write_file(path.string(), text);
  }
  std::uint32_t usable() const { return usable_processors(folder.path().string()); }
};

// What a thread sees that may run on so many processors of those that it has.
std::uint32_t seen_on(int most, const told_groups& told) {
  std::uint32_t seen = 0;
  std::thread([&] {
    cpu_set_t all, some;
    CPU_ZERO(&all);
    CPU_ZERO(&some);
    if (::sched_getaffinity(0, sizeof all, &all) != 0) return;
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&some) < most; ++i)
      if (CPU_ISSET(i, &all)) CPU_SET(i, &some);
    if (::sched_setaffinity(0, sizeof some, &some) == 0) seen = told.usable();
  }).join();
  return seen;
}

}  // namespace

TEST_CASE("the processors that a process may not run on are not counted") {
  const told_groups told("0::/\n");
  CHECK(seen_on(1, told) == 1);
  CHECK(told.usable() >= 1);
}

TEST_CASE("a CPU quota of version 2 counts rounded up, and at least as one processor") {
  const told_groups told("0::/app.slice/jobs.service\n");
  const auto unlimited = told.usable();
  told.put("sys/fs/cgroup/app.slice/jobs.service/cpu.max", "max 100000\n");
  CHECK(told.usable() == unlimited);
  told.put("sys/fs/cgroup/app.slice/jobs.service/cpu.max", "20000 100000\n");
  CHECK(told.usable() == 1);
  told.put("sys/fs/cgroup/app.slice/jobs.service/cpu.max", "100001 100000\n");
  CHECK(told.usable() == std::min(2u, unlimited));
  told.put("sys/fs/cgroup/app.slice/jobs.service/cpu.max", "6400000 100000\n");
  CHECK(told.usable() == std::min(64u, unlimited));
}

TEST_CASE("the quota of a group above binds, and a group that a container cannot see does not hide it") {
  const told_groups told("0::/docker/4711\n");
  told.put("sys/fs/cgroup/cpu.max", "90000 100000\n");
  CHECK(told.usable() == 1);

  const told_groups nested("0::/a/b\n");
  nested.put("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  nested.put("sys/fs/cgroup/a/cpu.max", "50000 100000\n");
  CHECK(nested.usable() == 1);
}

TEST_CASE("a CPU quota of version 1 counts, and -1 is none") {
  const told_groups told("12:memory:/jobs\n5:cpu,cpuacct:/jobs\n1:name=systemd:/\n");
  const auto unlimited = told.usable();
  const std::string group = "sys/fs/cgroup/cpu,cpuacct/jobs/";
  told.put(group + "cpu.cfs_period_us", "100000\n");
  told.put(group + "cpu.cfs_quota_us", "-1\n");
  CHECK(told.usable() == unlimited);
  told.put(group + "cpu.cfs_quota_us", "70000\n");
  CHECK(told.usable() == 1);
  told.put("sys/fs/cgroup/cpuset/jobs/cpu.cfs_quota_us", "1\n");
  CHECK(told.usable() == 1);
}

TEST_CASE("what the kernel does not tell, or nobody can read, limits nothing") {
  const told_groups none("");
  const auto unlimited = none.usable();
  const told_groups odd("no colon\n0::\n7:cpu\n0::/x\n");
  odd.put("sys/fs/cgroup/x/cpu.max", "many per second\n");
  CHECK(odd.usable() == unlimited);
  odd.put("sys/fs/cgroup/x/cpu.max", "100000 0\n");
  CHECK(odd.usable() == unlimited);
}

TEST_CASE("a queue has as many workers as there are processors that may be used, unless it says otherwise") {
  CHECK(default_workers("default", 1) == std::min(usable_processors(), 1000u));
  std::uint32_t on_one = 0;
  std::thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(::sched_getcpu(), &one);
    if (::sched_setaffinity(0, sizeof one, &one) == 0) on_one = default_workers("default", 1);
  }).join();
  CHECK(on_one == 1);
}

}  // namespace sluice::test
