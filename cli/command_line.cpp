#include "cli/command_line.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>

#include <CLI/CLI.hpp>

#include <sluice/job.hpp>
#include <sluice/version.hpp>

#include "cli/words.hpp"
#include "core/enqueue_words.hpp"
#include "core/log.hpp"
#include "core/pipeline.hpp"
#include "core/ranges.hpp"
#include "core/text.hpp"
#include "core/throttlers.hpp"

namespace sluice::cli {
namespace {

constexpr const char* description =
    "Sluice runs durable background jobs.\n\n"
    "Try it, before a line of C++ is written:\n"
    "  echo '{\"storage\": \"sqlite:jobs.db\", \"allow_exec\": true, \"queues\": {\"default\": {}}}' > sluice.json\n"
    "  sluice work sluice.json &\n"
    "  sluice enqueue default exec '{\"argv\": [\"date\"]}' --store sqlite:jobs.db\n"
    "  sluice jobs --store sqlite:jobs.db";

// How a type's name shows fixed words: help prints them, and completion and manual read them.
std::string in_braces(const std::vector<std::string>& words) { return "{" + joined(words, ",") + "}"; }

// A command among others is one line: its own help says more.
class short_lists : public CLI::Formatter {
public:
  std::string make_subcommand(const CLI::App* command) const override {
    std::ostringstream out;
    CLI::detail::format_help(out, command->get_display_name(true), summary(command->get_description()), column_width_);
    return out.str();
  }
};

using other_names = std::map<std::string, std::string>;  // what other programs call it, and what it is here

// As `did_you_mean`, but first by what other programs call it.
std::string meant_by(const std::string& word, const other_names& elsewhere, const std::vector<std::string>& words) {
  const auto found = elsewhere.find(word);
  return found != elsewhere.end() ? cat("; did you mean '", found->second, "'?") : did_you_mean(word, words);
}

// Checks that a value is one of some fixed words.
CLI::Validator one_of(std::vector<std::string> words, other_names elsewhere = {}) {
  const auto shown = in_braces(words);
  return {[words = std::move(words), elsewhere = std::move(elsewhere)](std::string& word) {
            if (std::find(words.begin(), words.end(), word) != words.end()) return std::string();
            return cat("must be one of ", joined(words, ", "), "; not '", word, "'", meant_by(word, elsewhere, words));
          },
          shown};
}

// Checks a name that is looked for. An empty one is told of when all is parsed.
CLI::Validator a_name() {
  return {[](std::string& name) {
            return name.empty() || valid_name(name) ? std::string() : cat("'", name, "' is no name: it ", name_rule);
          },
          ""};
}

template <class Value>
std::vector<std::string> names_of(const std::map<std::string, Value>& by_name) {
  std::vector<std::string> names;
  names.reserve(by_name.size());
  for (const auto& [name, value] : by_name)
    names.push_back(name);
  return names;
}

std::vector<std::string> state_names() {
  std::vector<std::string> names;
  for (auto state = static_cast<std::uint8_t>(job_state::enqueued); true; ++state) {
    const auto name = name_of(static_cast<job_state>(state));
    if (name.empty()) return names;
    names.emplace_back(name);
  }
}

std::string throttler_prefixes() {
  auto kinds = throttler_kinds();
  for (auto& kind : kinds)
    kind += ':';
  return in_braces(kinds);
}

constexpr const char* enqueue_help =
    "Stores one job and prints its id, e.g.\n"
    "  sluice enqueue default exec '{\"argv\": [\"date\"]}' --in 5m\n"
    "TYPE is what a server has a handler for: `noop`, `exec` (where the configuration has allow_exec;\n"
    "{\"argv\": [...], \"timeout\": \"30s\", \"env\": {...}}), or your own.\n"
    "The same --id and content again is the same job, so a command that was cut off can be repeated.\n"
    "Jobs that run after each other are stored all or none by `sluice enqueue-all`.";

constexpr const char* enqueue_all_help =
    "Stores all jobs of a file in one step, or none, and prints their ids.\n"
    "Each line is a job, in the words of the API (docs/dashboard.md), as\n"
    "  {\"type\": \"report\", \"id\": \"report\", \"args\": {\"year\": 2026}, \"after\": [\"fetch\"]}\n"
    "A job may run after one that stands before it. At most 1,000 jobs with 2,000 parents and 4 MiB.";

constexpr const char* set_help =
    "Adds a limit, or changes what is said of one, for all servers on the store, e.g.\n"
    "  sluice throttler set semaphore:provider-api limit=4\n"
    "  sluice throttler set fixed_window:github limit=5000 interval=1h\n"
    "  sluice throttler set sliding_window:dropbox limit=4 interval=1h buckets=3\n"
    "  sluice throttler set semaphore:provider-api mode=release    (limits nothing more)\n"
    "The keys are those of a configuration (docs/configuration.md). What is said of it and not here stays, and\n"
    "KEY=null takes a key out.";

void add_page_options(CLI::App& to, command& c) {
  to.add_option("--limit", c.limit, "How many (50)")->check(CLI::Range(1u, 1'000'000u));
  to.add_option("--after", c.after, "Go on where an earlier list ended");
}

void add_throttler_commands(CLI::App& app, command& c) {
  app.add_subcommand("throttlers", "Lists what is limited: the limit, how much of it is taken, how many wait");
  auto* one = app.add_subcommand("throttler", "Sets, removes or shows one limit on jobs (docs/throttling.md)");
  one->require_subcommand(1);
  const auto verb = [&](const char* name, const char* help) {
    auto* sub = one->add_subcommand(name, help);
    sub->add_option("THROTTLER", c.throttler, "KIND:NAME, as semaphore:provider-api")
        ->required()
        ->type_name(throttler_prefixes());
    return sub;
  };
  verb("set", set_help)->add_option("DEFINITION", c.words, "Its keys and values, as limit=4 interval=1h");
  verb("remove", "Removes one that no job holds or waits for");
  verb("show", "Shows one, with the first jobs that hold it and that wait for it");
  add_page_options(*verb("holders", "Lists the jobs that hold a mutex or semaphore, the oldest first"), c);
  add_page_options(*verb("waiters", "Lists the jobs that wait for it, in the order in which they will run"), c);
  app.add_subcommand("explain", "Tells in one sentence why a job does not run, and until when")
      ->add_option("ID", c.id, "The job's id")
      ->required();
}

void add_key_option(CLI::App& to, command& c) {
  to.add_option("--exec-key", c.exec_key,
                "Signs jobs of type exec with the key in this file, for servers that run no others (or the "
                "environment's SLUICE_EXEC__KEY_FILE)")
      ->type_name(type_of_files);
}

constexpr const char* set_recurring_help =
    "Adds a schedule, or changes it as a whole; any server on the store enqueues its jobs, e.g.\n"
    "  sluice recurring set nightly job=report cron='0 3 * * *' zone=Europe/London\n"
    "  sluice recurring set pulse job=exec args='{\"argv\": [\"date\"]}' every=90s overlap=skip\n"
    "The keys are those of a configuration (docs/configuration.md, docs/recurring.md).";

void add_recurring_commands(CLI::App& app, command& c) {
  auto* one = app.add_subcommand("recurring", "Lists and changes schedules: jobs that are enqueued again and again");
  one->alias("schedule");
  one->require_subcommand(1);
  auto* list =
      one->add_subcommand("list", "Lists schedules with their next and last run; all that is asked for must hold");
  list->add_option("--name", c.schedule, "Only those in whose names this occurs, whatever its case");
  list->add_option("--queue", c.queue, "Only those whose definition names this queue")->check(a_name());
  list->add_option("--type", c.type, "Only those whose jobs are of this type")->check(a_name());
  list->add_flag("--paused", c.paused, "Only paused ones");
  list->add_option("--sort", c.sort, "By their names, or by their next runs (name)")->check(one_of({"name", "next"}));
  add_page_options(*list, c);
  const auto verb = [&](const char* name, const char* help) {
    auto* sub = one->add_subcommand(name, help);
    sub->add_option("NAME", c.schedule, "The schedule's name")->required();
    return sub;
  };
  verb("show", "Shows all of one schedule, and its next runs; of a paused one as if it were resumed now")
      ->add_option("--count", c.count, "How many runs (5)")
      ->check(CLI::Range(1u, 1'000u));
  auto* set = verb("set", set_recurring_help);
  set->add_option("DEFINITION", c.words, "Its keys and values, as job=report every=90s");
  add_key_option(*set, c);
  verb("remove", "Removes a schedule; jobs that it enqueued stay");
  auto* trigger = verb("trigger", "Enqueues one job of it now and prints its id");
  trigger->add_option("--id", c.id, "The job's id (a new one): again with the same is the same job");
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
  cron->add_option("EXPR", c.expression, "5 fields, 6 with the second first, or a word as @daily; in quotes")
      ->required();
  cron->add_option("--zone", c.zone, "An IANA time zone, as Europe/London (UTC)");
  cron->add_option("--name", c.schedule, "The schedule's name, which decides what H stands for");
  cron->add_option("--from", c.from, "After this instant, as 2026-03-08T07:00Z (now)");
  cron->add_option("--count", c.count, "How many (10)")->check(CLI::Range(1u, 1'000'000u));
}

constexpr const char* jobs_help =
    "Lists jobs, state by state.\n"
    "Those that wait stand in their order, those that ended with the newest first. All that is asked for must hold:\n"
    "  sluice jobs --state failed --type mail --error timeout --since 2h\n"
    "  sluice jobs --queue orders --match customer.id=42\n"
    "Most options look into each job of a state and queue, so name these where you can.";
constexpr const char* errors_help =
    "Counts why jobs failed: by type and error, the most frequent first.\n"
    "An error is the first line of what the last run said; errors that differ in numbers alone are one:\n"
    "  sluice errors --queue orders --since 2h";
constexpr const char* requeue_help =
    "Puts jobs that have ended, or are due later, into their queue now.\n"
    "One that has ended starts afresh; one that is in its queue already stays there, e.g.\n"
    "  sluice requeue 6f1c 7a20\n"
    "  sluice requeue --all --state failed --error timeout";
constexpr const char* delete_help =
    "Ends jobs as deleted; a running one is asked to stop, e.g.\n"
    "  sluice delete --all --state enqueued --type mail";

constexpr const char* cancel_help =
    "Deletes jobs that do not run, and asks running ones to stop.\n"
    "These end by what their handler says, as succeeded or else as deleted, and keep what they hold until then, e.g.\n"
    "  sluice cancel 6f1c\n"
    "  sluice cancel --all --state processing --type report";

constexpr const char* totals_help =
    "Counts how many jobs came, and how they ended.\n"
    "Since the store was made, and by hour for 90 days or by minute for 72 hours, e.g.\n"
    "  sluice totals\n"
    "  sluice totals orders --by minute --since 3h";

constexpr const char* log_help =
    "Lists what people changed, the newest first: who, through what, and when.\n"
    "Requeued, deleted, cancelled, paused, resumed, set: by this command and by every client that says who it is. The\n"
    "store keeps 1,000; what one does again within a minute is added.";
constexpr const char* completion_help =
    "Prints a script that completes the words of sluice in a shell, e.g.\n"
    "  source <(sluice completion bash)";

void add_kind_options(CLI::App& to, command& c) {
  to.add_option("--queue", c.queue, "Only this queue")->check(a_name());
  to.add_option("--type", c.type, "Only this job type")->check(a_name());
}

void add_query_options(CLI::App& to, command& c) {
  static const other_names elsewhere{{"dead", "failed"},
                                     {"done", "succeeded"},
                                     {"pending", "enqueued"},
                                     {"retry", "scheduled"},
                                     {"running", "processing"}};
  to.add_option("--state", c.state, "Only jobs in this state")->check(one_of(state_names(), elsewhere));
  add_kind_options(to, c);
  to.add_option("--id-begins", c.id_begins, "Only ids that begin so");
  to.add_option("--server", c.server, "Only jobs that this server runs, or ran last");
  to.add_option("--header", c.headers, "Only with this header, as NAME=VALUE")->allow_extra_args(false);
  to.add_option("--since", c.since,
                "Only what ended, is due or began to run, else was created, within this time, as 2h, or since this "
                "instant, as 2026-03-08T07:00Z");
  to.add_option("--until", c.until, "Only what did so before that");
  to.add_option("--match", c.match, "Only with this value in its arguments, as customer.id=42");
  to.add_option("--error", c.error, "Only with these words in its reason or an error of it, whatever their case");
}

void add_jobs_commands(CLI::App& app, command& c) {
  auto* jobs = app.add_subcommand("jobs", jobs_help);
  add_query_options(*jobs, c);
  add_page_options(*jobs, c);
  jobs->add_flag("--args", c.shows_args, "With how the arguments of each begin");

  auto* errors = app.add_subcommand("errors", errors_help);
  add_kind_options(*errors, c);
  errors->add_option("--since", c.since, "Only what failed within this time, as 2h, or since this instant");
  errors->add_option("--until", c.until, "Only what failed before that");

  for (const auto& [name, help] :
       {std::pair("requeue", requeue_help), {"delete", delete_help}, {"cancel", cancel_help}}) {
    auto* change = app.add_subcommand(name, help);
    change->add_option("ID", c.ids, "The jobs");
    change->add_flag("--all", c.all, "In place of ids: all for which the following holds; a state must be named");
    change->add_flag("--yes", c.yes, "Without asking first");
    add_query_options(*change, c);
  }
}

// What a new job has to do with others, and with time.
void add_flow_options(CLI::App& enqueue, command& c) {
  enqueue.add_option("--after", c.parents, "Runs when these jobs have ended: ID,ID")->delimiter(',');
  enqueue.add_option("--after-group", c.after_groups, "Runs when these groups have ended, too")->delimiter(',');
  enqueue
      .add_option("--on", c.on,
                  "How they have to end (succeeded); several: failed,deleted; finished: any; first-failure: as soon as "
                  "a member of a group has failed")
      ->delimiter(',')
      ->check(one_of(texts_of(enqueue_words::on)));
  enqueue.add_option("--need", c.said.after.need, "So many of them are enough (all)")
      ->check(CLI::Range(1u, static_cast<unsigned>(max_parents)));
  enqueue.add_option("--unless", c.unless, "What happens when too many end otherwise (delete)")
      ->check(one_of(texts_of(enqueue_words::unless)));
  enqueue.add_option("--if-missing", c.missing, "What happens when one is not in the store (refuse)")
      ->check(one_of(texts_of(enqueue_words::if_missing)));
  enqueue.add_option("--group", c.said.group.value, "The group that it is a member of, made by `sluice group create`");
  auto* by = enqueue.add_option("--unique-by", c.unique_by,
                                "Its unique key: a template over the arguments, as '{customer_id}'; '*': all of them");
  enqueue.add_option("--until", c.unique_until, "Until when it has its key (end): end, start, or a time, as 10m")
      ->needs(by);
  enqueue.add_option("--then", c.when_taken, "What is done when another has its key (skip)")
      ->check(one_of(texts_of(enqueue_words::then)))
      ->needs(by);
  enqueue.add_option("--at-most", c.at_most, "With --then extend: due no later than this time after its own enqueue")
      ->needs(by);
  enqueue.add_flag("--per-queue", c.unique_per_queue, "Its key is of its queue alone")->needs(by);
  enqueue.add_option("--start-within", c.start_within,
                     "Deleted unless it starts within this time of being due, as 10s");
  enqueue.add_option("--finish-within", c.finish_within, "Failed unless it is over within this time, as 1m");
}

void add_group_commands(CLI::App& app, command& c) {
  add_page_options(*app.add_subcommand("groups", "Lists groups of jobs, by name"), c);
  auto* one = app.add_subcommand("group", "Makes, closes, shows or cancels a group of jobs (docs/groups.md)");
  one->require_subcommand(1);
  const auto verb = [&](const char* name, const char* help) {
    auto* sub = one->add_subcommand(name, help);
    sub->add_option("NAME", c.group, "The group")->required();
    return sub;
  };
  auto* create = verb("create", "Makes a group; jobs come into it by `sluice enqueue --group`");
  create->add_option("--in", c.group_in, "The group that it is a member of");
  create->add_option("--seal-within", c.seal_within, "It is cancelled unless it is sealed within this time (24h)");
  verb("seal", "Closes it: no more jobs may come but by its own members, and it ends with the last of them");
  verb("show", "Shows how far a group is");
  verb("cancel", "Cancels it: no job of it starts any more, and those that run are asked to stop");
  verb("requeue-failed", "Requeues all members that have failed");
}

void add_quarantine_commands(CLI::App& app, command& c) {
  auto* aside = app.add_subcommand("quarantine",
                                   "Lists jobs that were put aside since they could not be read; shows, "
                                   "enqueues or removes them");
  const auto add_list_options = [&c](CLI::App& list) {
    add_page_options(list, c);
    list.add_option("--queue", c.queue, "Only this queue")->check(a_name());
  };
  add_list_options(*aside);
  add_list_options(*aside->add_subcommand("list", "Lists them, the newest first; as without a command"));
  aside->add_subcommand("show", "Shows what is kept of one, and what of it cannot be read")
      ->add_option("ID", c.id)
      ->required();
  for (const auto& [name, help] :
       {std::pair("requeue", "Enqueues those whose record can be read by now, as after an upgrade: they start at once"),
        {"drop", "Removes what is kept of them, for good"}}) {
    auto* change = aside->add_subcommand(name, help);
    change->add_option("ID", c.ids, "The jobs");
    auto* all = change->add_flag("--all", c.all, "In place of ids: all that are there now");
    change->add_flag("--yes", c.yes, "Without asking first");
    change->add_option("--queue", c.queue, "With --all: only of this queue")->check(a_name())->needs(all);
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
      ->check(one_of(names_of(levels)));
  work.add_option_function<std::string>(
          "--log-format", [&c](const std::string& word) { c.log_as = formats.at(word); },
          "How a line of the log looks (text); json: one object a line")
      ->check(one_of(names_of(formats)));
}

constexpr const char* dashboard_help =
    "Serves pages, a JSON API, metrics and health of a store over HTTP (docs/dashboard.md):\n"
    "  sluice dashboard --store redis://127.0.0.1:6379/0\n"
    "It listens on this machine alone and changes nothing. A configuration has more, as users and other addresses:\n"
    "with these `sluice work` serves them as well.";

constexpr const char* top_help =
    "Shows what is wrong, and what each queue, limit and type of job does, each second anew.\n"
    "Where the output is no terminal: once and plain, from two looks a second apart";

void add_dashboard_command(CLI::App& app, command& c) {
  app.add_subcommand("top", top_help)->add_flag("--once", c.once, "Once, on a terminal too");
  auto* dashboard = app.add_subcommand("dashboard", dashboard_help);
  dashboard->add_option("--listen", c.listen, "ADDRESS:PORT of this machine; port 0 takes a free one (localhost:8080)");
  dashboard->add_flag("--allow-changes", c.allow_changes, "Whoever reaches it may change jobs and definitions, too");
  add_log_options(*dashboard, c);
}

// The program, the command that was named, and that one's own, if it has some.
std::vector<const CLI::App*> named(const CLI::App& app) {
  std::vector<const CLI::App*> all{&app};
  while (!all.back()->get_subcommands().empty())
    all.push_back(all.back()->get_subcommands().front());
  return all;
}

std::string full_name(const std::vector<const CLI::App*>& commands) {
  std::string name;
  for (std::size_t i = 1; i < commands.size(); ++i)
    name += (i == 1 ? "" : " ") + commands[i]->get_name();
  return name;
}

// Of some command. With `below` those of its own, too, as "throttler set".
std::vector<std::string> command_names(const CLI::App& app, bool below = false) {
  std::vector<std::string> names;
  for (const auto* one : app.get_subcommands({})) {
    names.push_back(one->get_name());
    names.insert(names.end(), one->get_aliases().begin(), one->get_aliases().end());
    if (below)
      for (const auto& verb : command_names(*one))
        names.push_back(cat(one->get_name(), ' ', verb));
  }
  return names;
}

// "--NAME" of all that may be said.
std::vector<std::string> option_names(const std::vector<const CLI::App*>& commands) {
  std::vector<std::string> names;
  for (const auto* where : commands)
    for (const auto* option : where->get_options())
      for (const auto& name : option->get_lnames())
        names.push_back("--" + name);
  return names;
}

// Also by what other programs call it that is a command here.
std::string no_command(const std::string& word, const CLI::App& among) {
  static const other_names elsewhere{
      {"add", "enqueue"},   {"create", "enqueue"}, {"get", "show"},     {"job", "show"},       {"limits", "throttlers"},
      {"list", "jobs"},     {"ls", "jobs"},        {"purge", "delete"}, {"push", "enqueue"},   {"remove", "delete"},
      {"retry", "requeue"}, {"rm", "delete"},      {"run", "work"},     {"serve", "work"},     {"server", "work"},
      {"start", "work"},    {"stats", "totals"},   {"status", "top"},   {"submit", "enqueue"}, {"validate", "check"},
      {"worker", "work"},   {"workers", "servers"}};
  return cat("there is no command '", word, "'",
             meant_by(word, among.get_parent() ? other_names() : elsewhere, command_names(among)));
}

// The word that stands where the command does, when it is none and a later one is: "recuring" of "recuring show a".
std::optional<std::string> mistaken_command(const CLI::App& app, const std::vector<std::string>& typed) {
  const auto commands = named(app);
  const auto left = app.remaining(true);
  if (commands.size() == 1 || left.empty() || left.front().starts_with('-')) return std::nullopt;
  const auto first = std::find_if(typed.begin(), typed.end(), [&](const auto& word) {
    return word == left.front() || commands[1]->check_name(word);
  });
  return first != typed.end() && *first == left.front() ? std::optional(*first) : std::nullopt;
}

// Why the words were refused: because of the first that nothing could be made of, or as CLI11 says it.
std::string complaint(const CLI::App& app, const CLI::ParseError& why) {
  const auto commands = named(app);
  const auto& last = *commands.back();
  const bool needs_command = last.get_require_subcommand_min() > 0;
  auto left = app.remaining(true);
  left.erase(std::remove(left.begin(), left.end(), "--"), left.end());
  const auto is_option = [](const std::string& word) { return word.size() > 1 && word.front() == '-'; };
  if (left.empty()) {
    return needs_command ? cat("a command is missing: ", joined(command_names(last), ", ")) : std::string(why.what());
  }
  const auto first = std::find_if(left.begin(), left.end(), is_option);
  const auto& word = needs_command || first == left.end() ? left.front() : *first;
  if (is_option(word)) {
    const auto option = word.substr(0, word.find('='));
    return cat("there is no option '", option, "'",
               option.size() > 3 ? did_you_mean(option, option_names(commands)) : std::string());
  }
  if (needs_command) return no_command(word, last);
  static const std::set<std::string> removing{"delete", "purge", "remove", "rm"};
  if (full_name(commands) == "quarantine" && removing.contains(word))  // else it would be told of `requeue`
    return cat("there is no command '", word, "'; did you mean 'quarantine drop'?");
  // As "throttlers set", where "throttler set" is meant.
  auto pairs = command_names(app, true);
  pairs.erase(
      std::remove_if(pairs.begin(), pairs.end(), [](const auto& p) { return p.find(' ') == std::string::npos; }),
      pairs.end());
  return cat("'", word, "' is not expected here", did_you_mean(cat(full_name(commands), ' ', word), pairs));
}

// `check CONFIG --store URL`, by who takes its flag for the option of the other commands.
bool gives_check_a_store(const CLI::App& app, const std::vector<std::string>& typed) {
  if (named(app).back()->get_name() != "check") return false;
  return std::any_of(typed.begin(), typed.end(), [](const std::string& word) {
    return word.starts_with("--store=") || word.starts_with("sqlite:") || word.starts_with("redis");
  });
}

// On standard error, escaped; the exit code is that of wrong words.
parsed refused(const std::string& name, const std::string& why) {
  std::fprintf(stderr, "sluice%s%s: %s\n", name.empty() ? "" : " ", name.c_str(), printable(log::redact(why)).c_str());
  return {std::nullopt, 2};
}

}  // namespace

open_mode mode_of(const command& c) {
  static const std::set<std::string> makes{"work",          "enqueue",       "enqueue-all",
                                           "recurring set", "throttler set", "group create"};
  static const std::set<std::string> looks{"jobs",
                                           "errors",
                                           "show",
                                           "queues",
                                           "servers",
                                           "audit",
                                           "explain",
                                           "throttlers",
                                           "groups",
                                           "group show",
                                           "recurring list",
                                           "recurring show",
                                           "throttler show",
                                           "throttler holders",
                                           "throttler waiters",
                                           "locks",
                                           "log",
                                           "quarantine",
                                           "quarantine list",
                                           "quarantine show",
                                           "totals",
                                           "top"};
  if (makes.contains(c.name)) return open_mode::may_make;
  if (c.repair) return open_mode::must_exist;
  return looks.contains(c.name) ? open_mode::read_only : open_mode::must_exist;
}

std::unique_ptr<CLI::App> make_app(command& c) {
  auto made = std::make_unique<CLI::App>(description, "sluice");
  auto& app = *made;
  app.set_version_flag("--version", "sluice " SLUICE_VERSION);
  app.require_subcommand(1);
  app.formatter(std::make_shared<short_lists>());
  app.fallthrough();  // these may stand before or after the command and its words
  app.add_option("--store", c.store,
                 "The store: sqlite:FILE or redis://host:port/db (or the environment's SLUICE_STORAGE)");
  app.add_flag("--json", c.json, "One JSON object a line; of a list that goes on the last says where, as \"next\"");

  const auto store_command = [&](const char* name, const char* help) { return app.add_subcommand(name, help); };
  const auto config_command = [&](const char* name, const char* help) {
    auto* sub = app.add_subcommand(name, help);
    sub->add_option("CONFIG", c.config, "The configuration file (docs/configuration.md)")
        ->required()
        ->type_name(type_of_files);
    sub->add_option("--set", c.sets, "Override a key: /queues/default/workers=2")->allow_extra_args(false);
    return sub;
  };

  config_command("check", "Checks a configuration and tells every fault; starts nothing")
      ->add_flag("--store", c.looks_into_store,
                 "Also asks the store that it names for the throttlers that it does not define");
  auto* work = config_command("work",
                              "Runs the jobs of the configured queues until SIGTERM or SIGINT.\n"
                              "Running jobs may end within the configured `grace`; a second signal leaves at once. "
                              "SIGUSR1: starts no new jobs");
  add_log_options(*work, c);

  auto* enqueue = store_command("enqueue", enqueue_help);
  enqueue->add_option("QUEUE", c.queue, "The queue; -: that of its type in --config, or default")->required();
  enqueue->add_option("TYPE", c.type, "The job type")->required();
  enqueue->add_option("JSON", c.args, "The arguments, as JSON; - reads them from standard input, @FILE from a file")
      ->required();
  auto* in = enqueue->add_option("--in", c.in, "Ready only after this time, e.g. 5s");
  enqueue->add_option("--at", c.at, "Ready only from this instant, as 2026-03-08T07:00Z or 2026-03-08T08:00+01:00")
      ->excludes(in);
  enqueue->add_option("--timeout", c.timeout, "How long one run may take, e.g. 30s");
  enqueue->add_option("--retries", c.said.retry.attempts, "How often it is tried again when it fails (its queue says)");
  enqueue->add_option("--header", c.headers, "A header for its handler, as NAME=VALUE")->allow_extra_args(false);
  enqueue->add_option("--id", c.id, "The job's id (default: a new one)");
  const auto take_config = [&c](CLI::App& sub) {
    sub.add_option("--config", c.config,
                   "A server's configuration: the job gets what it says of its type, and goes to its store");
  };
  take_config(*enqueue);
  add_flow_options(*enqueue, c);
  add_key_option(*enqueue, c);
  enqueue->add_flag("--bulk", c.bulk,
                    "Each line that is read is the arguments of a job of its own; with --id its number is added");

  auto* enqueue_all = store_command("enqueue-all", enqueue_all_help);
  take_config(*enqueue_all);
  add_key_option(*enqueue_all, c);
  enqueue_all->add_option("JOBS", c.args, "The jobs, one a line; - reads them from standard input")
      ->required()
      ->type_name(type_of_files);

  add_jobs_commands(app, c);

  store_command("show", "Shows one job with its history")->add_option("ID", c.id, "The job's id")->required();
  store_command("queues", "Counts the jobs of each queue by state")->add_option("QUEUE", c.queue, "Only this queue");
  for (auto* paged : {store_command("locks", "Lists the locks that are held, first those that run out first"),
                      store_command("log", log_help)})
    add_page_options(*paged, c);
  add_quarantine_commands(app, c);
  auto* totals = store_command("totals", totals_help);
  totals->add_option("QUEUE", c.queue, "Only this queue (all together)");
  totals->add_option("--by", c.by, "What is counted together (hour)")->check(one_of({"hour", "minute"}));
  totals->add_option("--since", c.since, "From this long ago, as 3h, or this instant (a day ago; by minute an hour)");
  totals->add_option("--until", c.until, "Until then");
  store_command("servers", "Lists the servers that work on the store");
  store_command("pause", "Pauses a queue: it takes jobs and starts none")
      ->add_option("QUEUE", c.queue, "The queue")
      ->required();
  store_command("resume", "Resumes a paused queue")->add_option("QUEUE", c.queue, "The queue")->required();

  add_dashboard_command(app, c);
  add_throttler_commands(app, c);
  add_group_commands(app, c);
  add_recurring_commands(app, c);
  add_cron_command(app, c);

  store_command("audit",
                "Looks at all that is stored and tells what should not be; exits with 1 when there is something")
      ->add_flag("--repair", c.repair,
                 "Repairs what the rest of the store tells how to repair: parents and children, groups, unique keys, "
                 "times; tells what it did, and exits with 1 when something is left");

  store_command("upgrade",
                "Upgrades a store that an older version made (docs/upgrading.md), once no server works on it.\n"
                "Does nothing to one that is of this version already. Names the libraries of rules that other\n"
                "versions have left in a Redis")
      ->add_flag("--yes", c.yes, "Deletes these libraries; a program that still uses one loads it again");

  app.add_subcommand("completion", completion_help)
      ->add_option("SHELL", c.shell, "The shell")
      ->required()
      ->check(one_of({"bash", "zsh"}));
  app.add_subcommand("manual", "Prints the manual page, as for man -l");
  app.footer("`sluice COMMAND --help` says more of each.");
  return made;
}

parsed parse(int argc, char** argv) {
  static const std::set<std::string> without_store{"completion", "cron", "manual"};
  static const std::set<std::string> without_json{"completion", "dashboard", "manual", "work"};
  command c;
  c.typed.assign(argv + std::min(argc, 1), argv + argc);
  if (!c.typed.empty() && c.typed.front() == "help") {  // as many programs have it
    c.typed.erase(c.typed.begin());
    c.typed.emplace_back("--help");
  }
  for (const auto& word : c.typed)  // the parser would take the next word for its value
    if (word.starts_with("--") && word.find('=') == word.size() - 1)
      return refused({}, word.substr(0, word.size() - 1) + " must not be empty");
  const auto app = make_app(c);
  try {
    app->parse(std::vector<std::string>(c.typed.rbegin(), c.typed.rend()));
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return {std::nullopt, app->exit(e)};  // help, or the version
    if (gives_check_a_store(*app, c.typed))
      return refused("check",
                     "its --store takes no URL, and asks the store that the configuration names; to ask "
                     "another, add --set /storage=URL");
    const auto mistaken = mistaken_command(*app, c.typed);
    const auto name = mistaken ? std::string() : full_name(named(*app));
    const auto why = mistaken ? no_command(*mistaken, *app) : complaint(*app, e);
    return refused(name, cat(why, " (sluice ", name, name.empty() ? "" : " ", "--help lists all)"));
  }
  const auto commands = named(*app);
  c.name = full_name(commands);
  // An empty word is a variable that was not set, and would silently mean something else.
  for (const auto* where : commands) {
    for (const auto* option : where->get_options()) {
      if (option->count() == 0 || option->results() != std::vector<std::string>{""}) continue;
      return refused(c.name, option->get_name() + " must not be empty");
    }
  }
  for (const auto& [option, none] : {std::pair("--store", &without_store), {"--json", &without_json}})
    if (app->count(option) > 0 && none->contains(c.name)) return refused(c.name, cat("it takes no ", option));
  if (!c.config.empty() && !c.store.empty())
    return refused(c.name, "the store is named in the configuration; override it with --set /storage=URL");
  c.signs = !c.exec_key.empty();
  for (const auto& [variable, into] : {std::pair("SLUICE_STORAGE", &c.store), {"SLUICE_EXEC__KEY_FILE", &c.exec_key}})
    if (const char* from_environment = std::getenv(variable); from_environment && into->empty())
      *into = from_environment;
  if (without_store.contains(c.name)) return {std::move(c), 0};
  if (c.store.starts_with("sqlite::memory:"))
    return refused(c.name, "a store in memory is of the process that made it; name a file");
  if (c.config.empty() && c.store.empty())
    return refused(c.name, "--store URL is missing, e.g. --store sqlite:jobs.db");
  return {std::move(c), 0};
}

}  // namespace sluice::cli
