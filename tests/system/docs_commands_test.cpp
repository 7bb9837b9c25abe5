// Every command of the README and of docs/ is run as it stands there; CONTRIBUTING.md has the rules for pages.
#include <algorithm>
#include <array>
#include <filesystem>
#include <regex>
#include <sstream>

#include "core/text.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/process.hpp"
#include "support/redis_server.hpp"
#include "support/temp_dir.hpp"

namespace sluice::test {
namespace {

// What cannot run in a test, by the first word of its line, and why.
struct exemption {
  std::string_view word, why;
};
constexpr std::array exempt{
    exemption{"./dev", "it builds and tests everything, this test among the rest"},
    exemption{"systemctl", "it needs a machine whose services systemd runs"},
    exemption{"journalctl", "so does this"},
    exemption{"build/bin/redis_bench", "it measures for minutes, and needs the machine for itself"},
};

constexpr std::string_view file_url = "sqlite:jobs.db", redis_url_of_docs = "redis://127.0.0.1:6379/0";

struct page {
  std::string name;  // "docs/cron.md"
  std::vector<std::string> lines;
};

// A fenced block: what stands behind its fence, and its lines as places among those of the page.
struct block {
  std::string language;
  std::size_t from = 0, to = 0;
};

std::vector<page> pages() {
  const std::string root = source_path();
  std::vector<std::string> names{"README.md"};
  for (const auto& entry : std::filesystem::directory_iterator(root + "/docs"))
    if (entry.path().extension() == ".md") names.push_back("docs/" + entry.path().filename().string());
  std::sort(names.begin() + 1, names.end());
  std::vector<page> all;
  for (const auto& name : names) {
    std::istringstream text(read_file(root + "/" + name));
    all.push_back({name, {}});
    for (std::string line; std::getline(text, line);)
      all.back().lines.push_back(line);
  }
  return all;
}

std::vector<block> blocks_of(const page& p) {
  std::vector<block> all;
  bool inside = false;
  for (std::size_t i = 0; i < p.lines.size(); ++i) {
    if (!p.lines[i].starts_with("```")) continue;
    inside = !inside;
    if (inside) all.push_back({p.lines[i].substr(3), i + 1, i + 1});
    else all.back().to = i;
  }
  return all;
}

bool has(const page& p, std::string_view text) {
  return std::any_of(p.lines.begin(), p.lines.end(),
                     [&](const auto& line) { return line.find(text) != std::string::npos; });
}

const exemption* exemption_of(const std::string& line) {
  const auto word = line.substr(0, line.find(' '));
  const auto found = std::find_if(exempt.begin(), exempt.end(), [&](const auto& e) { return e.word == word; });
  return found == exempt.end() ? nullptr : found;
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

// The commands of a page at the lines at which they stand, so that a fault tells the line; anything else is a comment.
// `sqlite3` looks into a file, so on Redis a block that has it is left out. Nothing when there are no commands.
std::optional<std::string> script_of(const page& p, bool on_a_file) {
  std::vector<std::string> script(p.lines.size(), "#");
  bool any = false;
  for (const auto& b : blocks_of(p)) {
    if (b.language != "sh") continue;
    const std::vector<std::string> lines(p.lines.begin() + static_cast<std::ptrdiff_t>(b.from),
                                         p.lines.begin() + static_cast<std::ptrdiff_t>(b.to));
    const bool of_a_file =
        std::any_of(lines.begin(), lines.end(), [](const auto& line) { return line.starts_with("sqlite3 "); });
    if (of_a_file && !on_a_file) continue;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (exemption_of(lines[i])) continue;
      script[b.from + i] = lines[i];
      any = true;
    }
  }
  if (!any) return std::nullopt;
  script[0] = "source ./before";  // there is the page's title
  std::string text;
  for (const auto& line : script)
    text += line + "\n";
  return text;
}

// Notes each command that fails, and what runs behind the page's back and does not end in order.
constexpr const char* before_a_page = R"(set -u -o pipefail
note() { echo "line $1: $2" >> faults; }
trap 'note "$LINENO" "exit $? of: $BASH_COMMAND"' ERR
end() {
  trap - ERR
  for pid in $(jobs -p); do
    kill -TERM "$pid" 2>> /dev/null
    wait "$pid" && continue || code=$?
    [ "$code" = 143 ] || note end "exit $code of a background command"  # 143: it had just begun
  done
}
trap end EXIT
)";

struct home {
  temp_dir folder;
  std::string programs = program_path("sluice").substr(0, program_path("sluice").rfind('/'));

  home() {
    write_file(folder.file("before"), before_a_page);
    // A server that was begun in the line before may not listen yet; what is refused is a fault.
    write_file(folder.file(".curlrc"), "fail\nretry = 20\nretry-delay = 1\nretry-connrefused\n");
  }

  ran shell(const std::vector<std::string>& environment, const std::string& script) {
    write_file(folder.file("page"), script);
    std::vector<std::string> argv{"timeout", "--kill-after=5", "50", "env", "-u", "SLUICE_STORAGE"};
    argv.insert(argv.end(), {"HOME=" + folder.path().string(),
                             "PATH=" + programs + ":" + std::getenv("PATH"),  // NOLINT(concurrency-mt-unsafe)
                             "no_proxy=*"});
    argv.insert(argv.end(), environment.begin(), environment.end());
    argv.insert(argv.end(), {"bash", "-c", "cd '" + folder.path().string() + "' && exec bash ./page"});
    return run(argv, folder.path().string());
  }
};

// Runs a page; answers what went wrong.
std::string faults_of(const page& p, const std::string& store, const redis_server& redis) {
  const bool on_a_file = store == file_url;
  auto script = script_of(p, on_a_file);
  if (!script) return {};
  redis.command({"FLUSHALL"});
  home here;
  const bool begins_with_nothing = p.name == "README.md";
  if (!begins_with_nothing) {
    const auto made =
        here.shell({"SLUICE_STORAGE=" + store}, "sluice enqueue default noop '{\"order\": 7}' --id order-7");
    if (made.exit_code != 0) return "no store could be made: " + made.err;
  }
  *script = replaced(*script, redis_url_of_docs, redis.tcp_url());
  *script = replaced(*script, file_url, store);
  const auto port = std::to_string(free_port());
  for (const std::string host : {"localhost:", "127.0.0.1:"})
    *script = replaced(*script, host + "8080", host + port);
  std::vector<std::string> environment;
  if (!has(p, "SLUICE_STORAGE=")) environment.push_back("SLUICE_STORAGE=" + store);
  const auto ended = here.shell(environment, *script);
  auto faults = read_file(here.folder.file("faults"));
  if (ended.exit_code != 0 && faults.empty()) faults = cat("exit ", ended.exit_code, "\n");
  return faults.empty() ? faults : cat(p.name, ":\n", faults, "standard error:\n", ended.err);
}

struct shown_command {
  std::string where, command, output;
};

// Commands behind "$ " and below each what it prints.
std::vector<shown_command> shown_by(const page& p) {
  std::vector<shown_command> all;
  for (const auto& b : blocks_of(p)) {
    if (b.language != "console") continue;
    for (auto i = b.from; i < b.to; ++i) {
      const auto& line = p.lines[i];
      if (line.starts_with("$ ")) all.push_back({cat(p.name, ":", i + 1), line.substr(2), {}});
      else if (!all.empty()) all.back().output += line + "\n";
    }
  }
  return all;
}

void run_all(bool on_redis) {
  const redis_server redis(redis_options{.tcp = true});
  int with_commands = 0;
  for (const auto& p : pages()) {
    with_commands += script_of(p, !on_redis).has_value();
    CHECK(faults_of(p, on_redis ? redis.tcp_url() : std::string(file_url), redis) == "");
  }
  CHECK(with_commands >= 6);
}

}  // namespace

TEST_CASE("every command of the README and the docs runs on SQLite") { run_all(false); }

TEST_CASE("every command of the README and the docs runs on Redis") { run_all(true); }

TEST_CASE("each example of the docs prints what its page shows") {
  home here;
  std::size_t seen = 0;
  for (const auto& p : pages()) {
    for (const auto& e : shown_by(p)) {
      INFO(e.where << ": " << e.command);
      CHECK(here.shell({}, "{ " + e.command + "\n} 2>&1").out == e.output);
      ++seen;
    }
  }
  CHECK(seen > 10);
}

TEST_CASE("whatever a test of the docs leaves out stands in some page") {
  const auto all = pages();
  for (const auto& e : exempt) {
    CAPTURE(e.word, e.why);
    CHECK(std::any_of(all.begin(), all.end(), [&](const page& p) {
      const auto blocks = blocks_of(p);
      return std::any_of(blocks.begin(), blocks.end(), [&](const block& b) {
        if (b.language != "sh") return false;
        for (auto i = b.from; i < b.to; ++i)
          if (exemption_of(p.lines[i]) && exemption_of(p.lines[i])->word == e.word) return true;
        return false;
      });
    }));
  }
}

TEST_CASE("no command of the docs stands in a block that no test runs") {
  const std::regex command(
      R"((\$ )?(sluice|curl|redis-cli|sqlite3|\./dev|apt-get|systemctl|journalctl|build/bin/\w+) .*)");
  for (const auto& p : pages()) {
    for (const auto& b : blocks_of(p)) {
      if (b.language == "sh" || b.language == "console") continue;
      for (auto i = b.from; i < b.to; ++i) {
        INFO(p.name << ":" << i + 1 << ": " << p.lines[i]);
        CHECK_FALSE(std::regex_match(p.lines[i], command));
      }
    }
  }
}

}  // namespace sluice::test
