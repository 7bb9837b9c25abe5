// A real redis-server (or valkey-server) of a test's own, and a sentinel that watches one.
#pragma once

#include <chrono>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "support/process.hpp"
#include "support/sockets.hpp"
#include "support/temp_dir.hpp"

namespace sluice::test {

enum class reply_type { string, array, integer, nil, status, error };

struct redis_reply {
  reply_type type = reply_type::nil;
  long long integer = 0;
  std::string text;  // of a string, a status, an error
  std::vector<redis_reply> elements;

  bool is_error() const { return type == reply_type::error; }
  bool is_nil() const { return type == reply_type::nil; }
};

// What a server refuses is a reply; std::runtime_error is that it cannot be reached, or did not answer within
// `patience`. Each call has a connection of its own, so nothing is kept from one to the next (SELECT, MULTI, WATCH).
struct redis_caller {
  address at = {};
  int db = 0;
  std::string password = {};
  std::chrono::milliseconds timeout = 20s;

  redis_reply operator()(const std::vector<std::string>& words) const;
};

struct redis_options {
  bool tcp = false;               // a loopback port too; replication and sentinels need one
  std::string appendonly = "no";  // or how often the append-only file is synced: everysec, always
  std::vector<std::string> extra_args = {};
  std::optional<address> replica_of = {};
  std::string password = {};  // letters and digits
};

// Started by its constructor, killed by its destructor. Socket, port and folder stay the same over its lives. One
// thread at a time, but for `command` and `info`, which any number may call. What fails throws std::runtime_error.
class redis_server {
public:
  using options = redis_options;

  explicit redis_server(redis_options o = {});

  std::string url(int db = 0) const { return redis_url(unix_at(socket()), db, options_.password); }
  std::string tcp_url(int db = 0) const { return redis_url(local_at(port()), db, options_.password); }
  std::string socket() const { return folder_.file("redis.sock"); }
  int port() const { return port_; }  // 0 without tcp
  pid_t pid() const;
  bool alive();

  // Starts a server that is not there and waits until it is ready. It has its append-only file again, nothing else.
  void start();
  // SIGKILL: it is gone when this returns. What it had not written to its append-only file is lost.
  void kill();
  void restart();
  // SIGSTOP: from when this returns it does nothing, while its sockets still take connections and bytes.
  void stop_process();
  void continue_process();
  // It answers, and has loaded what it had kept. A replica may not have its master's keys yet.
  void wait_ready();

  // "INCR", "a". See redis_caller.
  redis_reply command(const std::vector<std::string>& words, int db = 0) const;
  // One line of INFO everything, such as "used_memory" or "cmdstat_get"; empty when there is none.
  std::string info(const std::string& field) const;
  // Processor time of all its threads since its last run, to the microsecond.
  double cpu_seconds() const;
  std::string log() const { return read_file(folder_.file("redis.log")); }

private:
  void launch();

  redis_options options_;
  temp_dir folder_;
  int port_ = 0;
  std::optional<process> process_;
};

// A sentinel of its own that watches one master on loopback: down after 500 ms, failover by its own vote alone.
class redis_sentinel {
public:
  redis_sentinel(std::string name, int master_port, std::string password = {});

  int port() const { return port_; }
  pid_t pid() const { return process_->pid(); }
  void kill();

  // Where it says that the master is now.
  address master() const;
  // Until it knows so many replicas: a failover before that finds nobody to promote.
  void wait_replicas(int count) const;
  redis_reply command(const std::vector<std::string>& words) const;
  std::string log() const { return read_file(folder_.file("sentinel.log")); }

private:
  std::string name_;
  temp_dir folder_;
  int port_ = 0;
  std::optional<process> process_;
};

}  // namespace sluice::test
