// Real child processes for the system tests: started, signalled, waited for; and waiting for an
// observable event with a deadline. Nothing sleeps to wait for time to pass.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sluice::test {

using namespace std::chrono_literals;

class process {
public:
  // Runs argv; its standard error goes to `log` (a file), its output too.
  process(std::vector<std::string> argv, std::string log);
  // A process that is still there is killed.
  ~process();
  process(process&& other) noexcept;
  process(const process&) = delete;

  pid_t pid() const { return pid_; }
  bool alive();
  void signal(int what) const;
  // SIGSTOP: from when this returns it does nothing, until SIGCONT. False when it does not stop.
  bool stop();
  // The wait status, if it ended by then.
  std::optional<int> wait(std::chrono::milliseconds timeout);
  // The exit code, or -signal; nothing when it did not end by then.
  std::optional<int> exit_code(std::chrono::milliseconds timeout);
  std::string log() const;

private:
  pid_t pid_ = -1;
  std::optional<int> status_;
  std::string log_;
};

struct ran {
  int exit_code = -1;
  std::string out;  // standard output
  std::string err;
};

// Runs a command to its end.
ran run(const std::vector<std::string>& argv, const std::string& folder);

// Whether such a program can be run here; says loudly that something is skipped when not.
bool is_here(const std::string& program);

// Looks again and again, at most until `patience` is over. Answers whether it came true.
bool eventually(const std::function<bool()>& true_now, std::chrono::milliseconds timeout = 20s);

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& text);

}  // namespace sluice::test
