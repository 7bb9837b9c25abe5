// What is seen while the sample runs: a table with a line for each queue.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include <sluice/client.hpp>

#include "cache_refresh/provider.hpp"

namespace sample {

class live_view {
public:
  // On a terminal the table is drawn in place, five times a second; else it is printed now and then.
  live_view(sluice::client& client, const sluice::server_options& options, const provider& asked, bool terminal);

  std::chrono::milliseconds interval() const { return std::chrono::milliseconds(terminal_ ? 200 : 2000); }

  void show(double seconds, const std::string& phase);

private:
  struct finished {
    std::uint64_t succeeded = 0, failed = 0;
  };

  std::vector<std::string> table(double seconds, const std::string& phase);
  std::string queue_line(const std::string& name, const sluice::queue_counts& counts);
  std::string heavy_line();

  sluice::client& client_;
  const sluice::server_options& options_;
  const provider& provider_;
  const bool terminal_;
  std::map<std::string, finished> before_;  // of earlier runs, which the store still counts
  std::size_t drawn_ = 0;                   // lines on the terminal
};

}  // namespace sample
