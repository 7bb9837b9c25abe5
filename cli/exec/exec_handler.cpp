#include "cli/exec/exec_handler.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <mutex>
#include <optional>
#include <vector>

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "cli/exec/children.hpp"
#include "cli/exec/exec_rules.hpp"
#include "core/log.hpp"
#include "core/queues.hpp"
#include "core/text.hpp"

namespace sluice::exec {
namespace {

using json = nlohmann::json;
using std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto longest_poll = std::chrono::milliseconds(3'600'000);
constexpr int reads_a_turn = 8;  // a command that never stops writing must not keep us from its timeout
constexpr duration longest_timeout = 24h * 30;
constexpr std::size_t max_output = 64 * 1024;
constexpr std::size_t max_read = max_output + 1;  // one more tells that some is cut off
constexpr auto terminate_timeout = 2s;            // between SIGTERM and SIGKILL
constexpr auto recheck_interval = 20ms;           // where the kernel has no pidfd to wait on

struct command {
  std::string program{};
  std::vector<std::string> argv;
  std::vector<std::string> env;
  std::optional<duration> timeout;
};

struct bad_args : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The system ends each text that it passes on at its first NUL.
void refuse_nul(const std::string& text, const std::string& what) {
  if (text.find('\0') == std::string::npos) return;
  throw bad_args(cat("exec: a NUL cannot be passed to a program: ", what, " holds one; take it out"));
}

command parse(const std::string& text) {
  const auto args = json::parse(text);
  command c;
  if (!args.is_object()) throw bad_args("exec: args must be an object with \"argv\"");
  for (const auto& [key, value] : args.items())
    if (key != "argv" && key != "timeout" && key != "env")
      throw bad_args("exec: unknown key \"" + key + "\"; known: argv, timeout, env");
  const auto argv = args.find("argv");
  if (argv == args.end() || !argv->is_array() || argv->empty())
    throw bad_args("exec: \"argv\" must be a list of texts, the program first");
  for (const auto& one : *argv) {
    if (!one.is_string()) throw bad_args("exec: \"argv\" must hold texts only");
    c.argv.push_back(one.get<std::string>());
    refuse_nul(c.argv.back(), "a text of \"argv\"");
  }
  if (const auto timeout = args.find("timeout"); timeout != args.end()) {
    c.timeout = timeout->is_string() ? parse_duration(timeout->get<std::string>()) : std::nullopt;
    if (!c.timeout || *c.timeout <= 0s || *c.timeout > longest_timeout)
      throw bad_args("exec: \"timeout\" must be a time like \"30s\", at most \"30d\"");
  }
  if (const auto env = args.find("env"); env != args.end()) {
    if (!env->is_object()) throw bad_args("exec: \"env\" must be an object of texts");
    for (const auto& [name, value] : env->items()) {
      if (!value.is_string()) throw bad_args("exec: \"env\" must be an object of texts");
      if (name.empty() || name.find('=') != std::string::npos)
        throw bad_args(
            cat("exec: the name of a variable in \"env\" must not be empty or hold '=': '", printable(name, 100), "'"));
      c.env.push_back(name + "=" + value.get<std::string>());
      refuse_nul(c.env.back(), cat("the variable ", printable(name, 100), " of \"env\""));
    }
  }
  return c;
}

// What is not allowed is bad, too.
command parse_allowed(const rules& may, const std::string& text) {
  auto c = parse(text);
  const auto program = program_of(may, c.argv[0]);
  if (!program)
    throw bad_args(cat("exec: ", printable(c.argv[0], 200),
                       " is not among the programs that this server's configuration allows (/exec/allow)"));
  c.program = *program;
  for (const auto& own : c.env)
    if (const auto name = own.substr(0, own.find('=')); !may_set(may, name))
      throw bad_args(cat("exec: the variable ", printable(name, 100),
                         " is not among those that this server's configuration lets jobs set (/exec/variables)"));
  return c;
}

// The command's own variables stand over the others.
std::vector<char*> environment_for(const rules& r, std::vector<std::string>& texts, const command& c) {
  texts = r.environment;
  for (const auto& own : c.env)
    set_variable(texts, own.substr(0, own.find('=')), own.substr(own.find('=') + 1));
  std::vector<char*> all;
  all.reserve(texts.size() + 1);
  for (auto& text : texts)
    all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

class file {
public:
  explicit file(int fd = -1) : fd_(fd) {}
  ~file() { close(); }
  file(const file&) = delete;
  int get() const { return fd_; }
  void set(int fd) { fd_ = fd; }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

private:
  int fd_;
};

// In the child, between fork and exec: only async-signal-safe calls.
[[noreturn]] void become(const guard::words& watch, const rules& r, const char* program, char* const* argv,
                         char* const* env, int output, int failed) {
  const auto give_up = [&](int why) {
    if (::write(failed, &why, sizeof why) < 0) ::_exit(126);
    ::_exit(127);
  };
  ::setpgid(0, 0);
  if (!watch.enter(::getpid())) give_up(EPIPE);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXFSZ})
    ::signal(signal, SIG_DFL);
  const int null = ::open("/dev/null", O_RDONLY);
  if (null < 0 || ::dup2(null, 0) < 0 || ::dup2(output, 1) < 0 || ::dup2(output, 2) < 0) give_up(errno);
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur > r.soft_files) {
    files.rlim_cur = r.soft_files;
    if (::setrlimit(RLIMIT_NOFILE, &files) != 0) give_up(errno);
  }
  for (const auto& limit : r.limits) {
    const rlimit both{limit.most, limit.most};
    if (::setrlimit(limit.what, &both) != 0) give_up(errno);
  }
  if (r.has_user &&
      (::setgroups(r.groups.size(), r.groups.data()) != 0 || ::setgid(r.group) != 0 || ::setuid(r.user) != 0))
    give_up(errno);
  if (!r.folder.empty() && ::chdir(r.folder.c_str()) != 0) give_up(errno);
  if (!r.new_privileges && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) give_up(errno);
  // Whatever the host opened without O_CLOEXEC is not the command's. `failed` closes at exec by itself.
  if (failed > 3) ::syscall(SYS_close_range, 3u, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */);
  ::execvpe(program, argv, env);
  give_up(errno);
  ::_exit(127);
}

class child {
public:
  child(guard& watch, pid_t pid)
      : watch_(watch), pid_(pid), ready_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {
    watch_.note(pid);
  }
  ~child() {
    if (!reaped_) finish();
  }

  // Readable once the leader has ended; -1 when the kernel has no such thing.
  int ready() const { return ready_.get(); }

  // The group gets the signal; it exists at least until its leader is reaped.
  void signal(int what) const { ::kill(-pid_, what); }

  bool ended() const { return has_ended(pid_); }

  // Kills what is left of the group, tells the guard, reaps. Answers the wait status.
  int finish() {
    signal(SIGKILL);
    await_end(pid_);
    watch_.leave(pid_);
    reaped_ = true;
    return wait_for(pid_);
  }

private:
  guard& watch_;
  pid_t pid_;
  file ready_;
  bool reaped_ = false;
};

struct run_end {
  int status = 0;
  std::string output;
  bool timed_out = false;
  bool stopped = false;
};

// Reads the output until the leader has ended; minds the timeout and the stop request.
run_end follow(child& c, int output, int stop, const std::optional<duration>& timeout) {
  run_end end;
  const auto deadline = timeout ? steady_clock::now() + *timeout : steady_clock::time_point::max();
  auto kill_at = steady_clock::time_point::max();
  bool open = true;
  std::array<char, 16 * 1024> buffer{};
  const auto read_some = [&] {
    for (int reads = 0; reads < reads_a_turn; ++reads) {
      const auto got = ::read(output, buffer.data(), buffer.size());
      if (got <= 0) {
        if (got == 0 || (errno != EAGAIN && errno != EINTR)) open = false;
        return;
      }
      end.output.append(buffer.data(),
                        std::min(static_cast<std::size_t>(got), max_read - std::min(max_read, end.output.size())));
    }
  };
  while (!c.ended()) {
    const auto now = steady_clock::now();
    if (now >= kill_at) {
      c.signal(SIGKILL);
      kill_at = steady_clock::time_point::max();
    }
    if (!end.timed_out && now >= deadline) {
      end.timed_out = true;
      c.signal(SIGTERM);
      kill_at = std::min(kill_at, now + terminate_timeout);
    }
    const auto next = std::min(end.timed_out ? steady_clock::time_point::max() : deadline, kill_at);
    auto wait = next == steady_clock::time_point::max()
                    ? -1ms
                    : std::chrono::ceil<std::chrono::milliseconds>(std::max(next - now, steady_clock::duration(0)));
    if (c.ready() < 0)
      wait = wait < 0ms ? recheck_interval : std::min<std::chrono::milliseconds>(wait, recheck_interval);
    wait = wait < 0ms ? longest_poll : std::min<std::chrono::milliseconds>(wait, longest_poll);
    std::array<pollfd, 3> all{pollfd{open ? output : -1, POLLIN, 0}, pollfd{end.stopped ? -1 : stop, POLLIN, 0},
                              pollfd{c.ready(), POLLIN, 0}};
    if (::poll(all.data(), all.size(), static_cast<int>(wait.count())) < 0 && errno != EINTR) break;
    if (all[1].revents != 0) {
      end.stopped = true;
      c.signal(SIGTERM);
      kill_at = std::min(kill_at, steady_clock::now() + terminate_timeout);
    }
    if (all[0].revents != 0) read_some();
  }
  if (open) read_some();
  end.status = c.finish();
  return end;
}

// The machine, or this server's guard, lets no command start: the job is not to blame. Its worker waits a moment before
// it gives the job back, so that another server may have it and this one does not take it again at once.
outcome cannot_start(const char* what, int why, job_context& context) {
  constexpr auto moment = std::chrono::seconds(1);
  constexpr auto between_warnings = std::chrono::minutes(1);
  static std::atomic<steady_clock::rep> next_warning{0};
  const auto now = steady_clock::now();
  auto due = next_warning.load();
  if (now.time_since_epoch().count() >= due &&
      next_warning.compare_exchange_strong(due, (now + between_warnings).time_since_epoch().count()))
    log::warn("no command can be started (", what, ": ", std::strerror(why),
              "); its job is given back, and so are others");
  std::mutex unshared;
  std::unique_lock hold(unshared);
  std::condition_variable_any().wait_for(hold, context.stop(), moment, [] { return false; });
  return outcome::give_back(cat("this server could not start it (", what, ": ", std::strerror(why), ")"));
}

outcome late(const command& c, const std::string& more) {
  auto timed_out = outcome::failed(cat("timed out after ", format_duration(*c.timeout), "; ", more));
  timed_out.cause = "timed_out";
  return timed_out;
}

// Within a time, if there is one.
bool is_readable(int file, const std::optional<duration>& within) {
  const auto deadline = steady_clock::now() + within.value_or(duration(0));
  for (;;) {
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now());
    if (!within || left > longest_poll) left = longest_poll;
    if (left.count() < 0) return false;
    pollfd one{file, POLLIN, 0};
    if (::poll(&one, 1, static_cast<int>(left.count())) > 0) return true;
    if (within && steady_clock::now() >= deadline) return false;
  }
}

outcome cannot_run(const std::string& program, int why) {
  const auto text = cat("exec: cannot run ", printable(program, 200), ": ", std::strerror(why));
  if (why == E2BIG)
    return outcome::do_not_retry(cat(text, "; write what is long in its argv and env into a file, and name that"));
  return why == ENOENT || why == EACCES || why == ENOEXEC ? outcome::do_not_retry(text) : outcome::failed(text);
}

outcome run(guard& watch, const rules& may, job_context& context) {
  if (may.key)
    if (const auto fine = may.key->check(context); !fine)
      return outcome::do_not_retry(cat("exec: nothing was run, for ", fine.error().message));
  command c;
  try {
    c = parse_allowed(may, context.args());
  } catch (const std::exception& e) {
    return outcome::do_not_retry(e.what());
  }
  // Everything that allocates comes before the fork.
  std::vector<char*> argv;
  for (auto& one : c.argv)
    argv.push_back(one.data());
  argv.push_back(nullptr);
  std::vector<std::string> env_texts;
  const auto env = environment_for(may, env_texts, c);
  std::array<int, 2> out{}, failed{};
  file out_read, out_write, failed_read, failed_write, stop(::eventfd(0, EFD_CLOEXEC));
  if (stop.get() < 0) return cannot_start("eventfd", errno, context);
  if (::pipe2(out.data(), O_CLOEXEC) != 0) return cannot_start("pipe", errno, context);
  out_read.set(out[0]);
  out_write.set(out[1]);
  if (::pipe2(failed.data(), O_CLOEXEC) != 0) return cannot_start("pipe", errno, context);
  failed_read.set(failed[0]);
  failed_write.set(failed[1]);
  ::fcntl(out_read.get(), F_SETFL, O_NONBLOCK);

  const pid_t pid = fork_own();
  if (pid < 0) return cannot_start("fork", errno, context);
  if (pid == 0)
    become(watch.to_guard(), may, c.program.c_str(), argv.data(), env.data(), out_write.get(), failed_write.get());
  child process(watch, pid);
  ::setpgid(pid, pid);  // both sides do it, so that it is done before either goes on
  out_write.close();
  failed_write.close();
  int why = 0;
  ssize_t got = 0;
  if (!is_readable(failed_read.get(), c.timeout)) return cannot_start("exec", ETIMEDOUT, context);
  while ((got = ::read(failed_read.get(), &why, sizeof why)) < 0 && errno == EINTR) {
  }
  if (got == static_cast<ssize_t>(sizeof why)) {
    process.finish();
    if (why == EPIPE) {
      watch.renew();
      return cannot_start("the guard of commands has ended or reads nothing; it is started anew", why, context);
    }
    if (why == EMFILE || why == ENFILE || why == EAGAIN) return cannot_start("exec", why, context);
    return cannot_run(c.argv[0], why);
  }

  std::stop_callback on_stop(context.stop(), [&] {
    const std::uint64_t one = 1;
    if (::write(stop.get(), &one, sizeof one) < 0) return;
  });
  const auto end = follow(process, out_read.get(), stop.get(), c.timeout);
  const auto output = escaped_utf8(end.output, max_output);
  if (WIFEXITED(end.status) && WEXITSTATUS(end.status) == 0 && !end.timed_out) return outcome::succeeded(output);
  if (end.stopped) return outcome::give_back("the command was stopped");
  if (end.timed_out) return late(c, cat("output: ", output));
  const auto how =
      WIFSIGNALED(end.status) ? cat("killed by signal ", WTERMSIG(end.status)) : cat("exit ", WEXITSTATUS(end.status));
  return outcome::failed(output.empty() ? how : cat(how, ": ", output));
}

}  // namespace

result<handler> make_handler(guard& watch, const exec_options& options, const std::vector<std::string>& secrets) {
  auto may = rules_of(options, secrets);
  if (!may) return may.error();
  return handler([&watch, may = std::move(*may)](job_context& context) { return run(watch, may, context); });
}

std::string fault_of_args(const std::string& args) {
  try {
    parse(args);
    return {};
  } catch (const std::exception& e) {
    return e.what();
  }
}

std::vector<std::string> doubts_of(const server_options& options) {
  std::vector<std::string> doubts;
  for (const auto& path : options.exec.allow)
    if (options.exec.user.empty() && ::access(path.c_str(), X_OK) != 0)  // else that user may
      doubts.push_back(cat("exec.allow: ", printable(path, 200), " cannot be run here: ", std::strerror(errno)));
  rules may;
  may.allow = options.exec.allow;
  may.variables = options.exec.variables;
  for (const auto& one : options.recurring) {
    // Who serves another queue may allow other programs.
    const auto queue = queue_of_schedule(options, one);
    if (one.job.value != exec_job_type || !options_for(options.queues, queue.value)) continue;
    try {
      parse_allowed(may, one.args);
    } catch (const std::exception& e) {
      doubts.push_back(cat("schedule ", printable(one.name, 200), " makes jobs that fail: ", e.what()));
    }
  }
  return doubts;
}

}  // namespace sluice::exec
