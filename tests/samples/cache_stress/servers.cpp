#include "samples/cache_stress/servers.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <stdexcept>

#include "samples/common/promises.hpp"
#include "samples/provider/provider.hpp"
#include "samples/text.hpp"
#include "samples/two_level_cache/sqlite_level.hpp"

namespace sample {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

const fs::path folder = ".run/cache_stress";
// Readers that have no time left for an expiry before the end are not missed.
constexpr micros last_moments = 1'000'000;

micros now_us() { return two_level_cache::wall_clock().time_since_epoch().count(); }

// Both ways of talking with a server process; each end is closed by its destructor.
class pipe_end {
public:
  explicit pipe_end(int file) : file_(file) {}
  pipe_end(pipe_end&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  ~pipe_end() { close(); }
  void close() {
    if (file_ >= 0) ::close(std::exchange(file_, -1));
  }
  void write_line(std::string text) {
    text += '\n';
    for (std::size_t at = 0; at < text.size();) {
      const auto n = ::write(file_, text.data() + at, text.size() - at);
      if (n <= 0) throw std::runtime_error("a pipe between the processes broke");
      at += static_cast<std::size_t>(n);
    }
  }
  // Without its end, since processes that were started later keep the pipe open. Empty: nobody writes any more.
  std::string read_line() {
    std::string text;
    std::array<char, 65536> part{};
    while (!text.ends_with('\n')) {
      const auto n = ::read(file_, part.data(), part.size());
      if (n <= 0) return {};
      text.append(part.data(), static_cast<std::size_t>(n));
    }
    return text;
  }

private:
  int file_;
};

std::pair<pipe_end, pipe_end> make_pipe() {
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("no pipe to a server process");
  return {pipe_end(ends[0]), pipe_end(ends[1])};
}

// A process that is told its words by the pipe, and tells its tally by another.
class server_process {
public:
  server_process() : server_process(make_pipe(), make_pipe()) {}
  server_process(const server_process&) = delete;
  ~server_process() {
    if (pid_ < 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  void begin(const server_words& w) {
    words_.write_line(nlohmann::json{w.provider_url, w.lock_store, w.cache_file, w.readers, w.end}.dump());
  }
  server_tally end() {
    const auto text = tally_.read_line();
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    if (status != 0) throw std::runtime_error("a server process ended before its time");
    return nlohmann::json::parse(text).get<server_tally>();
  }

private:
  using ends = std::pair<pipe_end, pipe_end>;
  server_process(ends words, ends tally) : words_(std::move(words.second)), tally_(std::move(tally.first)) {
    pid_ = ::fork();
    if (pid_ < 0) throw std::runtime_error("no process could be started");
    if (pid_ > 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    words_.close();
    std::_Exit(serve(words.first, tally.second));
  }

  static int serve(pipe_end& words, pipe_end& tally) try {
    const auto told = words.read_line();
    if (told.empty()) return 1;  // the first process has ended
    const auto w = nlohmann::json::parse(told);
    tally.write_line(nlohmann::json(read_until_the_end({w[0], w[1], w[2], w[3], w[4]})).dump());
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "cache_stress: server %d: %s\n", static_cast<int>(::getpid()), e.what());
    return 1;
  }

  pipe_end words_, tally_;
  pid_t pid_ = -1;
};

// When the provider was asked for each resource.
class witness {
public:
  void note(const std::string& resource) {
    std::lock_guard hold(mutex_);
    asked_[resource].push_back(now_us());
  }
  std::map<std::string, std::vector<micros>> all() {
    std::lock_guard hold(mutex_);
    return asked_;
  }

private:
  std::mutex mutex_;
  std::map<std::string, std::vector<micros>> asked_;
};

// What all servers saw, as if it were one.
void add(server_tally& sum, const server_tally& one) {
  sum.readings += one.readings;
  sum.failures.insert(sum.failures.end(), one.failures.begin(), one.failures.end());
  for (const auto& [name, seen] : one.resources) {
    auto& r = sum.resources[name];
    r.entry = seen.entry;
    r.last_nothing = std::max(r.last_nothing, seen.last_nothing);
    if (seen.first_value > 0 && (r.first_value == 0 || seen.first_value < r.first_value))
      r.first_value = seen.first_value;
  }
  for (const auto& [entry, expiries] : one.expiries)
    for (const auto& [at, seen] : expiries) {
      auto& e = sum.expiries[entry][at];
      e.old_values += seen.old_values;
      e.new_values += seen.new_values;
      e.nothing += seen.nothing;
      e.loads += seen.loads;
      e.at_once += seen.at_once;
      e.slowest = std::max(e.slowest, seen.slowest);
    }
}

// Of one entry, over all its resources.
struct verdict {
  std::uint32_t fewest = 0, most = 0;                    // loads of a resource for one expiry
  std::uint32_t rebuilds = 0;                            // as the readers saw them; the first is no expiry
  std::uint32_t expiries = 0;                            // that were met with time left
  std::uint32_t fewest_readers = 0, fewest_at_once = 0;  // at one of these
  std::uint64_t old_values = 0, new_values = 0;
  micros slowest = 0;
  bool all_rebuilds_loaded_once = true;
  bool read_nothing = false;  // after a value had been read
};

verdict judge(const std::string& entry, const server_tally& seen,
              const std::map<std::string, std::vector<micros>>& asked, micros end) {
  verdict v;
  static const std::map<micros, expiry_tally> none;
  const auto found = seen.expiries.find(entry);
  const auto& expiries = found == seen.expiries.end() ? none : found->second;
  v.rebuilds = static_cast<std::uint32_t>(expiries.size());
  v.fewest = UINT32_MAX;
  for (const auto& [resource, at] : asked) {
    const auto known = seen.resources.find(resource);
    if (known == seen.resources.end() || known->second.entry != entry) continue;
    const auto loads = loads_per_expiry(at, times_of_servers.state);
    v.fewest = std::min(v.fewest, *std::min_element(loads.begin(), loads.end()));
    v.most = std::max(v.most, *std::max_element(loads.begin(), loads.end()));
    if (at.size() != expiries.size()) v.all_rebuilds_loaded_once = false;
    if (known->second.first_value > 0 && known->second.last_nothing > known->second.first_value) v.read_nothing = true;
  }
  v.fewest = std::min(v.fewest, v.most);  // it was never asked
  for (const auto& [at, met] : expiries) {
    v.old_values += met.old_values;
    v.new_values += met.new_values;
    if (met.nothing > 0) v.read_nothing = true;
    if (at > end - last_moments) continue;
    // At the first some readers have yet to begin: it counts when there is no other.
    const bool replaces = ++v.expiries <= 2;
    v.fewest_readers = replaces ? met.readers() : std::min(v.fewest_readers, met.readers());
    v.fewest_at_once = replaces ? met.at_once : std::min(v.fewest_at_once, met.at_once);
    v.slowest = std::max(v.slowest, met.slowest);
  }
  return v;
}

std::string range(std::uint32_t least, std::uint32_t most) {
  return least == most ? format("%u", most) : format("%u to %u", least, most);
}
double ms(micros us) { return static_cast<double>(us) / 1000; }
unsigned long long shown(std::uint64_t n) { return n; }

void report(const stress_options& options, const server_tally& seen, const std::map<std::string, verdict>& verdicts) {
  std::printf("%u processes, %u readers, %llu readings in %u s; an entry is active for %.0f s\n\n", options.servers,
              options.readers, shown(seen.readings), options.seconds,
              std::chrono::duration<double>(times_of_servers.state).count());
  std::printf(
      "            expired  rebuilt     loads   readers  of them in    read the    read the   slowest\n"
      "                              for each   at each  the 100 ms   old value   new value    answer\n");
  for (const auto& [entry, v] : verdicts)
    std::printf("%-10s %8u %8u %9s %9u %11u %11llu %11llu %6.0f ms\n", entry.c_str(), v.expiries, v.rebuilds,
                range(v.fewest, v.most).c_str(), v.fewest_readers, v.fewest_at_once, shown(v.old_values),
                shown(v.new_values), ms(v.slowest));
  std::printf("\n");
  for (const auto& failure : seen.failures)
    std::printf("failed: %s\n", failure.c_str());
}

int check(const stress_options& options, const server_tally& seen, const std::map<std::string, verdict>& verdicts) {
  const auto all = [&](auto kept) {
    return std::all_of(verdicts.begin(), verdicts.end(), [&](const auto& v) { return kept(v.second); });
  };
  promises made;
  made.check(all([](const verdict& v) { return v.fewest == 1 && v.most == 1 && v.all_rebuilds_loaded_once; }),
             "the provider was asked exactly once for each value or page and expiry");
  made.check(all([](const verdict& v) { return !v.read_nothing; }), "nobody read nothing once there had been a value");
  made.check(
      all([&](const verdict& v) { return v.expiries > 0 && v.fewest_readers * 10ULL >= options.readers * 9ULL; }),
      "nine readers of ten, or more, read at each expiry");
  made.check(seen.failures.empty(), "no reading failed");
  return made.exit_code();
}

std::vector<std::uint32_t> shares(std::uint32_t readers, std::uint32_t servers) {
  std::vector<std::uint32_t> each(servers, readers / servers);
  for (std::uint32_t i = 0; i < readers % servers; ++i)
    ++each[i];
  return each;
}

}  // namespace

std::vector<std::uint32_t> loads_per_expiry(std::vector<micros> asked, sluice::duration state) {
  std::sort(asked.begin(), asked.end());
  std::vector<std::uint32_t> loads;
  micros first = 0;
  for (const auto at : asked) {
    if (!loads.empty() && at < first + state.count()) {
      ++loads.back();
      continue;
    }
    loads.push_back(1);
    first = at;
  }
  return loads;
}

int run_servers(const stress_options& options) {
  std::vector<server_process> servers(options.servers);
  std::signal(SIGPIPE, SIG_IGN);  // that a server has ended early is an error where it is told something
  fs::remove_all(folder);
  fs::create_directories(folder);
  witness asked;
  const provider provider(0, [&](const std::string& resource) { asked.note(resource); });
  const sqlite_level made((folder / "cache.db").string());  // before the servers, so that none makes it beside another

  server_words words{provider.url(), options.store.value_or("sqlite:" + (folder / "locks.db").string()),
                     (folder / "cache.db").string(), 0, now_us() + options.seconds * 1'000'000LL};
  if (options.unlocked) words.lock_store = "sqlite::memory:";  // each process locks out itself only
  const auto each = shares(options.readers, options.servers);
  for (std::size_t i = 0; i < servers.size(); ++i) {
    words.readers = each[i];
    servers[i].begin(words);
  }
  server_tally seen;
  for (auto& server : servers)
    add(seen, server.end());

  std::map<std::string, verdict> verdicts;
  for (const auto& entry : entries_of_servers())
    verdicts[entry.name] = judge(entry.name, seen, asked.all(), words.end);
  report(options, seen, verdicts);
  return check(options, seen, verdicts);
}

}  // namespace sample
