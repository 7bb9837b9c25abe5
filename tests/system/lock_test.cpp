// Eight processes want one lock, while its holders are killed and stopped.
#include <charconv>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include <sluice/lock.hpp>

#include "core/text.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/process.hpp"
#include "support/redis_server.hpp"
#include "support/temp_dir.hpp"

namespace sluice::test {
namespace {

constexpr int workers = 8;
constexpr auto ttl = 600ms;

// What a worker wrote. `at` is where the line begins.
struct line {
  std::string what;
  std::uint64_t fence = 0;
  std::string name;
  std::size_t seen = 0, at = 0;
};

std::vector<line> read_lines(const std::string& text) {
  std::vector<line> all;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = text.find('\n', at);
    if (end == std::string::npos) break;
    line l;
    std::istringstream in(text.substr(at, end - at));
    in >> l.what >> l.fence >> l.name >> l.seen;
    l.at = at;
    all.push_back(std::move(l));
    at = end + 1;
  }
  return all;
}

// What may never be, as sentences.
std::vector<std::string> faults(const std::vector<line>& lines) {
  std::vector<std::string> found;
  std::map<std::uint64_t, std::string> holders;
  std::map<std::size_t, std::uint64_t> highest;  // fence of all that was taken up to a place in the log
  const auto highest_before = [&](std::size_t place) {
    const auto behind = highest.lower_bound(place);
    return behind == highest.begin() ? 0 : std::prev(behind)->second;
  };
  for (const auto& l : lines) {
    if (l.what == "take") {
      if (const auto [at, fresh] = holders.emplace(l.fence, l.name); !fresh)
        found.push_back(cat("fence ", l.fence, " was given to ", at->second, " and to ", l.name));
      if (const auto before = highest_before(l.seen); before >= l.fence)
        found.push_back(cat(l.name, " was given fence ", l.fence, " after ", before, " had been"));
      highest[l.at] = std::max(l.fence, highest.empty() ? 0 : highest.rbegin()->second);
    }
    if (l.what == "held")
      if (const auto before = highest_before(l.seen); before > l.fence)
        found.push_back(cat(l.name, " took fence ", l.fence, " for its own after ", before, " had been given"));
  }
  return found;
}

struct lock_world {
  temp_dir folder;
  std::string store, log = folder.file("log");
  std::optional<lock_manager> locks;
  std::vector<std::unique_ptr<process>> processes;
  std::map<std::string, process*> by_name;
  int born = 0;

  explicit lock_world(const std::string& url = {}) : store(url.empty() ? folder.url() : url) {
    auto opened = lock_manager::open({.storage = store, .holder = "the test"});
    if (!opened) throw std::runtime_error(to_string(opened.error()));
    locks.emplace(std::move(*opened));
    write_file(log, "");
    for (int i = 0; i < workers; ++i)
      start_one();
  }

  void start_one() {
    const auto name = cat("w", ++born);
    processes.push_back(std::make_unique<process>(
        std::vector<std::string>{program_path("lock_worker"), store, log, name, std::to_string(ttl.count())},
        folder.file(name + ".log")));
    by_name[name] = processes.back().get();
  }

  std::optional<lock_holder> holder() {
    auto told = locks->holder_of("the printer");
    if (!told) throw std::runtime_error(to_string(told.error()));
    return *told;
  }
  // Who lives: one that was killed may have taken it once more before.
  std::optional<lock_holder> somebody() {
    std::optional<lock_holder> who;
    eventually([&] { return (who = holder()) && by_name.contains(who->holder); });
    return who;
  }
  // Somebody has it who took it later.
  bool passes_on(sluice::fence old) {
    return eventually([&] {
      const auto now = holder();
      return now && now->fence > old;
    });
  }

  void kill_a_holder() {
    const auto who = somebody();
    REQUIRE(who);
    auto& victim = *by_name.at(who->holder);
    victim.signal(SIGKILL);
    REQUIRE(victim.exit_code(5s) == -SIGKILL);
    by_name.erase(who->holder);
    CHECK(passes_on(who->fence));
    start_one();
  }

  // Stopped while it holds the lock, until another has it; then it goes on. Nothing when it was stopped too late, or in
  // the middle of an SQLite transaction, which holds up all others, lock or no lock.
  void freeze_a_holder() {
    const auto who = somebody();
    REQUIRE(who);
    auto& victim = *by_name.at(who->holder);
    REQUIRE(victim.stop());
    const auto now = holder();
    if (now && now->fence == who->fence)
      eventually(
          [&] {
            const auto next = holder();
            return next && next->fence > who->fence;
          },
          2s);
    victim.signal(SIGCONT);
  }

  std::ptrdiff_t count(const char* what) const {
    const auto all = lines();
    return std::count_if(all.begin(), all.end(), [&](const line& l) { return l.what == what; });
  }
  std::size_t takers() const {
    std::set<std::string> all;
    for (const auto& l : lines())
      if (l.what == "take") all.insert(l.name);
    return all.size();
  }

  std::vector<line> lines() const { return read_lines(read_file(log)); }
};

// A worker that was stopped while it asked may say that the answer came too late; no other trouble.
std::string strange_lines(const std::string& log) {
  std::string all;
  std::istringstream in(log);
  for (std::string text; std::getline(in, text);)
    if (text.starts_with("lock_worker:") && text.find("timed_out: the store took longer") == std::string::npos)
      all += text + "\n";
  return all;
}

void contend(lock_world& w, std::chrono::seconds how_long) {
  const auto end = std::chrono::steady_clock::now() + how_long;
  int killed = 0, stopped = 0;
  for (; std::chrono::steady_clock::now() < end || w.count("lost") == 0 || w.takers() < workers; ++killed, ++stopped) {
    REQUIRE(std::chrono::steady_clock::now() < end + 60s);
    w.kill_a_holder();
    w.freeze_a_holder();
  }
  UNSCOPED_INFO(killed << " killed, " << stopped << " stopped, " << w.count("take") << " takes, " << w.count("held")
                       << " times held, " << w.count("lost") << " lost, " << w.count("refused") << " refused");
  CHECK(w.count("refused") > 0);
  CHECK(faults(w.lines()) == std::vector<std::string>{});
  for (const auto& p : w.processes)
    CHECK(strange_lines(p->log()) == "");
}

}  // namespace

TEST_CASE("the judge of locks condemns a fence given twice and one that sank and a holder that did not notice") {
  const std::string good = "take 5 a 0\nheld 5 a 11\ntake 7 b 22\n";
  CHECK(faults(read_lines(good)).empty());
  CHECK(faults(read_lines(good + "held 5 a 22\n")).empty());  // it asked before b had it
  CHECK(faults(read_lines(good + "held 5 a 33\n")).size() == 1);
  CHECK(faults(read_lines(good + "take 6 c 22\n")).empty());  // they asked at the same time
  CHECK(faults(read_lines(good + "take 6 c 33\n")).size() == 1);
  CHECK(faults(read_lines(good + "take 7 c 22\n")).size() == 1);
}

TEST_CASE("of eight processes one has the lock though holders are killed and stopped on SQLite") {
  lock_world w;
  contend(w, 3s);
}

TEST_CASE("of eight processes one has the lock though holders are killed and stopped on Redis") {
  redis_server redis;
  lock_world w(redis.url());
  contend(w, 3s);
}

TEST_CASE("of eight processes one has the lock for a minute of kills and stops on Redis", "[.long]") {
  redis_server redis;
  lock_world w(redis.url());
  contend(w, 60s);
}

}  // namespace sluice::test
