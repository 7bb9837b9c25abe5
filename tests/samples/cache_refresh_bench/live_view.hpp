// What is seen while it measures: a table with a line for each queue.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include <sluice/client.hpp>

#include "samples/cache_refresh_bench/options.hpp"
#include "samples/provider/provider.hpp"

namespace sample {

class live_view {
public:
  // On a terminal the table is drawn in place, five times a second; else it is printed now and then.
  live_view(sluice::client& client, const sluice::server_options& served, const run_options& options,
            const provider& asked, bool terminal);

  void show(const std::string& phase);
  void show_when_due(const std::string& phase);

private:
  struct finished {
    std::uint64_t succeeded = 0, failed = 0;
  };

  std::vector<std::string> table(const std::string& phase);
  std::map<std::string, std::uint32_t> workers();
  std::string queue_line(const std::string& name, std::uint32_t workers, const sluice::queue_counts& counts);
  std::string oldest_wait(const std::string& name, const sluice::queue_counts& counts);
  std::string heavy_line();

  sluice::client& client_;
  const sluice::server_options& served_;
  const std::string title_;
  const provider& provider_;
  const bool terminal_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point next_ = begin_;
  std::map<std::string, finished> before_;  // of earlier runs, which the store still counts
  std::size_t drawn_ = 0;                   // lines on the terminal
};

}  // namespace sample
