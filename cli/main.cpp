#include <fcntl.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "core/text.hpp"

namespace {

// A standard stream that was closed would be taken by the next file we open, and written into.
void fill_closed_streams() {
  for (const int fd : {0, 1, 2})
    if (::fcntl(fd, F_GETFD) < 0 && ::open("/dev/null", O_RDONLY) != fd) return;
}

// `ps` shows the words of a process to everybody. They were read.
void hide_passwords(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const auto password = sluice::password_in(argv[i]);
    if (!password.empty()) std::fill_n(argv[i] + (password.data() - argv[i]), password.size(), '*');
  }
}

int carry_out(const sluice::cli::command& c) {
  if (c.name == "check") return check(c);
  if (c.name == "work") return work(c);
  if (c.name == "dashboard") return serve_dashboard(c);
  if (c.name == "top") return show_top(c);
  if (c.name == "audit") return audit(c);
  if (c.name == "upgrade") return upgrade(c);
  if (c.name.starts_with("recurring")) return recurring_jobs(c);
  if (c.name == "cron") return show_cron(c);
  if (c.name == "completion" || c.name == "manual") return describe(c);
  if (c.name.starts_with("throttler") || c.name == "explain") return throttle(c);
  return inspect(c);
}

}  // namespace

int main(int argc, char** argv) {
  fill_closed_streams();
  std::signal(SIGPIPE, SIG_IGN);  // `sluice jobs | head` is no reason to die in a write to the store
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of the write, like a full disk
  const auto [command, exit_code] = sluice::cli::parse(argc, argv);
  if (!command) return exit_code;
  hide_passwords(argc, argv);
  try {
    const int code = carry_out(*command);
    if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return code;
    sluice::cli::note("it was done, but its output could not be written");
    return code == 0 ? 1 : code;
  } catch (const std::exception& e) {
    sluice::cli::note(e.what());
    return 1;
  }
}
