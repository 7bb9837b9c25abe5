#include "support/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace sluice::test {
namespace {

using std::chrono::steady_clock;

pid_t spawn(const std::vector<std::string>& argv, const std::string& out, const std::string& err) {
  std::vector<char*> words;
  for (const auto& word : argv)
    words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  const int to_out = ::open(out.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  const int to_err = out == err ? to_out : ::open(err.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  ::dup2(to_out, 1);
  ::dup2(to_err, 2);
  // Else a connection that the test closes stays open for as long as this child lives.
  ::syscall(SYS_close_range, 3u, ~0u, 0u);
  ::execvp(words[0], words.data());
  ::_exit(127);
}

}  // namespace

process::process(std::vector<std::string> argv, std::string log) : pid_(spawn(argv, log, log)), log_(std::move(log)) {
  if (pid_ < 0) throw std::runtime_error("fork failed");
}

process::process(process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), status_(other.status_), log_(std::move(other.log_)) {}

process::~process() {
  if (pid_ < 0 || status_) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

bool process::alive() { return !wait(0ms).has_value(); }

void process::signal(int what) const { ::kill(pid_, what); }

bool process::stop() {
  signal(SIGSTOP);
  // The signal reaches each thread in its own time; the parent is told when all have stopped.
  return eventually([&] {
    int status = 0;
    if (status_ || ::waitpid(pid_, &status, WUNTRACED | WNOHANG) != pid_) return false;
    if (WIFSTOPPED(status)) return true;
    status_ = status;  // it had ended
    return false;
  });
}

std::optional<int> process::wait(std::chrono::milliseconds timeout) {
  eventually(
      [&] {
        int status = 0;
        if (!status_ && ::waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
        return status_.has_value();
      },
      timeout);
  return status_;
}

std::optional<int> process::exit_code(std::chrono::milliseconds timeout) {
  const auto status = wait(timeout);
  if (!status) return std::nullopt;
  return WIFEXITED(*status) ? WEXITSTATUS(*status) : -WTERMSIG(*status);
}

std::string process::log() const { return read_file(log_); }

ran run(const std::vector<std::string>& argv, const std::string& folder) {
  static int runs = 0;
  const auto name = folder + "/run" + std::to_string(++runs);
  const pid_t pid = spawn(argv, name + ".out", name + ".err");
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), read_file(name + ".out"),
          read_file(name + ".err")};
}

bool is_here(const std::string& program) {
  std::istringstream folders(std::getenv("PATH"));
  for (std::string folder; std::getline(folders, folder, ':');)
    if (::access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  std::fprintf(stderr, "SKIPPED: there is no %s here\n", program.c_str());
  return false;
}

bool eventually(const std::function<bool()>& true_now, std::chrono::milliseconds timeout) {
  const auto deadline = steady_clock::now() + timeout;
  while (!true_now()) {
    if (steady_clock::now() >= deadline) return false;
    ::poll(nullptr, 0, 5);  // between two looks, so as not to starve what is looked at
  }
  return true;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

}  // namespace sluice::test
