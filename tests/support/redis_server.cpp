#include "support/redis_server.hpp"

#include <hiredis/hiredis.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <sstream>
#include <stdexcept>

namespace sluice::test {
namespace {

using connection = std::unique_ptr<redisContext, decltype(&redisFree)>;
using raw_reply = std::unique_ptr<void, decltype(&freeReplyObject)>;

[[noreturn]] void fail(const std::string& why) { throw std::runtime_error(why); }

// The first program on PATH that serves.
std::string find_program() {
  const char* path = std::getenv("PATH");
  for (const std::string name : {"redis-server", "valkey-server"}) {
    std::istringstream folders(path ? path : "/usr/bin:/bin");
    for (std::string folder; std::getline(folders, folder, ':');)
      if (const auto file = folder + "/" + name; ::access(file.c_str(), X_OK) == 0) return file;
  }
  fail("neither redis-server nor valkey-server is on PATH: install redis-server");
}

reply_type type_of(int raw) {
  switch (raw) {
    case REDIS_REPLY_STRING: return reply_type::string;
    case REDIS_REPLY_ARRAY: return reply_type::array;
    case REDIS_REPLY_INTEGER: return reply_type::integer;
    case REDIS_REPLY_NIL: return reply_type::nil;
    case REDIS_REPLY_STATUS: return reply_type::status;
    case REDIS_REPLY_ERROR: return reply_type::error;
    default: fail("a reply of an unknown type");
  }
}

redis_reply copy_of(const redisReply& raw) {
  redis_reply copy;
  copy.type = type_of(raw.type);
  if (copy.type == reply_type::integer) copy.integer = raw.integer;
  if (raw.str) copy.text.assign(raw.str, raw.len);
  if (copy.type == reply_type::array)
    for (std::size_t i = 0; i < raw.elements; ++i)
      copy.elements.push_back(copy_of(*raw.element[i]));
  return copy;
}

connection connect(const address& at, std::chrono::milliseconds timeout) {
  const timeval limit{timeout.count() / 1000, timeout.count() % 1000 * 1000};
  connection made(at.path.empty() ? redisConnectWithTimeout(at.host.c_str(), at.port, limit)
                                  : redisConnectUnixWithTimeout(at.path.c_str(), limit),
                  &redisFree);
  if (!made || made->err) fail(std::string("cannot reach the server: ") + (made ? made->errstr : "no memory"));
  redisSetTimeout(made.get(), limit);
  return made;
}

redis_reply ask(redisContext& server, const std::vector<std::string>& words) {
  std::vector<const char*> starts;
  std::vector<std::size_t> sizes;
  for (const auto& word : words) {
    starts.push_back(word.data());
    sizes.push_back(word.size());
  }
  const raw_reply raw(redisCommandArgv(&server, static_cast<int>(words.size()), starts.data(), sizes.data()),
                      &freeReplyObject);
  if (!raw) fail("no answer to " + words.at(0) + ": " + server.errstr);
  return copy_of(*static_cast<const redisReply*>(raw.get()));
}

void must_be_ok(const redis_reply& r, const std::string& doing) {
  if (r.is_error()) fail(doing + ": " + r.text);
}

// PING is refused with LOADING for as long as the kept keys are read.
bool answers(redis_caller server) {
  server.timeout = 1s;
  try {
    return server({"PING"}).text == "PONG";
  } catch (const std::runtime_error&) {
    return false;
  }
}

void await_answer(process& p, const redis_caller& server) {
  const bool ready = eventually([&] { return !p.alive() || answers(server); });
  if (!ready || !p.alive()) fail("the server did not get ready:\n" + p.log());
}

void end(std::optional<process>& p) {
  if (!p) return;
  p->signal(SIGKILL);
  if (!p->wait(20s)) fail("a killed server does not end");
  p.reset();
}

}  // namespace

redis_reply redis_caller::operator()(const std::vector<std::string>& words) const {
  const auto server = connect(at, timeout);
  if (!password.empty()) must_be_ok(ask(*server, {"AUTH", password}), "AUTH");
  if (db != 0) must_be_ok(ask(*server, {"SELECT", std::to_string(db)}), "SELECT");
  return ask(*server, words);
}

redis_server::redis_server(redis_options o) : options_(std::move(o)) {
  if (socket().size() > 107) fail("TMPDIR is too long for a Unix socket: " + socket());
  // Somebody else may take the port between the look and the start.
  for (int tries = 5; !process_; --tries) {
    if (options_.tcp) port_ = free_port();
    try {
      start();
    } catch (const std::runtime_error&) {
      if (!options_.tcp || tries == 0 || log().find("Address already in use") == std::string::npos) throw;
    }
  }
}

pid_t redis_server::pid() const {
  if (!process_) fail("the server was killed");
  return process_->pid();
}

bool redis_server::alive() { return process_ && process_->alive(); }

void redis_server::launch() {
  const bool aof = options_.appendonly != "no";
  std::vector<std::string> argv{find_program()};
  const auto set = [&](const std::string& name, const std::string& value) {
    argv.insert(argv.end(), {"--" + name, value});
  };
  set("port", std::to_string(port_));
  set("bind", "127.0.0.1");
  set("protected-mode", "yes");
  set("unixsocket", socket());
  set("dir", folder_.path().string());
  set("daemonize", "no");  // its log is its output, which `process` puts into a file
  set("save", "");
  set("appendonly", aof ? "yes" : "no");
  if (aof) set("appendfsync", options_.appendonly);
  set("repl-diskless-sync-delay", "0");  // else a replica waits 5 s for others
  if (!options_.password.empty()) {
    set("requirepass", options_.password);
    set("masterauth", options_.password);
  }
  if (const auto& master = options_.replica_of)
    argv.insert(argv.end(), {"--replicaof", master->host, std::to_string(master->port)});
  argv.insert(argv.end(), options_.extra_args.begin(), options_.extra_args.end());
  ::unlink(socket().c_str());  // what a killed one left would be taken for it
  process_.emplace(std::move(argv), folder_.file("redis.log"));
}

void redis_server::start() {
  if (alive()) return;
  process_.reset();
  launch();
  try {
    wait_ready();
  } catch (const std::runtime_error&) {
    process_.reset();
    throw;
  }
}

void redis_server::kill() { end(process_); }

void redis_server::restart() {
  kill();
  start();
}

void redis_server::stop_process() {
  pid();
  if (!process_->stop()) fail("the server does not stop");
}

void redis_server::continue_process() {
  pid();
  process_->signal(SIGCONT);
}

void redis_server::wait_ready() {
  pid();
  await_answer(*process_, {unix_at(socket()), 0, options_.password});
}

redis_reply redis_server::command(const std::vector<std::string>& words, int db) const {
  return redis_caller{unix_at(socket()), db, options_.password}(words);
}

std::string redis_server::info(const std::string& field) const {
  std::istringstream lines(command({"INFO", "everything"}).text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.starts_with(field + ":")) return line.substr(field.size() + 1);
  }
  return {};
}

double redis_server::cpu_seconds() const {
  clockid_t its_clock{};
  timespec used{};
  if (::clock_getcpuclockid(pid(), &its_clock) != 0 || ::clock_gettime(its_clock, &used) != 0)
    fail("the server is gone");
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

redis_sentinel::redis_sentinel(std::string name, int master_port, std::string password)
    : name_(std::move(name)), port_(free_port()) {
  const auto lines = {"port " + std::to_string(port_),
                      std::string("bind 127.0.0.1"),
                      "dir " + folder_.path().string(),
                      "sentinel monitor " + name_ + " 127.0.0.1 " + std::to_string(master_port) + " 1",
                      "sentinel down-after-milliseconds " + name_ + " 500",
                      "sentinel failover-timeout " + name_ + " 2000",
                      password.empty() ? "" : "sentinel auth-pass " + name_ + " " + password};
  std::string config;
  for (const auto& line : lines)
    config += line + "\n";
  write_file(folder_.file("sentinel.conf"), config);
  process_.emplace(std::vector{find_program(), folder_.file("sentinel.conf"), std::string("--sentinel")},
                   folder_.file("sentinel.log"));
  await_answer(*process_, {local_at(port_)});
}

void redis_sentinel::kill() { end(process_); }

redis_reply redis_sentinel::command(const std::vector<std::string>& words) const {
  return redis_caller{local_at(port_)}(words);
}

address redis_sentinel::master() const {
  const auto r = command({"SENTINEL", "get-master-addr-by-name", name_});
  if (r.elements.size() != 2) fail("the sentinel knows no master " + name_);
  return {r.elements[0].text, std::stoi(r.elements[1].text), {}};
}

void redis_sentinel::wait_replicas(int count) const {
  const bool known = eventually([&] {
    const auto r = command({"SENTINEL", "replicas", name_});
    return static_cast<int>(r.elements.size()) >= count;
  });
  if (!known) fail("the sentinel does not find the replicas:\n" + log());
}

}  // namespace sluice::test
