// A program as a person runs it: at a terminal, with words typed and keys pressed.
#pragma once

#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace sluice::test {

class terminal {
public:
  static constexpr const char* ctrl_c = "\x03";

  explicit terminal(std::vector<std::string> argv) {
    std::vector<char*> words;
    for (auto& word : argv)
      words.push_back(word.data());
    words.push_back(nullptr);
    pid_ = ::forkpty(&fd_, nullptr, nullptr, nullptr);
    if (pid_ < 0) throw std::runtime_error("no terminal can be made");
    if (pid_ > 0) return;
    ::execv(words[0], words.data());
    ::_exit(127);
  }
  ~terminal() {
    if (!status_) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    ::close(fd_);
  }
  terminal(const terminal&) = delete;

  void type(const std::string& keys) {
    if (::write(fd_, keys.data(), keys.size()) != static_cast<ssize_t>(keys.size()))
      throw std::runtime_error("nobody reads what is typed");
  }

  // Waits until `text` stands on it. False when the program ends or says nothing for so long before.
  bool shows(const std::string& text, std::chrono::milliseconds timeout = std::chrono::seconds(20)) {
    while (shown_.find(text) == std::string::npos)
      if (!read_some(timeout)) return false;
    return true;
  }
  // Waits until the program has ended. Nothing when it says nothing for so long before.
  std::optional<int> exit_code(std::chrono::milliseconds timeout = std::chrono::seconds(20)) {
    while (read_some(timeout))
      continue;
    if (!has_ended_) return std::nullopt;
    int status = 0;
    if (!status_ && ::waitpid(pid_, &status, 0) == pid_) status_ = status;
    return WIFEXITED(*status_) ? WEXITSTATUS(*status_) : -WTERMSIG(*status_);
  }
  const std::string& shown() const { return shown_; }

private:
  bool read_some(std::chrono::milliseconds timeout) {
    pollfd p{fd_, POLLIN, 0};
    if (::poll(&p, 1, static_cast<int>(timeout.count())) != 1) return false;
    char some[4096];
    const auto n = ::read(fd_, some, sizeof some);
    has_ended_ = n <= 0;  // EIO: the other side is gone
    if (n > 0) shown_.append(some, static_cast<std::size_t>(n));
    return n > 0;
  }

  int fd_ = -1;
  pid_t pid_ = -1;
  bool has_ended_ = false;
  std::optional<int> status_;
  std::string shown_;
};

}  // namespace sluice::test
