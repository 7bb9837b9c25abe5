// lock_worker STORE LOG NAME TTL_MS: takes the lock "the printer" again and again, until it is killed. Each line of the
// log is one write, and its last number is how long the log was before the question that the line answers, so that
// whoever reads it knows what had surely happened by then:
//   take FENCE NAME SEEN    the lock was taken
//   held FENCE NAME SEEN    it was still ours
//   lost FENCE NAME SEEN    it was not any more
//   refused 0 NAME SEEN     somebody else had it
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>

#include <sluice/lock.hpp>

namespace {

using namespace std::chrono_literals;

struct diary {
  int file;
  std::string name;

  long long length() const {
    struct stat about {};
    if (::fstat(file, &about) != 0) std::abort();
    return about.st_size;
  }
  void note(const char* what, std::uint64_t fence, long long seen) const {
    const auto line = std::string(what) + " " + std::to_string(fence) + " " + name + " " + std::to_string(seen) + "\n";
    if (::write(file, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::abort();
  }
};

// Works for a while under the lock, and asks whether it is still its own.
void work(const diary& log, const sluice::held_lock& lock, std::minstd_rand& random) {
  for (auto left = std::uniform_int_distribution(1, 5)(random); left > 0; --left) {
    std::this_thread::sleep_for(1ms * std::uniform_int_distribution(1, 20)(random));
    const auto seen = log.length();
    const bool held = lock.still_held();
    log.note(held ? "held" : "lost", lock.fence().value, seen);
    if (!held) return;
  }
}

int fail(const std::string& why) { return std::fprintf(stderr, "lock_worker: %s\n", why.c_str()), 1; }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return fail("lock_worker STORE LOG NAME TTL_MS");
  const diary log{::open(argv[2], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644), argv[3]};
  if (log.file < 0) return fail("cannot open the log");
  const auto ttl = 1ms * std::atoi(argv[4]);
  auto locks = sluice::lock_manager::open({.storage = argv[1], .holder = argv[3]});
  if (!locks) return fail(to_string(locks.error()));
  std::minstd_rand random(static_cast<unsigned>(::getpid()));
  for (;;) {
    const auto seen = log.length();
    auto lock = locks->take("the printer", ttl);
    if (!lock) {
      if (lock.error().code == sluice::errc::lock_held) log.note("refused", 0, seen);
      else std::fprintf(stderr, "lock_worker: %s\n", to_string(lock.error()).c_str());
      std::this_thread::sleep_for(1ms * std::uniform_int_distribution(1, 20)(random));
      continue;
    }
    log.note("take", lock->fence().value, seen);
    work(log, *lock, random);
  }
}
