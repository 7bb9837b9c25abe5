// `sluice work` and `sluice check`: the composition root of a server that needs no C++ of yours.
#include <atomic>
#include <csignal>
#include <cstdio>

#include <malloc.h>
#include <unistd.h>

#include <sluice/config.hpp>
#include <sluice/dashboard.hpp>
#include <sluice/exec_key.hpp>
#include <sluice/server.hpp>

#include "actors/serving.hpp"
#include "cli/commands.hpp"
#include "cli/exec/children.hpp"
#include "cli/exec/exec_handler.hpp"
#include "cli/exec/exec_rules.hpp"
#include "cli/output.hpp"
#include "cli/words.hpp"
#include "config/load.hpp"
#include "core/log.hpp"
#include "core/queues.hpp"
#include "core/text.hpp"
#include "core/unresolved.hpp"
#include "operations/throttlers.hpp"
#include "scheduler/recurrence.hpp"
#include "storage/shared_store.hpp"
#include "wire/json.hpp"

namespace sluice::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto between_start_tries = 1s;

std::optional<config::fault> fault_of_dashboard(const dashboard_options& options) {
  const auto wrong = dashboard::fault_of(options);
  if (!wrong) return std::nullopt;
  return config::fault{wrong->key, wrong->problem};
}

// The store that is named where a configuration should be, by its URL or by its file; nothing for what is none.
std::string store_named(const std::string& config, const result<std::string>& text) {
  if (text) return text->starts_with("SQLite format 3") ? cat("sqlite:", config) : std::string();
  const auto scheme = config.substr(0, config.find(':'));
  const bool is_url = scheme.size() < config.size() && (scheme == "sqlite" || scheme == "redis" || scheme == "rediss" ||
                                                        scheme.starts_with("redis+") || scheme.starts_with("rediss+"));
  return is_url ? config : std::string();
}

std::optional<config::loaded> read(const command& c) {
  const auto text = read_file(c.config);
  if (const auto store = store_named(c.config, text); !store.empty()) {
    failed({errc::invalid_argument,
            cat(c.config, " is a store and no configuration: write {\"storage\": ", json_quoted(store),
                ", \"queues\": {\"default\": {}}} to a file and name that")});
    return std::nullopt;
  }
  if (!text) {
    failed(text.error());
    return std::nullopt;
  }
  auto got =
      config::load({*text, config::environment(), c.sets}, {storage::check_url, scheduler::check, fault_of_dashboard});
  if (got.faults.empty() && got.options.allow_exec)
    for (auto& doubt : exec::doubts_of(got.options))
      got.warnings.push_back(std::move(doubt));
  return got;
}

void tell_faults(const command& c, const config::loaded& got) {
  for (const auto& f : got.faults) {
    if (c.json) std::printf("%s\n", wire::json_fault(f.pointer, log::redact(f.problem)).c_str());
    const auto where = f.pointer.empty() ? std::string("(the file)") : printable(f.pointer);
    std::fprintf(stderr, "%s: %s: %s\n", c.config.c_str(), where.c_str(), printable(log::redact(f.problem)).c_str());
  }
  std::fprintf(stderr, "sluice: %zu fault%s in %s; nothing was started\n", got.faults.size(),
               got.faults.size() == 1 ? "" : "s", c.config.c_str());
}

void tell_warnings(const command& c, const config::loaded& got) {
  for (const auto& warning : got.warnings)
    std::fprintf(stderr, "%s: warning: %s\n", c.config.c_str(), printable(log::redact(warning)).c_str());
}

// A program that starts nothing says why, whatever it logs.
void cannot(const command& c, const char* what, const error& why) {
  if (c.log_from == log_level::off)
    std::fprintf(stderr, "sluice: cannot %s: %s\n", what, printable(log::redact(sentence_of(why))).c_str());
  else log::error("cannot ", what, ": ", to_string(why));
}

// What `sluice work` is told something by. As the first process of a container it waits for others' children, too.
signals::kept caught_signals() {
  std::vector<int> others{SIGHUP, SIGUSR1};
  if (exec::adopts_orphans()) others.push_back(SIGCHLD);
  return signals::kept(others);
}

void note_children(int signal) {
  if (signal == SIGCHLD) exec::reap_orphans();
}

// While servers of an older version work on the store it cannot be raised for us: waits until they have ended, and
// tells for whom. Answers how the start ended; none: we were told to stop meanwhile.
std::optional<result<void>> start_after_older(server& s, const std::string& url, const serving& until) {
  std::string told;
  for (;;) {
    const auto tried = until.start(s);
    if (!tried) return std::nullopt;
    const auto& started = *tried;
    if (started || started.error().code != errc::storage_older) return started;
    const auto looked = storage::raise_layout(url);
    if (looked && looked->waits_for.empty()) continue;  // they ended just now
    if (!looked && !is_transient(looked.error().code)) return started;
    if (const auto& why = started.error().message; told != why) {
      log::info("waiting: ", why);
      told = why;
    }
    if (!until.pause(between_start_tries)) return std::nullopt;
  }
}

// Where the configuration says that a secret is in a variable.
std::vector<std::string> secret_variables(const server_options& options) {
  std::vector<std::string> all;
  constexpr std::string_view key = "password_variable=";
  const auto& url = options.storage;
  for (auto at = url.find(key); at != std::string::npos; at = url.find(key, at + 1)) {
    const auto from = at + key.size();
    all.push_back(url.substr(from, url.find('&', from) - from));
  }
  if (options.dashboard)
    for (const auto& user : options.dashboard->users)
      if (!user.secret_variable.empty()) all.push_back(user.secret_variable);
  return all;
}

// Types that a server of this file may run: those of this program, and those that the file says something of, which
// a host's server runs.
std::set<std::string, std::less<>> types_of(const server_options& options) {
  std::set<std::string, std::less<>> types{"noop"};
  if (options.allow_exec) types.insert("exec");
  for (const auto& [type, its] : options.jobs)
    if (type != exec_job_type) types.insert(type);
  return types;
}

// Types that the file says something of and that `sluice work` does not run, but a server of whoever has written a
// handler of them does. Which of the two the file is for, it does not say.
std::vector<std::string> types_of_hosts(const server_options& options) {
  std::vector<std::string> types;
  for (const auto& [type, its] : options.jobs)
    if (type != "noop" && type != exec_job_type) types.push_back(type);
  return types;
}

// What a start would find out, as faults and warnings. The store is opened only when it is to be asked, and is not
// made.
void add_unresolved(const command& c, config::loaded& into) {
  for (auto& doubt : doubts_of(into.options, types_of(into.options)))
    into.warnings.push_back(std::move(doubt));
  const auto undefined = undefined_throttlers(into.options);
  if (!c.looks_into_store) {
    for (const auto& one : undefined)
      into.warnings.push_back(cat(describe(one), " here; a server starts only if its store defines it (`sluice check ",
                                  printable(c.config, 200), " --store` asks it)"));
    return;
  }
  auto opened = storage::open_shared_store(into.options.storage, nullptr, open_mode::read_only);
  if (!opened) return into.faults.push_back({"/storage", sentence_of(opened.error())});
  const storage::asker ask = [&](const storage::request& r) {
    return std::move((*opened)->call({r}, std::chrono::steady_clock::now() + 5s).at(0));
  };
  if (const auto defined = operations::require_defined(undefined, ask); !defined)
    into.faults.push_back({"/jobs", sentence_of(defined.error())});
  for (auto& differs : operations::differences(into.options.throttlers, ask))
    into.warnings.push_back(std::move(differs));
}

}  // namespace

int check(const command& c) {
  auto got = read(c);
  if (!got) return 1;
  if (got->faults.empty()) add_unresolved(c, *got);
  tell_warnings(c, *got);
  if (!got->faults.empty()) return tell_faults(c, *got), 1;
  if (c.json) return 0;
  std::printf("%s is fine: %s\n", c.config.c_str(), log::redact(got->options.storage).c_str());
  for (const auto& [name, queue] : got->options.queues) {
    const bool by_name = queue.workers == 0;
    const auto workers = by_name ? default_workers({}, 0) : queue.workers;
    std::printf("  %s: %u worker%s%s\n", name.c_str(), workers, workers == 1 ? "" : "s",
                by_name ? cat(" each, ", got->options.special_queue_workers, " if named *-queue").c_str() : "");
  }
  if (const auto types = types_of_hosts(got->options); !types.empty())
    std::printf("  types that need a server of your own: %s; `sluice work` runs only noop%s\n",
                printable(joined(types, ", "), 300).c_str(), got->options.allow_exec ? " and exec" : "");
  return 0;
}

void warn_of_few_files(const server_options& options, std::uint64_t files) {
  constexpr std::uint64_t of_a_command = 6, others = 200;
  std::uint64_t wanted = others;
  for (const auto& [name, queue] : options.queues)
    wanted += of_a_command * std::max(1u, queue.workers);
  if (files < wanted)
    log::warn("this server may open ", files, " files, and where all of its workers run commands it needs ", wanted,
              "; raise its limit (ulimit -Hn, LimitNOFILE of systemd)");
}

int work(const command& c) {
  ::signal(SIGCHLD, SIG_DFL);  // ignored, as some parents leave it, children could not be waited for
  const auto told_by = caught_signals();
  told_by.block_elsewhere();  // before any thread, so that none but this one is interrupted
  const auto got = read(c);
  if (!got) return 1;
  if (!got->faults.empty()) return tell_faults(c, *got), 1;
  ::mallopt(M_TRIM_THRESHOLD, 256 * 1024 * 1024);  // or glibc gives memory back to the kernel at every statement

  set_log_level(c.log_from);
  set_log_format(c.log_as);
  for (const auto& warning : got->warnings)
    log::warn(warning);
  std::optional<exec::guard> guard;
  handler_registry handlers;
  handlers.handle("noop", [](job_context&) {});
  const auto files = exec::raise_open_files();
  if (got->options.allow_exec) {
    warn_of_few_files(got->options, files);
    auto started = exec::guard::start();
    if (!started) return failed(started.error());
    guard.emplace(std::move(*started));
    auto handler = exec::make_handler(*guard, got->options.exec, secret_variables(got->options));
    if (!handler) return cannot(c, "run exec jobs", handler.error()), 1;
    handlers.handle(exec_job_type, std::move(*handler), {.prefetch = false});
  }
  // Before any job is claimed: a dashboard that cannot be had fails the start.
  if (const auto& asked = got->options.dashboard)
    if (const auto fine = dashboard::can_start(*asked); !fine) return cannot(c, "start the dashboard", fine.error()), 1;
  auto of_server = got->options;
  of_server.dashboard.reset();  // it is started here
  server s(std::move(of_server), std::move(handlers));
  std::atomic<bool> stopping{false};
  std::optional<dashboard> page;
  // The page answers until the server has stopped, and ends within the same time.
  const serving until{told_by, [&] { stopping = true; }, [&] { page.reset(); }, note_children};
  const auto tried = start_after_older(s, got->options.storage, until);
  if (!tried) return log::info("stopped"), 0;
  if (const auto& started = *tried; !started) return cannot(c, "start", started.error()), 1;
  log::info("working on ", got->options.storage, " as pid ", ::getpid());
  if (const auto& asked = got->options.dashboard) {
    auto listens = dashboard::start(client_of(got->options), *asked, [&stopping] { return !stopping; });
    if (!listens) {
      cannot(c, "start the dashboard", listens.error());
      s.stop();
      return 1;
    }
    page.emplace(std::move(*listens));
  }
  return until.until_told(s);
}

}  // namespace sluice::cli
