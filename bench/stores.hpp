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
  // Of this process and of its Redis.
  double cpu_seconds() const { return own_cpu_seconds() + (redis_ ? redis_->cpu_seconds() : 0); }
  // Others beside it, empty as well.
  std::string beside(const std::string& name) {
    if (!redis_) return "sqlite:" + fresh(folder_, (name + ".db").c_str());
    return redis_->url() + "&prefix=" + name;
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
