#include "core/processors.hpp"

#include <algorithm>
#include <fstream>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include <sched.h>

namespace sluice {
namespace {

constexpr std::uint32_t no_limit = UINT32_MAX;

std::uint32_t allowed_by_affinity() {
  constexpr std::size_t most = 1U << 16U;  // the mask of a large machine is longer than a cpu_set_t
  for (std::size_t count = CPU_SETSIZE; count <= most; count *= 2) {
    const auto bytes = CPU_ALLOC_SIZE(count);
    std::vector<cpu_set_t> mask(bytes / sizeof(cpu_set_t));
    if (::sched_getaffinity(0, bytes, mask.data()) == 0)
      return static_cast<std::uint32_t>(CPU_COUNT_S(bytes, mask.data()));
  }
  return std::thread::hardware_concurrency();
}

std::uint32_t rounded_up(std::int64_t quota, std::int64_t period) {
  if (quota <= 0 || period <= 0) return no_limit;
  const auto whole = quota / period + (quota % period > 0 ? 1 : 0);
  return static_cast<std::uint32_t>(std::min<std::int64_t>(whole, no_limit));
}

std::optional<std::int64_t> number_in(const std::string& file) {
  std::ifstream in(file);
  std::int64_t n = 0;
  if (!(in >> n)) return std::nullopt;
  return n;
}

// "max 100000", or "150000 100000": microseconds in each period.
std::uint32_t quota_of_v2(const std::string& folder) {
  std::ifstream in(folder + "/cpu.max");
  std::int64_t quota = 0, period = 0;
  return in >> quota >> period ? rounded_up(quota, period) : no_limit;
}

// -1 is no quota.
std::uint32_t quota_of_v1(const std::string& folder) {
  const auto quota = number_in(folder + "/cpu.cfs_quota_us");
  const auto period = number_in(folder + "/cpu.cfs_period_us");
  return quota && period ? rounded_up(*quota, *period) : no_limit;
}

// The least of a group and of those above it, which bind it too. A container may see the host's name of its group, and
// itself at the top: what is not there is passed over.
template <class Quota>
std::uint32_t least_quota(const std::string& mounted_at, std::string group, Quota quota_of) {
  auto least = quota_of(mounted_at);
  while (group.size() > 1) {
    least = std::min(least, quota_of(mounted_at + group));
    group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  }
  return least;
}

bool has_cpu(std::string_view controllers) {
  while (!controllers.empty()) {
    const auto end = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, end) == "cpu") return true;
    controllers.remove_prefix(std::min(end + 1, controllers.size()));
  }
  return false;
}

// Each line of /proc/self/cgroup is NUMBER:CONTROLLERS:GROUP; of version 2 the controllers are empty.
std::uint32_t allowed_by_quota(const std::string& root) {
  auto least = no_limit;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const auto controllers = line.substr(first + 1, second - first - 1);
    const auto group = line.substr(second + 1);
    const auto mounted = root + "/sys/fs/cgroup";
    if (controllers.empty()) least = std::min(least, least_quota(mounted, group, quota_of_v2));
    if (!has_cpu(controllers)) continue;
    for (const auto& name : {controllers, std::string("cpu")})
      least = std::min(least, least_quota(mounted + "/" + name, group, quota_of_v1));
  }
  return least;
}

}  // namespace

std::uint32_t usable_processors(const std::string& root) {
  return std::max(1u, std::min(allowed_by_affinity(), allowed_by_quota(root)));
}

}  // namespace sluice
