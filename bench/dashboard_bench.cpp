// What it takes to look at a store that keeps very many jobs, and what those who look, or attack, cost its servers.
//
//   dashboard_bench [--store redis|sqlite] [--jobs 1000000] [--pairs 7] [--only looks|nobody|search|watchers|attack]
//
// The dashboard is a process of its own; the servers whose rate is told are this one. Each rate is measured in pairs,
// without and with those who disturb, one after the other, and told as the median of the ratios.
#include <cstring>
#include <functional>
#include <list>
#include <random>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <sluice/dashboard.hpp>
#include <sluice/log.hpp>

#include "bench/stores.hpp"

namespace {

using namespace bench;

// ---- A client of HTTP: one question, one connection.

class connection {
public:
  explicit connection(unsigned port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(static_cast<std::uint16_t>(port));
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_open_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
    const timeval timeout{10, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
  }
  ~connection() { ::close(fd_); }
  connection(const connection&) = delete;

  bool write(std::string_view bytes) {
    while (is_open_ && !bytes.empty()) {
      const auto n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      is_open_ = n > 0;
      if (is_open_) bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return is_open_;
  }
  std::string read_all() {
    std::string got;
    char some[64 * 1024];
    for (ssize_t n = 0; is_open_ && (n = ::recv(fd_, some, sizeof some, 0)) > 0;)
      got.append(some, static_cast<std::size_t>(n));
    return got;
  }

private:
  int fd_;
  bool is_open_ = false;
};

std::string head_of(unsigned port, const std::string& target) {
  return "GET " + target + " HTTP/1.1\r\nHost: localhost:" + std::to_string(port) + "\r\n";
}

// The whole answer, with its head.
std::string get(unsigned port, const std::string& target) {
  connection c(port);
  c.write(head_of(port, target) + "Connection: close\r\n\r\n");
  return c.read_all();
}

bool is_ok(const std::string& answer) { return answer.starts_with("HTTP/1.1 200"); }

std::string value_in(const std::string& body, const std::string& name) {
  const auto at = body.rfind("\"" + name + "\":\"");
  if (at == std::string::npos) return {};
  const auto from = at + name.size() + 4;
  return body.substr(from, body.find('"', from) - from);
}

std::string escaped(const std::string& text) {
  std::string out;
  char digits[4];
  for (const unsigned char c : text) {
    std::snprintf(digits, sizeof digits, "%%%02X", c);
    out += digits;
  }
  return out;
}

// ---- A dashboard in a process of its own.

int serve(const std::string& url, const std::string& reads) {
  sluice::set_log_level(sluice::log_level::error);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  sluice::client_options store;
  store.storage = url;
  sluice::dashboard_options options;
  options.listen = "localhost:0";
  if (!reads.empty()) options.reads_a_second = static_cast<unsigned>(std::stoul(reads));
  const auto page = must(sluice::dashboard::start(store, options));
  std::printf("%s\n", page.url().c_str());
  std::fflush(stdout);
  ::pause();
  return 0;
}

class served {
public:
  // `reads`: how many a second; empty for what everybody has.
  served(const std::string& self, const std::string& url, const std::string& reads = {}) {
    int ends[2];
    if (::pipe(ends) != 0) die("no pipe");
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      ::execl(self.c_str(), self.c_str(), "--serve", url.c_str(), reads.c_str(), nullptr);
      ::_exit(127);
    }
    ::close(ends[1]);
    char text[200] = "";
    if (::read(ends[0], text, sizeof text - 1) <= 0) die("the dashboard did not start");
    ::close(ends[0]);
    port = static_cast<unsigned>(std::stoul(std::strrchr(text, ':') + 1));
  }
  ~served() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  double resident_mib() const {
    std::ifstream statm("/proc/" + std::to_string(pid_) + "/statm");
    long total = 0, resident = 0;
    statm >> total >> resident;
    return static_cast<double>(resident * ::sysconf(_SC_PAGESIZE)) / (1024 * 1024);
  }
  double cpu_seconds() const {
    std::ifstream stat("/proc/" + std::to_string(pid_) + "/stat");
    std::string word;
    double ticks = 0;
    for (int i = 1; i <= 15 && stat >> word; ++i)
      if (i >= 14) ticks += std::stod(word);
    return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
  }
  unsigned port = 0;

private:
  pid_t pid_ = -1;
};

// ---- What is kept.

constexpr int marked = 50;  // jobs that a search finds, spread over all

void keep(const std::string& url, int jobs) {
  auto client = open_client(url);
  for (int n = 0; n < jobs; n += 1000) {
    std::vector<sluice::new_job> some(1000, noop());
    for (int i = 0; i < 1000; ++i) {
      some[i].queue = sluice::queue_name("kept");
      const bool is_marked = (n + i) % (jobs / marked) == 0;
      some[i].args = "{\"customer\":" + std::to_string(n + i) + ",\"marked\":" + (is_marked ? "true" : "false") + "}";
    }
    for (auto& r : client.enqueue(std::move(some)))
      must(std::move(r));
  }
}

// ---- What looks take.

template <class F>
pick_up times(int n, const F& act) {
  std::vector<double> ms;
  for (int i = 0; i < n; ++i) {
    const auto begin = steady::now();
    act();
    ms.push_back(seconds_since(begin) * 1000);
  }
  return summarize(std::move(ms));
}

void search(const served& page, const stores& on, const std::string& words) {
  const auto of_redis = on.redis_cpu_seconds(), of_page = page.cpu_seconds();
  std::vector<double> ms;
  std::string after;
  int found = 0;
  const auto begin = steady::now();
  do {
    auto asked = steady::now();
    const auto target = "/api/v1/jobs?limit=50&" + words + (after.empty() ? "" : "&after=" + escaped(after));
    auto said = get(page.port, target);
    for (; said.starts_with("HTTP/1.1 429"); said = get(page.port, target)) {
      std::this_thread::sleep_for(20ms);
      asked = steady::now();
    }
    if (!is_ok(said)) die("a search was answered " + said);
    ms.push_back(seconds_since(asked) * 1000);
    for (auto at = said.find("\"id\":"); at != std::string::npos; at = said.find("\"id\":", at + 1))
      ++found;
    after = value_in(said, "next");
  } while (!after.empty());
  const auto took = seconds_since(begin);
  std::printf("search by %s: %d found by %zu requests in %.1f s\n", words.c_str(), found, ms.size(), took);
  std::printf("%-44s %8.1f / %.1f s\n", "  processor time of the dashboard, of Redis", page.cpu_seconds() - of_page,
              on.redis_cpu_seconds() - of_redis);
  show("  a request, p50 / p99 / max", summarize(std::move(ms)));
}

void looks(const std::string& self, stores& on, const std::string& url, int jobs) {
  auto client = open_client(url);
  sluice::job_query query;
  query.state = sluice::job_state::enqueued;
  query.queue = sluice::queue_name("kept");
  query.with_args = false;
  query.limit = 200;
  for (int page = 1; page < std::min(5000, jobs / 200); ++page)
    query.after = must(client.list(query)).next;
  on.forget_slow_commands();
  {
    served eager(self, url, "1000");
    int limit = 200;  // no two ask the same, which would share an answer
    const auto page = [&](const std::string& after) {
      const auto said = get(eager.port, "/api/v1/jobs?state=enqueued&queue=kept&limit=" + std::to_string(limit--) +
                                            (after.empty() ? "" : "&after=" + escaped(after)));
      if (!is_ok(said)) die("a page was answered " + said.substr(0, 500));
    };
    show("first page of 181 to 200, p50 / p99 / max", times(20, [&] { page(""); }));
    limit = 200;
    show("page 5,000 of 181 to 200, p50 / p99 / max", times(20, [&] { page(query.after); }));
  }
  served usual(self, url);
  get(usual.port, "/metrics");
  show("a scrape of /metrics, p50 / p99 / max", times(200, [&] {
         if (!is_ok(get(usual.port, "/metrics"))) die("no metrics");
       }));
  search(usual, on, "match=marked%3Dtrue");
  search(usual, on, "state=enqueued&queue=kept&match=marked%3Dtrue");
  on.tell_slow_commands();
}

// ---- What those who look, or attack, cost the servers.

double rate(const std::string& url, int jobs) {
  auto client = open_client(url);
  for (int n = 0; n < jobs; n += 1000)
    for (auto& r : client.enqueue(std::vector<sluice::new_job>(1000, noop())))
      must(std::move(r));
  std::atomic<int> ran{0};
  sluice::handler_registry handlers;
  handlers.handle("noop", [&](sluice::job_context&) {
    ran.fetch_add(1, std::memory_order_relaxed);
    ran.notify_one();
  });
  auto options = options_for(url, 16, 1000);
  options.retention.succeeded = {};
  sluice::server server(options, handlers);
  if (const auto up = server.start(); !up) die(sluice::to_string(up.error()));
  const auto wait_for = [&](int count) {
    for (int seen = 0; (seen = ran.load()) < count;)
      ran.wait(seen);
  };
  wait_for(jobs / 10);
  const auto begin = steady::now();
  wait_for(jobs);
  const auto took = seconds_since(begin);
  server.stop();
  return jobs * 0.9 / took;
}

using disturber = std::function<void(unsigned port, const std::atomic<bool>& over)>;

void rest(const std::atomic<bool>& over, std::chrono::milliseconds length) {
  for (const auto until = steady::now() + length; !over && steady::now() < until;)
    std::this_thread::sleep_for(10ms);
}

disturber polls(const std::string& target, std::chrono::milliseconds pause) {
  return [=](unsigned port, const std::atomic<bool>& over) {
    while (!over) {
      get(port, target);
      rest(over, pause);
    }
  };
}

// Goes through all that is kept, again and again.
void searches(unsigned port, const std::atomic<bool>& over) {
  for (std::string after; !over;) {
    const auto said =
        get(port, "/api/v1/jobs?limit=50&match=marked%3Dtrue" + (after.empty() ? "" : "&after=" + escaped(after)));
    if (is_ok(said)) after = value_in(said, "next");
    else rest(over, 50ms);
  }
}

void slow_sockets(unsigned port, const std::atomic<bool>& over) {
  std::list<connection> held;
  while (!over) {
    for (auto& one : held)
      one.write("x");
    while (held.size() > 63)
      held.pop_front();
    while (held.size() < 64 && !over)
      held.emplace_back(port).write("GET /api/v1");
    rest(over, 1s);
  }
}

void many_headers(unsigned port, const std::atomic<bool>& over) {
  std::string many = head_of(port, "/api/v1");
  for (int i = 0; i < 10'000; ++i)
    many += "X-" + std::to_string(i) + ": 1\r\n";
  while (!over) {
    connection(port).write(many + "\r\n");
    rest(over, 200ms);
  }
}

void great_bodies(unsigned port, const std::atomic<bool>& over) {
  const std::string some(64 * 1024, 'x');
  while (!over) {
    connection c(port);
    c.write("POST /api/v1/jobs HTTP/1.1\r\nHost: localhost:" + std::to_string(port) +
            "\r\nContent-Type: application/json\r\nContent-Length: 2147483648\r\n\r\n");
    while (!over && c.write(some))
      continue;
    rest(over, 200ms);
  }
}

void any_bytes(unsigned port, const std::atomic<bool>& over) {
  std::mt19937 random(7);
  while (!over) {
    std::string bytes = random() % 2 ? head_of(port, "/api/v1/jobs") : std::string();
    for (auto n = random() % 2000; n > 0; --n)
      bytes += static_cast<char>(random());
    connection(port).write(bytes);
    rest(over, 20ms);
  }
}

void beside(const std::string& self, const std::string& url, const char* what, int pairs,
            const std::vector<disturber>& disturbers) {
  constexpr int jobs = 200'000;
  std::vector<double> ratios, alone;
  double max_mib = 0, cpu_seconds = 0;
  std::vector<double> next_ms;
  for (int pair = 0; pair < pairs; ++pair) {
    alone.push_back(rate(url, jobs));
    served page(self, url);
    get(page.port, "/api/v1/overview");
    const auto before = page.resident_mib();
    std::atomic<bool> over{false};
    std::vector<std::thread> threads;
    for (const auto& one : disturbers)
      threads.emplace_back([&] { one(page.port, over); });
    threads.emplace_back([&] {
      for (; !over; rest(over, 500ms)) {
        const auto begin = steady::now();
        if (!is_ok(get(page.port, "/health/live"))) die("the next request was not answered");
        next_ms.push_back(seconds_since(begin) * 1000);
      }
    });
    ratios.push_back(rate(url, jobs) / alone.back());
    max_mib = std::max(max_mib, page.resident_mib() - before);
    over = true;
    for (auto& one : threads)
      one.join();
    cpu_seconds += page.cpu_seconds() / pairs;
  }
  const auto of = summarize(ratios);
  std::printf("beside %s: %.2f of %.0f jobs/s (%.2f to %.2f); memory %+.1f MiB, processor %.2f s\n", what, of.p50,
              summarize(alone).p50, *std::min_element(ratios.begin(), ratios.end()), of.most, max_mib, cpu_seconds);
  show("  another request, p50 / p99 / max", summarize(std::move(next_ms)));
}

void rates(const std::string& self, const std::string& url, int pairs, const std::string& only) {
  const auto wanted = [&](const char* what) { return only.empty() || only == what; };
  if (wanted("nobody")) beside(self, url, "a dashboard that nobody asks", pairs, {});
  if (wanted("search")) beside(self, url, "a search without end", pairs, {searches});
  std::vector<disturber> watchers(20, polls("/api/v1/jobs?state=enqueued&queue=kept", 2s));
  watchers.insert(watchers.end(), 20, polls("/api/v1/overview", 2s));
  watchers.push_back(polls("/metrics", 5s));
  if (wanted("watchers")) beside(self, url, "20 who watch lists and counts", pairs, watchers);
  if (wanted("attack")) beside(self, url, "an attack", pairs, {slow_sockets, many_headers, great_bodies, any_bytes});
}

}  // namespace

int main(int argc, char** argv) {
  bench::help(argc, argv,
              "dashboard_bench [--store redis|sqlite] [--jobs 1000000] [--pairs 7] [--only "
              "looks|nobody|search|watchers|attack]");
  if (argc > 2 && std::strcmp(argv[1], "--serve") == 0) return serve(argv[2], argc > 3 ? argv[3] : "");
  sluice::set_log_level(sluice::log_level::error);
  bool redis = true;
  int jobs = 1'000'000, pairs = 7;
  std::string only;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--store") == 0) redis = std::strcmp(argv[i + 1], "sqlite") != 0;
    else if (std::strcmp(argv[i], "--jobs") == 0) jobs = std::stoi(argv[i + 1]);
    else if (std::strcmp(argv[i], "--pairs") == 0) pairs = std::stoi(argv[i + 1]);
    else if (std::strcmp(argv[i], "--only") == 0) only = argv[i + 1];
    else die(std::string("unknown option ") + argv[i]);
  }
  stores on(redis);
  std::printf("%s; %u processors; %d jobs kept\n\n", redis ? "Redis" : "SQLite", std::thread::hardware_concurrency(),
              jobs);
  const auto self = fs::read_symlink("/proc/self/exe").string();
  const auto url = on.url();
  keep(url, jobs);
  if (only.empty() || only == "looks") looks(self, on, url, jobs);
  rates(self, url, pairs, only);
}
