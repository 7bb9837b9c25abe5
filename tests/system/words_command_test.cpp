// What `sluice` says about its own words: to who mistyped one, to shells, and to man.
#include <algorithm>
#include <sstream>

#include "core/text.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/process.hpp"
#include "support/temp_dir.hpp"

namespace sluice::test {
namespace {

using names = std::vector<std::string>;

ran sluice(names words) {
  const temp_dir folder;
  words.insert(words.begin(), program_path("sluice"));
  return run(words, folder.path().string());
}

names lines_in(const std::string& text) {
  names lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  return lines;
}

// A bash that knows no more than the script.
struct completing_bash {
  temp_dir folder;

  completing_bash() { write_file(folder.file("script"), sluice({"completion", "bash"}).out); }

  // What it offers for the last of the words, which stand as bash has taken them apart.
  names offers(names words) const {
    const std::string complete = R"(source "$0" || exit 1
      COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
      _sluice
      for one in "${COMPREPLY[@]}"; do printf '%s\n' "$one"; done)";
    words.insert(words.begin(), {"bash", "--norc", "-c", complete, folder.file("script"), "sluice"});
    const auto said = run(words, folder.path().string());
    CHECK(said.exit_code == 0);
    CHECK(said.err.empty());
    return lines_in(said.out);
  }
};

// All of them, as "jobs" and "throttler set".
names all_commands() {
  const completing_bash bash;
  auto all = bash.offers({""});
  for (const std::string group : {"throttler", "recurring"})
    for (const auto& verb : bash.offers({group, ""}))
      all.push_back(cat(group, ' ', verb));
  return all;
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

bool is_installed(const std::string& program) {
  const temp_dir folder;
  return run({"sh", "-c", "command -v " + program}, folder.path().string()).exit_code == 0;
}

}  // namespace

TEST_CASE("a mistyped word is told with the one that was meant") {
  struct mistyped {
    names words;
    std::string said;
  };
  for (const auto& [words, said] : std::vector<mistyped>{
           {{"jbos"}, "sluice: there is no command 'jbos'; did you mean 'jobs'? (sluice --help lists all)\n"},
           {{"jbos", "--state", "failed"}, "sluice: there is no command 'jbos'; did you mean 'jobs'?"},
           {{"--json", "frobnicate"}, "sluice: there is no command 'frobnicate' (sluice --help lists all)\n"},
           {{"jobs", "--stat", "failed"},
            "sluice jobs: there is no option '--stat'; did you mean '--state'? (sluice jobs --help lists all)\n"},
           {{"show", "--jsno=x"}, "sluice show: there is no option '--jsno'; did you mean '--json'?"},
           {{"--stor", "sqlite:a.db", "jobs"}, "there is no option '--stor'; did you mean '--store'?"},
           {{"jobs", "-x"}, "sluice jobs: there is no option '-x' (sluice jobs --help lists all)\n"},
           {{"throttlers", "set"}, "'set' is not expected here; did you mean 'throttler set'?"},
           {{"servers", "default"},
            "sluice servers: 'default' is not expected here (sluice servers --help lists all)\n"},
           // What follows is a command, too.
           {{"recuring", "show", "nightly"}, "sluice: there is no command 'recuring'; did you mean 'recurring'?"},
           {{"recuring", "show"}, "sluice: there is no command 'recuring'; did you mean 'recurring'?"},
           {{"--json", "recuring", "pause", "nightly"}, "sluice: there is no command 'recuring'; did you mean"},
           {{"throtler", "show", "semaphore:x"}, "sluice: there is no command 'throtler'; did you mean 'throttler'?"},
           {{"schedules", "list"}, "sluice: there is no command 'schedules'; did you mean 'schedule'?"},
           {{"schedule", "lst"}, "sluice recurring: there is no command 'lst'; did you mean 'list'?"},
           {{"throttler", "remov"}, "sluice throttler: there is no command 'remov'; did you mean 'remove'?"},
           {{"throttler"}, "sluice throttler: a command is missing: set, remove, show"},
           {{"jobs", "--state", "faild"}, "succeeded, failed, deleted; not 'faild'; did you mean 'failed'?"},
           {{"jobs", "--state", "running"}, "succeeded, failed, deleted; not 'running'; did you mean 'processing'?"},
           {{"jobs", "--state", "done"}, "not 'done'; did you mean 'succeeded'?"},
           {{"jobs", "--state", "dead"}, "not 'dead'; did you mean 'failed'?"},
           {{"requeue", "--all", "--state", "retry"}, "not 'retry'; did you mean 'scheduled'?"},
           {{"jobs", "--state", "pending"}, "not 'pending'; did you mean 'enqueued'?"},
           {{"delete", "--all", "--state=sheduled"}, "not 'sheduled'; did you mean 'scheduled'?"},
           {{"totals", "--by", "minutes"}, "must be one of hour, minute; not 'minutes'; did you mean 'minute'?"},
           {{"work", "a.json", "--log-level", "eror"}, "not 'eror'; did you mean 'error'?"},
           {{"recurring", "list", "--sort", "nxt"}, "not 'nxt'; did you mean 'next'?"},
           {{"completion", "bsh"}, "not 'bsh'; did you mean 'bash'?"},
           {{"show"}, "sluice show: ID is required (sluice show --help lists all)\n"},
           {{"jobs", "--limit", "0"}, "--limit: "},
           {{"jo\x1b[31mbs"}, "'jo\\x1b[31mbs'"}}) {
    CAPTURE(words, said);
    const auto got = sluice(words);
    CHECK(got.exit_code == 2);
    CHECK(got.out.empty());
    CHECK(got.err.starts_with("sluice"));
    CHECK(std::count(got.err.begin(), got.err.end(), '\n') == 1);
    CHECK(says(got.err, said));
  }
}

TEST_CASE("bash completes commands and the commands of commands") {
  const completing_bash bash;
  CHECK(bash.offers({"jo"}) == names{"jobs"});
  CHECK(bash.offers({"thr"}) == names{"throttlers", "throttler"});
  CHECK(bash.offers({"--store", "sqlite", ":", "a.db", "que"}) == names{"queues"});
  CHECK(bash.offers({"throttler", ""}) == names{"set", "remove", "show", "holders", "waiters"});
  CHECK(bash.offers({"recurring", "re"}) == names{"remove", "resume"});
  CHECK(bash.offers({"--json", "recurring", "li"}) == names{"list"});
  CHECK(bash.offers({"throttlers", "s"}).empty());
  CHECK(bash.offers({"sched"}) == names{"schedule"});
  CHECK(bash.offers({"schedule", "re"}) == names{"remove", "resume"});
}

TEST_CASE("bash completes the options of a command and those of all") {
  const completing_bash bash;
  CHECK(bash.offers({"jobs", "--st"}) == names{"--state", "--store"});
  CHECK(bash.offers({"recurring", "list", "--s"}) == names{"--sort", "--store"});
  CHECK(bash.offers({"recurring", "show", "nightly", "--c"}) == names{"--count"});
  CHECK(bash.offers({"schedule", "trigger", "nightly", "--i"}) == names{"--id"});
  CHECK(bash.offers({"enqueue", "default", "noop", "{\"a\": -1}", "--re"}) == names{"--retries"});
  CHECK(bash.offers({"--v"}) == names{"--version"});
  CHECK(bash.offers({"servers", "--st"}) == names{"--store"});
}

TEST_CASE("bash completes fixed values and the kinds of throttlers and files") {
  const completing_bash bash;
  CHECK(bash.offers({"jobs", "--state", "s"}) == names{"scheduled", "succeeded"});
  CHECK(bash.offers({"delete", "--all", "--state", "=", "f"}) == names{"failed"});
  CHECK(bash.offers({"jobs", "--state", "="}).size() == 8);
  CHECK(bash.offers({"work", "a.json", "--log-level", ""}) == names{"debug", "error", "info", "off", "warning"});
  CHECK(bash.offers({"totals", "--by", ""}) == names{"hour", "minute"});
  CHECK(bash.offers({"jobs", "--queue", ""}).empty());
  CHECK(bash.offers({"completion", ""}) == names{"bash", "zsh"});
  CHECK(bash.offers({"throttler", "set", "se"}) == names{"semaphore:"});
  CHECK(bash.offers({"throttler", "show", ""}).size() == 6);
  CHECK(bash.offers({"throttler", "set", "semaphore", ":", "a"}).empty());
  CHECK(bash.offers({"throttler", "set", "semaphore", ":", "a", "limit", "=", "4", ""}).empty());
  const auto file = bash.folder.file("my jobs.json"), begin = bash.folder.file("my");
  write_file(file, "{}");
  CHECK(bash.offers({"check", begin}) == names{file});
  CHECK(bash.offers({"work", "--set", "/lease", "=", "2s", begin}) == names{file});
  CHECK(bash.offers({"work", file, begin}).empty());
}

TEST_CASE("the script for zsh names every command and zsh understands it") {
  const auto said = sluice({"completion", "zsh"});
  CHECK(said.exit_code == 0);
  CHECK(said.out.starts_with("#compdef sluice\n"));
  const auto commands = all_commands();
  REQUIRE(commands.size() > 30);
  for (auto command : commands) {
    CAPTURE(command);
    std::replace(command.begin(), command.end(), ' ', '_');
    CHECK(says(said.out, "\n_sluice_" + command + "() {\n"));
  }
  if (!is_installed("zsh")) {
    WARN("skipped: there is no zsh");
    return;
  }
  const temp_dir folder;
  write_file(folder.file("_sluice"), said.out);
  const auto read = run({"zsh", "-n", folder.file("_sluice")}, folder.path().string());
  CHECK(read.exit_code == 0);
  CHECK(read.err.empty());
}

TEST_CASE("the manual has a section for every command and groff understands it") {
  const auto said = sluice({"manual"});
  CHECK(said.exit_code == 0);
  CHECK(said.out.starts_with(".TH SLUICE 1 "));
  for (const auto* part : {".SH NAME\n", ".SH SYNOPSIS\n", ".SH OPTIONS\n", ".SH COMMANDS\n", ".SH EXIT STATUS\n"})
    CHECK(says(said.out, part));
  for (const auto& command : all_commands()) {
    CAPTURE(command);
    CHECK((says(said.out, ".SS sluice " + command + "\n") || says(said.out, ".SS sluice " + command + " ")));
  }
  CHECK(says(said.out, "\\fB\\-\\-state\\fR"));
  for (const auto& line : lines_in(said.out)) {  // what begins so is an order to roff
    CAPTURE(line);
    CHECK(line.find('\'') != 0);
    if (line.starts_with('.')) CHECK(says(" .TH .SH .SS .TP .PP .RS .RE .nf .fi .B ", " " + line.substr(0, 3)));
  }
  if (!is_installed("groff")) {
    WARN("skipped: there is no groff");
    return;
  }
  const temp_dir folder;
  write_file(folder.file("sluice.1"), said.out);
  const auto read = run({"groff", "-man", "-ww", "-z", folder.file("sluice.1")}, folder.path().string());
  CHECK(read.exit_code == 0);
  CHECK(read.err.empty());
}

TEST_CASE("completion and manual need no store") {
  CHECK(sluice({"completion", "zsh"}).err.empty());
  CHECK(sluice({"manual"}).err.empty());
  CHECK(sluice({"completion"}).exit_code == 2);
  CHECK(sluice({"completion", "fish"}).exit_code == 2);
}

}  // namespace sluice::test
