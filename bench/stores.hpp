// Where a benchmark works: a Redis or a folder of its own.
#pragma once

#include <memory>

#include "bench/measure.hpp"
#include "bench/parkings.hpp"
#include "tests/support/redis_server.hpp"

namespace bench {

// A store of its own, empty at each `url()`.
class stores {
public:
  explicit stores(bool redis) {
    if (redis) redis_ = std::make_unique<sluice::test::redis_server>();
    else folder_ = fs::temp_directory_path() / ("sluice_bench-" + std::to_string(::getpid()));
  }
  ~stores() {
    std::error_code ignored;
    if (!folder_.empty()) fs::remove_all(folder_, ignored);
  }
  std::string url() {
    if (!redis_) return "sqlite:" + fresh(folder_, "bench.db");
    redis_->command({"FLUSHALL"});
    return redis_->url();
  }
  sluice::test::redis_server* redis() { return redis_.get(); }  // none: SQLite
  // Of its Redis, and of this process too.
  double redis_cpu_seconds() const { return redis_ ? redis_->cpu_seconds() : 0; }
  double cpu_seconds() const { return own_cpu_seconds() + redis_cpu_seconds(); }
  // Others beside it, empty as well.
  std::string beside(const std::string& name) {
    if (!redis_) return "sqlite:" + fresh(folder_, (name + ".db").c_str());
    return redis_->url() + "&prefix=" + name;
  }
  // Commands that held Redis up for more than 5 ms since they were forgotten.
  void forget_slow_commands() {
    if (!redis_) return;
    redis_->command({"CONFIG", "SET", "slowlog-log-slower-than", "5000"});
    redis_->command({"SLOWLOG", "RESET"});
  }
  void tell_slow_commands() {
    if (!redis_) return;
    std::printf("%-44s %8lld\n", "commands that took Redis more than 5 ms",
                redis_->command({"SLOWLOG", "LEN"}).integer);
    for (const auto& one : redis_->command({"SLOWLOG", "GET", "5"}).elements)
      std::printf("  %lld us: %s\n", one.elements.at(2).integer, one.elements.at(3).elements.at(0).text.c_str());
  }
  // Of what the last `url()` named.
  std::unique_ptr<parkings> count_parkings() {
    if (redis_) return std::make_unique<redis_parkings>(*redis_);
    return std::make_unique<sqlite_parkings>((folder_ / "bench.db").string());
  }
  std::string file(const std::string& name) {
    if (!folder_.empty()) return (folder_ / name).string();
    return redis_->socket() + "." + name;
  }

private:
  std::unique_ptr<sluice::test::redis_server> redis_;
  fs::path folder_;
};

}  // namespace bench
