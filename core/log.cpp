#include "core/log.hpp"

#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "core/per_process.hpp"
#include "core/thread_name.hpp"

#include <spdlog/pattern_formatter.h>

namespace sluice::log {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t max_waiting = 4 * 1024 * 1024;  // bytes; the thread may hold as many again
constexpr auto exit_timeout = 500ms;

std::atomic<level> least_level{level::info};
std::atomic<log_format> chosen_format{log_format::text};
std::atomic<std::uint64_t> dropped{0};  // lines that the thread never had, since it last looked

struct line {
  level at;
  std::chrono::system_clock::time_point when;
  std::string text;
  bool is_mark = false;  // none to be told: who flushes wants what was left out to be told of
};

// How a line looks on standard error. For one thread.
class shape {
public:
  spdlog::memory_buf_t of(const line& l) {
    static constexpr spdlog::level::level_enum levels[] = {spdlog::level::debug, spdlog::level::info,
                                                           spdlog::level::warn, spdlog::level::err};
    const bool json = chosen_format == log_format::json;
    const auto message = json ? json_quoted(l.text) : l.text;
    spdlog::memory_buf_t out;
    (json ? json_ : text_).format({l.when, {}, {}, levels[static_cast<std::size_t>(l.at)], message}, out);
    return out;
  }

private:
  spdlog::pattern_formatter text_{"%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc, "\n"};
  spdlog::pattern_formatter json_{R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l","message":%v})",
                                  spdlog::pattern_time_type::utc, "\n"};
};

// Standard error by its descriptor: stdio would keep its lock while nobody reads, and exit() would wait for that.
class standard_error {
public:
  // Whether all of it was written. Waits for whoever reads there.
  bool write(std::string_view text) {
    if (torn_ && write_some("\n") != 1) return false;
    const auto written = write_some(text);
    torn_ = written > 0 && written < text.size();
    return written == text.size();
  }

private:
  // All of it, but for an error.
  static std::size_t write_some(std::string_view text) {
    std::size_t written = 0;
    while (written < text.size()) {
      const auto n = ::write(STDERR_FILENO, text.data() + written, text.size() - written);
      if (n > 0) {
        written += static_cast<std::size_t>(n);
      } else if (n < 0 && errno == EAGAIN) {
        pollfd room{STDERR_FILENO, POLLOUT, 0};
        ::poll(&room, 1, -1);
      } else if (n == 0 || errno != EINTR) {
        break;
      }
    }
    return written;
  }

  bool torn_ = false;  // the last line lacks its end
};

// What goes wrong at every try would fill a disk. Of warnings and errors that are alike but for their numbers so many
// are told in a while, and then how many more there were. What has letters in it, as the id of a job, is no number. For
// one thread.
class floods {
public:
  using clock = std::chrono::steady_clock;

  bool is_too_much(const line& l, clock::time_point now) {
    if (l.at < level::warn) return false;
    auto key = without_numbers(l.text);
    if (kinds_.size() >= max_kinds && !kinds_.contains(key)) key.clear();  // all others together
    auto& its = kinds_.try_emplace(std::move(key), kind{now, 0, 0, {}}).first->second;
    if (its.told < most_told) return ++its.told, false;
    its.last = l;
    ++its.left_out;
    return true;
  }
  // Of those whose while is over, or of all.
  template <class Tell>
  void tell(clock::time_point now, bool all, Tell&& tell_one) {
    std::erase_if(kinds_, [&](const auto& entry) {
      const auto& its = entry.second;
      if (!all && now - its.began < a_while) return false;
      if (its.left_out > 0)
        tell_one(line{its.last.at, its.last.when, cat(its.left_out, " more lines like this one: ", its.last.text)});
      return true;
    });
  }
  // When there is something to tell.
  std::optional<clock::time_point> next() const {
    std::optional<clock::time_point> first;
    for (const auto& [key, its] : kinds_)
      if (its.left_out > 0 && (!first || its.began + a_while < *first)) first = its.began + a_while;
    return first;
  }

private:
  static constexpr auto a_while = 10s;
  static constexpr unsigned most_told = 10;
  static constexpr std::size_t max_kinds = 1000;
  struct kind {
    clock::time_point began;
    unsigned told;
    std::uint64_t left_out;
    line last;
  };
  static std::string without_numbers(std::string_view text) {
    const auto is_of_word = [&](std::size_t at) {
      const auto c = static_cast<unsigned char>(text[at]);
      return std::isalnum(c) != 0 || c == '-' || c == '_' || c >= 0x80;
    };
    std::string key;
    for (std::size_t at = 0, end = 0; at < text.size(); at = end) {
      bool is_number = true;
      for (end = at; end < text.size() && is_of_word(end); ++end)
        is_number = is_number && std::isdigit(static_cast<unsigned char>(text[end])) != 0;
      if (end == at) key += text[end++];
      else if (!is_number) key.append(text, at, end - at);
    }
    return key;
  }

  std::map<std::string, kind, std::less<>> kinds_;
};

// The lines that wait, and the thread that gives them out.
class writer {
public:
  void add(line l) {
    const auto size = sizeof(line) + l.text.size();
    const std::lock_guard hold(mutex_);
    if (size_ + size > max_waiting) {
      ++dropped;
      return;
    }
    if (!runs_) start();
    waiting_.push_back(std::move(l));
    size_ += size;
    ++taken_;
    more_.notify_one();
  }

  bool flush(duration timeout) {
    std::unique_lock hold(mutex_);
    if (runs_) {
      waiting_.push_back({level::debug, {}, {}, true});
      ++taken_;
      more_.notify_one();
    }
    return written_.wait_for(hold, timeout, [&, all = taken_] { return done_ >= all; });
  }

  void hand_to(std::shared_ptr<const log_sink> sink) {
    const std::lock_guard hold(mutex_);
    sink_.swap(sink);  // the old one goes when the lock has gone
  }

private:
  void start();
  void run();
  bool deliver(const line& l) noexcept;
  void tell_losses() noexcept;
  void tell(const line& l) noexcept;
  bool is_too_much(const line& l, floods::clock::time_point now) noexcept;
  void tell_floods(floods::clock::time_point now, bool all) noexcept;

  std::mutex mutex_;
  std::condition_variable more_, written_;
  std::vector<line> waiting_;
  std::size_t size_ = 0;  // of what waits
  std::uint64_t taken_ = 0, done_ = 0;
  std::shared_ptr<const log_sink> sink_;
  bool runs_ = false;

  // The thread's own.
  std::uint64_t lost_ = 0;  // and not told yet
  floods floods_;
  shape shape_;
  standard_error out_;
};

writer& the_writer() {
  // Never destroyed: threads may log until the process is gone, and its own may never end. A child that was forked has
  // no such thread, and somebody may have held the lock at the fork.
  static constinit per_process<writer> one;
  return one.here();
}

// The thread that is started meanwhile has all signals blocked: no handler of the program's runs on it.
class signals_blocked {
public:
  signals_blocked() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~signals_blocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  signals_blocked(const signals_blocked&) = delete;

private:
  sigset_t before_;
};

void writer::start() {
  const signals_blocked here;
  std::thread([this] { run(); }).detach();
  runs_ = true;
  std::atexit([] { log::flush(exit_timeout); });
}

void writer::run() {
  name_this_thread("sluice-log");
  std::vector<line> lines;
  std::unique_lock hold(mutex_);
  for (;;) {
    const auto is_there = [&] { return !waiting_.empty(); };
    if (const auto next = floods_.next()) more_.wait_until(hold, *next, is_there);
    else more_.wait(hold, is_there);
    lines.swap(waiting_);
    size_ = 0;
    const auto after_these = dropped.exchange(0);
    hold.unlock();
    const auto now = floods::clock::now();
    tell_floods(now, false);
    for (const auto& l : lines) {
      if (l.is_mark) tell_floods(now, true);
      else if (!is_too_much(l, now)) tell(l);
    }
    lost_ += after_these;
    tell_losses();
    const auto done = lines.size();
    lines.clear();
    hold.lock();
    done_ += done;
    written_.notify_all();
  }
}

void writer::tell(const line& l) noexcept {
  tell_losses();
  if (!deliver(l)) ++lost_;
}

// Without memory each is told.
bool writer::is_too_much(const line& l, floods::clock::time_point now) noexcept try {
  return floods_.is_too_much(l, now);
} catch (...) {
  return false;
}

void writer::tell_floods(floods::clock::time_point now, bool all) noexcept try {
  floods_.tell(now, all, [this](const line& l) { tell(l); });
} catch (...) {
  ++lost_;
}

// Whether somebody has it. What a sink throws is no loss: it was told.
bool writer::deliver(const line& l) noexcept try {
  std::unique_lock hold(mutex_);
  const auto sink = sink_;
  hold.unlock();
  if (!sink) {
    const auto text = shape_.of(l);
    return out_.write({text.data(), text.size()});
  }
  try {
    (*sink)(l.at, l.text);
  } catch (...) {
  }
  return true;
} catch (...) {
  return false;
}

void writer::tell_losses() noexcept try {
  if (lost_ == 0) return;
  const auto* const what = lost_ == 1 ? " line of the log was lost" : " lines of the log were lost";
  if (deliver({level::warn, std::chrono::system_clock::now(), cat(lost_, what)})) lost_ = 0;
} catch (...) {  // told with the next
}

bool same_letters(std::string_view text, std::size_t at, std::string_view word) {
  if (at + word.size() > text.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i)
    if (std::tolower(static_cast<unsigned char>(text[at + i])) != word[i]) return false;
  return true;
}

// The end of a quoted text whose opening quote is at `at`; `\"` opens and closes one inside another.
std::size_t quoted_end(std::string_view text, std::size_t at) {
  const bool nested = text[at] == '\\';
  if (nested) {
    const auto close = text.find(text.substr(at, 2), at + 2);
    return close == std::string_view::npos ? text.size() : close + 2;
  }
  const char quote = text[at];
  for (++at; at < text.size() && text[at] != quote; ++at)
    if (text[at] == '\\') ++at;
  return std::min(at + 1, text.size());
}

bool opens_quote(std::string_view text, std::size_t at) {
  if (at >= text.size()) return false;
  if (text[at] == '\\') return at + 1 < text.size() && text[at + 1] == '"';
  return text[at] == '"' || text[at] == '\'';
}

// The end of a list or object that opens at `at`.
std::size_t bracket_end(std::string_view text, std::size_t at) {
  for (int depth = 0; at < text.size();) {
    if (opens_quote(text, at)) {
      at = quoted_end(text, at);
      continue;
    }
    if (text[at] == '[' || text[at] == '{') ++depth;
    if ((text[at] == ']' || text[at] == '}') && --depth == 0) return at + 1;
    ++at;
  }
  return text.size();
}

// The end of a secret that starts at `at`. One that `fills_line` is a header's, which may hold anything.
std::size_t value_end(std::string_view text, std::size_t at, bool fills_line) {
  if (opens_quote(text, at)) return quoted_end(text, at);
  if (at < text.size() && (text[at] == '[' || text[at] == '{')) return bracket_end(text, at);
  const std::string_view ends = fills_line ? "\r\n" : " \t\r\n,;&}])\"'\\";
  return std::min(text.find_first_of(ends, at), text.size());
}

void mask_url_passwords(std::string& text) {
  for (std::size_t at = 0; (at = text.find("//", at)) != std::string::npos; at += 2) {
    const auto end = std::min(text.find_first_of(" \t\r\n\"'", at), text.size());
    const auto password = password_in(std::string_view(text).substr(at, end - at));
    if (!password.empty())
      text.replace(static_cast<std::size_t>(password.data() - text.data()), password.size(), "***");
  }
}

void mask_secret_keys(std::string& text) {
  struct secret {
    std::string_view word;
    bool fills_line;
  };
  static constexpr secret secrets[] = {{"pass", false},         {"secret", false},  {"token", false},
                                       {"authorization", true}, {"api-key", false}, {"api_key", false},
                                       {"apikey", false},       {"cookie", true}};
  const auto skip = [&](std::size_t at, std::string_view these) {
    return std::min(text.find_first_not_of(these, at), text.size());
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const auto& [word, fills_line] : secrets) {
      if (!same_letters(text, at, word)) continue;
      std::size_t after = at + word.size();
      while (after < text.size() &&
             (std::isalnum(static_cast<unsigned char>(text[after])) || text[after] == '_' || text[after] == '-'))
        ++after;
      // Where a secret stands, as `secret_file` names it, is none.
      const auto key = lowered(std::string_view(text).substr(at, after - at));
      if (key.ends_with("_file") || key.ends_with("_variable")) break;
      const auto sign = skip(after, "\"' \\");
      if (sign >= text.size() || (text[sign] != ':' && text[sign] != '=')) break;
      const auto begin = skip(sign + 1, " ");
      const auto end = value_end(text, begin, fills_line);
      text.replace(begin, end - begin, "***");
      at = begin;
      break;
    }
  }
}

}  // namespace

std::string redact(std::string_view text) {
  std::string out(text);
  mask_url_passwords(out);
  mask_secret_keys(out);
  return out;
}

void write(level at, std::string_view text) noexcept try {
  if (at < least_level.load(std::memory_order_relaxed)) return;
  the_writer().add({at, std::chrono::system_clock::now(), printable(redact(text))});
} catch (...) {
  lose_line();
}

void lose_line() noexcept { ++dropped; }

bool flush(duration timeout) { return the_writer().flush(timeout); }

}  // namespace sluice::log

namespace sluice {

void set_log_level(log_level least) { log::least_level = least; }

void set_log_format(log_format format) { log::chosen_format = format; }

void set_log_sink(log_sink sink) {
  log::the_writer().hand_to(sink ? std::make_shared<const log_sink>(std::move(sink)) : nullptr);
}

}  // namespace sluice
