#include "include_checksums/jobs.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

namespace sample {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t archives = 10;
constexpr const char* checksum =
    "cd \"$1\" && find . -maxdepth 1 -type f | LC_ALL=C sort | xargs -r -d '\\n' sha256sum | sha256sum";
constexpr const char* archive =
    "tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf - -C \"$1\" . | gzip -n -9 > \"$2\" && "
    "sha256sum < \"$2\"";

std::string numbered(const char* prefix, std::size_t n) {
  auto digits = std::to_string(n);
  return prefix + std::string(6 - std::min<std::size_t>(6, digits.size()), '0') + digits;
}

}  // namespace

std::vector<shell_job> plan(const fs::path& root, const fs::path& out) {
  std::map<fs::path, std::uintmax_t> sizes;  // of all that is below each directory
  sizes[root] = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root, fs::directory_options::skip_permission_denied)) {
    if (entry.is_symlink()) continue;
    if (entry.is_directory()) sizes.try_emplace(entry.path(), 0);
    if (!entry.is_regular_file()) continue;
    for (auto above = entry.path().parent_path();; above = above.parent_path()) {
      sizes[above] += entry.file_size();
      if (above == root || above == above.root_path()) break;
    }
  }
  std::vector<shell_job> jobs;
  std::vector<std::pair<std::uintmax_t, fs::path>> largest;
  for (const auto& [directory, size] : sizes) {
    if (directory != root) largest.emplace_back(size, directory);
    jobs.push_back({numbered("sum-", jobs.size()), "default", {"sh", "-c", checksum, "sh", directory.string()}});
  }
  std::sort(largest.rbegin(), largest.rend());
  largest.resize(std::min(largest.size(), archives));
  for (std::size_t i = 0; i < largest.size(); ++i) {
    const auto target = out / (numbered("archive-", i) + ".tar.gz");
    jobs.push_back({numbered("archive-", i),
                    "archive-queue",
                    {"sh", "-c", archive, "sh", largest[i].second.string(), target.string()}});
  }
  return jobs;
}

sluice::new_job as_exec(const shell_job& job) {
  sluice::new_job made;
  made.id = sluice::job_id(job.id);
  made.type = sluice::job_type("exec");
  made.queue = sluice::queue_name(job.queue);
  made.args = nlohmann::json{{"argv", job.argv}, {"timeout", "10m"}}.dump();
  return made;
}

std::string run_plainly(const shell_job& job) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return "no pipe";
  std::vector<char*> words;
  for (const auto& word : job.argv)
    words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  pid_t pid = -1;
  const int failed = ::posix_spawnp(&pid, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  std::string output;
  std::array<char, 4096> buffer{};
  for (ssize_t got = 0; (got = ::read(ends[0], buffer.data(), buffer.size())) > 0;)
    output.append(buffer.data(), static_cast<std::size_t>(got));
  ::close(ends[0]);
  if (failed == 0) ::waitpid(pid, nullptr, 0);
  return output;
}

}  // namespace sample
