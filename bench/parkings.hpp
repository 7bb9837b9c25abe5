// How often jobs are parked, counted from outside by what the store writes: members that come into the lines of
// throttled jobs. It costs time, so nothing else is measured beside it.
#pragma once

#include <poll.h>

#include <algorithm>
#include <memory>

#include "bench/measure.hpp"
#include "tests/support/redis_server.hpp"

namespace bench {

class parkings {
public:
  virtual ~parkings() = default;
  virtual std::uint64_t count() = 0;  // of all steps of the store that were answered
};

class sqlite_parkings final : public parkings {
public:
  explicit sqlite_parkings(const std::string& file) {
    sqlite3_open(file.c_str(), &db_);
    sqlite3_busy_timeout(db_, 10'000);
    run("CREATE TABLE bench_parkings(n INTEGER); INSERT INTO bench_parkings VALUES(0);"
        "CREATE TRIGGER bench_parking AFTER INSERT ON scores "
        "WHEN (SELECT CAST(name AS TEXT) FROM keys WHERE id=NEW.key) LIKE '{sluice}:throttled:%' "
        "BEGIN UPDATE bench_parkings SET n=n+1; END");
  }
  ~sqlite_parkings() override { sqlite3_close(db_); }
  sqlite_parkings(const sqlite_parkings&) = delete;

  std::uint64_t count() override {
    std::uint64_t n = 0;
    const auto read = [](void* to, int, char** texts, char**) {
      *static_cast<std::uint64_t*>(to) = std::stoull(texts[0]);
      return 0;
    };
    run("SELECT n FROM bench_parkings", read, &n);
    return n;
  }

private:
  void run(const char* sql, sqlite3_callback each = nullptr, void* to = nullptr) {
    if (sqlite3_exec(db_, sql, each, to, nullptr) != SQLITE_OK) die(sqlite3_errmsg(db_));
  }

  sqlite3* db_ = nullptr;
};

// Reads what MONITOR tells of each command, those of scripts too.
class redis_parkings final : public parkings {
public:
  explicit redis_parkings(const sluice::test::redis_server& redis)
      : redis_(redis), socket_(sluice::test::connect_to(sluice::test::unix_at(redis.socket()))) {
    const std::string ask = "MONITOR\r\n";
    if (::write(socket_, ask.data(), ask.size()) != static_cast<ssize_t>(ask.size()))
      die("MONITOR cannot be asked for");
    thread_ = std::thread([this] { read(); });
    listening_.wait(false);
  }
  ~redis_parkings() override {
    count();
    ::close(socket_);
  }
  redis_parkings(const redis_parkings&) = delete;

  // Once it has read its own command, it has read all before.
  std::uint64_t count() override {
    if (thread_.joinable()) {
      redis_.command({"ECHO", end_});
      thread_.join();
    }
    return n_;
  }

private:
  void read() {
    std::string text;
    for (char bytes[65536];;) {
      pollfd ready{socket_, POLLIN, 0};
      ::poll(&ready, 1, -1);
      const auto got = ::read(socket_, bytes, sizeof bytes);
      if (got <= 0) die("MONITOR has ended");
      text.append(bytes, static_cast<std::size_t>(got));
      std::size_t at = 0;
      for (std::size_t end = 0; (end = text.find("\r\n", at)) != std::string::npos; at = end + 2) {
        const std::string_view line(text.data() + at, end - at);
        if (line == "+OK") listening_ = true, listening_.notify_all();
        if (line.find(end_) != std::string_view::npos) return;
        n_ += members_of(line);
      }
      text.erase(0, at);
    }
  }

  // Of a line as: +1780000000.000000 [0 lua] "ZADD" "{sluice}:throttled:default" "1" "id" "2" "id"
  static std::uint64_t members_of(std::string_view line) {
    constexpr std::string_view adds = R"( lua] "ZADD" "{sluice}:throttled:)";
    const auto at = line.find(adds);
    if (at == std::string_view::npos) return 0;
    const auto quotes = std::count(line.begin() + static_cast<std::ptrdiff_t>(at + adds.size()), line.end(), '"');
    return static_cast<std::uint64_t>(quotes - 1) / 4;
  }

  static constexpr const char* end_ = "the end of the parkings";
  const sluice::test::redis_server& redis_;
  int socket_;
  std::uint64_t n_ = 0;
  std::atomic<bool> listening_{false};
  std::thread thread_;
};

}  // namespace bench
