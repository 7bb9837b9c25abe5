#include "cli/command_line.hpp"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>

#include <CLI/CLI.hpp>

#include <sluice/version.hpp>

namespace sluice::cli {
namespace {

constexpr const char* description =
    "Sluice runs durable background jobs.\n\n"
    "Try it, before a line of C++ is written:\n"
    "  echo '{\"storage\": \"sqlite:jobs.db\", \"allow_exec\": true, \"queues\": {\"default\": {}}}' > sluice.json\n"
    "  sluice work sluice.json &\n"
    "  sluice enqueue default exec '{\"argv\": [\"date\"]}' --store sqlite:jobs.db\n"
    "  sluice jobs --store sqlite:jobs.db";

constexpr const char* enqueue_help =
    "Stores one job and prints its id. TYPE is what a server has a handler for: `noop`, `exec`\n"
    "({\"argv\": [...], \"timeout\": \"30s\", \"env\": {...}}; where allow_exec is on), or your own.\n"
    "The same --id and content again is the same job, so a command that was cut off can be repeated.";

constexpr const char* set_help =
    "Adds a throttler, or changes it as a whole, for all servers on the store, e.g.\n"
    "  sluice throttler set semaphore:provider-api limit=4\n"
    "  sluice throttler set fixed_window:github limit=5000 interval=1h\n"
    "  sluice throttler set sliding_window:dropbox limit=4 interval=1h buckets=3\n"
    "  sluice throttler set semaphore:provider-api limit=4 mode=release    (nothing is limited; drains it)\n"
    "The keys are those of a configuration (docs/configuration.md).";
constexpr const char* throttler_words =
    "KIND:NAME, as semaphore:provider-api; also mutex, fixed_window, sliding_window, dynamic_window, custom";

void add_page_options(CLI::App& to, command& c) {
  to.add_option("--limit", c.limit, "How many (50)")->check(CLI::Range(1u, 1'000'000u));
  to.add_option("--after", c.after, "Go on where an earlier list ended");
}

void add_throttler_commands(CLI::App& app, command& c) {
  app.add_subcommand("throttlers", "Lists what is limited: the limit, what is held or counts now, who waits");
  auto* one = app.add_subcommand("throttler", "Sets, removes or shows one throttler");
  one->require_subcommand(1);
  const auto verb = [&](const char* name, const char* help) {
    auto* sub = one->add_subcommand(name, help);
    sub->add_option("THROTTLER", c.throttler, throttler_words)->required();
    return sub;
  };
  verb("set", set_help)->add_option("WORDS", c.words, "Its definition, as limit=4 interval=1h");
  verb("remove", "Removes a throttler that is neither held nor waited for");
  verb("show", "Shows one throttler with the first of its holders and waiters");
  add_page_options(*verb("holders", "Lists who has a permit of a mutex or semaphore, the oldest first"), c);
  add_page_options(*verb("waiters", "Lists who waits, in the order in which they go"), c);
  app.add_subcommand("explain", "Tells in one sentence why a job does not run, and until when")
      ->add_option("ID", c.id)
      ->required();
}

constexpr const char* set_recurring_help =
    "Adds a schedule, or changes it as a whole; any server on the store enqueues its jobs, e.g.\n"
    "  sluice recurring set nightly job=report cron='0 3 * * *' zone=Europe/London\n"
    "  sluice recurring set pulse job=exec args='{\"argv\": [\"date\"]}' every=90s overlap=skip\n"
    "The keys are those of a configuration (docs/configuration.md, docs/recurring.md).";

void add_recurring_commands(CLI::App& app, command& c) {
  auto* one = app.add_subcommand("recurring", "Lists and changes jobs that are enqueued again and again");
  one->require_subcommand(1);
  one->add_subcommand("list", "Lists all with their next and last run");
  const auto verb = [&](const char* name, const char* help) {
    auto* sub = one->add_subcommand(name, help);
    sub->add_option("NAME", c.schedule, "The schedule's name")->required();
    return sub;
  };
  verb("set", set_recurring_help)->add_option("WORDS", c.words, "Its definition, as job=report every=90s");
  verb("remove", "Removes a schedule; jobs that it enqueued stay");
  verb("trigger", "Enqueues one job of it now and prints its id");
  verb("pause", "Pauses a schedule; what falls into the pause is not caught up");
  verb("resume", "Resumes a paused schedule");
}

constexpr const char* cron_help =
    "Shows when a cron expression runs, without a store, e.g.\n"
    "  sluice cron '*/10 8-18 * * MON-FRI' --zone Europe/London --count 5\n"
    "  sluice cron 'H H(0-5) * * *' --name nightly-report\n"
    "The language is that of docs/cron.md.";

void add_cron_command(CLI::App& app, command& c) {
  auto* cron = app.add_subcommand("cron", cron_help);
  cron->add_option("EXPR", c.expression, "5 fields, 6 with the second first, or a macro as @daily; in quotes")
      ->required();
  cron->add_option("--zone", c.zone, "An IANA time zone, as Europe/London (UTC)");
  cron->add_option("--name", c.schedule, "The schedule's name, of which H is the hash");
  cron->add_option("--from", c.from, "After this instant, as 2026-03-08T00:00:00Z (now)");
  cron->add_option("--count", c.count, "How many (10)")->check(CLI::Range(1u, 1'000'000u));
}

constexpr const char* jobs_help =
    "Lists jobs state by state: the waiting in their order, the final newest first. What is asked for must all hold:\n"
    "  sluice jobs --state failed --type mail --error timeout --since 2h\n"
    "  sluice jobs --queue orders --match customer.id=42\n"
    "What only the jobs themselves say is looked for in each of them, so name a state and a queue where you can.";
constexpr const char* requeue_help =
    "Brings final or scheduled jobs to their queue, where a final one starts afresh; fine when one is there, e.g.\n"
    "  sluice requeue 6f1c 7a20\n"
    "  sluice requeue --all --state failed --error timeout";
constexpr const char* delete_help =
    "Ends jobs as deleted; a running one is asked to stop, e.g.\n"
    "  sluice delete --all --state enqueued --type mail";

constexpr const char* totals_help =
    "Counts how many jobs came and ended: since ever, and by hour for 90 days or by minute for 72 hours, e.g.\n"
    "  sluice totals\n"
    "  sluice totals orders --by minute --since 3h";

constexpr const char* log_help =
    "Lists who requeued, deleted, paused, resumed or set what, and through what, the newest first: by this command\n"
    "and by every client that says who it is. The store keeps 1,000; what one does again within a minute is added.";

void add_query_options(CLI::App& to, command& c) {
  to.add_option("--state", c.state, "enqueued scheduled throttled processing succeeded failed deleted");
  to.add_option("--queue", c.queue, "Only this queue");
  to.add_option("--type", c.type, "Only this job type");
  to.add_option("--id-begins", c.id_begins, "Only ids that begin so");
  to.add_option("--server", c.server, "Only jobs that this server runs, or ran last");
  to.add_option("--header", c.headers, "Only with this header, as NAME=VALUE")->allow_extra_args(false);
  to.add_option("--since", c.since,
                "Only what ended, is due or was claimed, else was created, within this time, as 2h, or at or after "
                "this instant, as 2026-03-08T00:00:00Z");
  to.add_option("--until", c.until, "Only what did so before that");
  to.add_option("--match", c.match, "Only with this value in its arguments, as customer.id=42");
  to.add_option("--error", c.error, "Only with these words in its reason or an error of it, whatever their case");
}

void add_jobs_commands(CLI::App& app, command& c) {
  auto* jobs = app.add_subcommand("jobs", jobs_help);
  add_query_options(*jobs, c);
  add_page_options(*jobs, c);

  for (const auto& [name, help] : {std::pair("requeue", requeue_help), {"delete", delete_help}}) {
    auto* change = app.add_subcommand(name, help);
    change->add_option("ID", c.ids, "The jobs");
    change->add_flag("--all", c.all, "In place of ids: all for which the following holds; a state must be named");
    change->add_flag("--yes", c.yes, "Without asking first");
    add_query_options(*change, c);
  }
}

void add_log_options(CLI::App& work, command& c) {
  static const std::map<std::string, log_level> levels{{"debug", log_level::debug},
                                                       {"info", log_level::info},
                                                       {"warning", log_level::warn},
                                                       {"error", log_level::error},
                                                       {"off", log_level::off}};
  static const std::map<std::string, log_format> formats{{"text", log_format::text}, {"json", log_format::json}};
  work.add_option_function<std::string>(
          "--log-level", [&c](const std::string& word) { c.log_from = levels.at(word); },
          "The least that is logged (info)")
      ->check(CLI::IsMember(levels));
  work.add_option_function<std::string>(
          "--log-format", [&c](const std::string& word) { c.log_as = formats.at(word); },
          "How a line of the log looks (text); json: one object a line")
      ->check(CLI::IsMember(formats));
}

// The program, the command that was named, and that one's own, if it has some.
std::vector<const CLI::App*> named(const CLI::App& app) {
  std::vector<const CLI::App*> all{&app};
  while (!all.back()->get_subcommands().empty())
    all.push_back(all.back()->get_subcommands().front());
  return all;
}

}  // namespace

open_mode mode_of(const command& c) {
  static const std::set<std::string> makes{"work", "enqueue", "recurring set", "throttler set"};
  static const std::set<std::string> looks{"jobs",
                                           "show",
                                           "queues",
                                           "servers",
                                           "audit",
                                           "explain",
                                           "throttlers",
                                           "recurring list",
                                           "throttler show",
                                           "throttler holders",
                                           "throttler waiters",
                                           "locks",
                                           "log",
                                           "quarantine",
                                           "totals"};
  if (makes.contains(c.name)) return open_mode::may_make;
  return looks.contains(c.name) ? open_mode::only_look : open_mode::must_exist;
}

parsed parse(int argc, char** argv) {
  command c;
  CLI::App app{description, "sluice"};
  app.set_version_flag("--version", "sluice " SLUICE_VERSION);
  app.require_subcommand(1);
  app.fallthrough();  // these may stand before or after the command and its words
  app.add_option("--store", c.store,
                 "The store: sqlite:FILE or redis://host:port/db (or the environment's SLUICE_STORAGE)");
  app.add_flag("--json", c.json, "One JSON object a line");

  const auto store_command = [&](const char* name, const char* help) { return app.add_subcommand(name, help); };
  const auto config_command = [&](const char* name, const char* help) {
    auto* sub = app.add_subcommand(name, help);
    sub->add_option("CONFIG", c.config, "The configuration file (docs/configuration.md)")->required();
    sub->add_option("--set", c.sets, "Override a key: /queues/default/workers=2")->allow_extra_args(false);
    return sub;
  };

  config_command("check", "Checks a configuration and tells every fault; starts nothing");
  auto* work = config_command("work",
                              "Runs the jobs of the configured queues until SIGTERM or SIGINT; a second one leaves "
                              "at once. SIGUSR1: claim nothing new");
  add_log_options(*work, c);

  auto* enqueue = store_command("enqueue", enqueue_help);
  enqueue->add_option("QUEUE", c.queue, "The queue")->required();
  enqueue->add_option("TYPE", c.type, "The job type")->required();
  enqueue->add_option("JSON", c.args, "The arguments, as JSON; - reads them from standard input, @FILE from a file")
      ->required();
  auto* in = enqueue->add_option("--in", c.in, "Ready only after this time, e.g. 5s");
  enqueue->add_option("--at", c.at, "Ready only from this instant, as 2026-03-08T00:00:00Z")->excludes(in);
  enqueue->add_option("--timeout", c.timeout, "How long one run may take, e.g. 30s");
  enqueue->add_option("--retries", c.retries, "How often it is tried again when it fails (its queue says)");
  enqueue->add_option("--header", c.headers, "A header for its handler, as NAME=VALUE")->allow_extra_args(false);
  enqueue->add_option("--id", c.id, "The job's id (default: a new one)");
  enqueue->add_flag("--bulk", c.bulk,
                    "Each line that is read is the arguments of a job of its own; with --id its number is added");

  add_jobs_commands(app, c);

  store_command("show", "Shows one job with its history")->add_option("ID", c.id)->required();
  store_command("queues", "Counts the jobs of each queue by state");
  for (auto* paged : {store_command("locks", "Lists the locks that are held, those first whose leases end first"),
                      store_command("quarantine", "Lists jobs that were put aside since they could not be read"),
                      store_command("log", log_help)})
    add_page_options(*paged, c);
  app.get_subcommand("quarantine")->add_option("--queue", c.queue, "Only this queue");
  auto* totals = store_command("totals", totals_help);
  totals->add_option("QUEUE", c.queue, "Only this queue (all together)");
  totals->add_option("--by", c.by, "hour or minute (hour)")->check(CLI::IsMember({"hour", "minute"}));
  totals->add_option("--since", c.since, "From this long ago, as 3h, or this instant (a day ago; by minute an hour)");
  totals->add_option("--until", c.until, "Until then");
  store_command("servers", "Lists the servers that work on the store");
  store_command("pause", "Pauses a queue: it takes jobs and starts none")->add_option("QUEUE", c.queue)->required();
  store_command("resume", "Resumes a paused queue")->add_option("QUEUE", c.queue)->required();

  add_throttler_commands(app, c);
  add_recurring_commands(app, c);
  add_cron_command(app, c);

  store_command("audit", "Looks at all that is stored and tells what should not be; exit 1 on a finding");

  store_command("upgrade",
                "Raises a store that an older version made to this one's layout (docs/upgrading.md), once no server "
                "works on it; fine when it has that already");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return {std::nullopt, app.exit(e) == 0 ? 0 : 2};
  }
  const auto commands = named(app);
  for (std::size_t i = 1; i < commands.size(); ++i)
    c.name += (i == 1 ? "" : " ") + commands[i]->get_name();
  // An empty word is a variable that was not set, and would silently mean something else.
  for (const auto* where : commands) {
    for (const auto* option : where->get_options()) {
      if (option->count() == 0 || option->results() != std::vector<std::string>{""}) continue;
      std::fprintf(stderr, "sluice %s: %s must not be empty\n", c.name.c_str(), option->get_name().c_str());
      return {std::nullopt, 2};
    }
  }
  if (!c.config.empty() && !c.store.empty()) {
    std::fprintf(stderr, "sluice %s: the store is named in the configuration; override it with --set /storage=URL\n",
                 c.name.c_str());
    return {std::nullopt, 2};
  }
  if (const char* from_environment = std::getenv("SLUICE_STORAGE"); from_environment && c.store.empty())
    c.store = from_environment;
  if (c.store.starts_with("sqlite::memory:") && c.name != "cron") {
    std::fprintf(stderr, "sluice %s: a store in memory is of the process that made it; name a file\n", c.name.c_str());
    return {std::nullopt, 2};
  }
  if (c.config.empty() && c.store.empty() && c.name != "cron") {
    std::fprintf(stderr, "sluice %s: --store URL is missing, e.g. --store sqlite:jobs.db\n", c.name.c_str());
    return {std::nullopt, 2};
  }
  return {std::move(c), 0};
}

}  // namespace sluice::cli
