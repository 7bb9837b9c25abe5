// How results are shown: a table for people, one JSON object a line for programs.
#pragma once

#include <string>
#include <vector>

#include <sluice/job.hpp>

namespace sluice::cli {

// Columns as wide as their widest cell; numbers to the right. Cells are escaped for terminals.
class table {
public:
  explicit table(std::vector<std::string> head) : rows_{std::move(head)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string text() const;

private:
  std::vector<std::vector<std::string>> rows_;
};

std::string json_line(const job& j);
std::string json_line(const queue_counts& q);
std::string json_line(const server_info& s);
std::string json_fault(const std::string& pointer, const std::string& problem);

std::string jobs_table(const std::vector<job>& jobs);
std::string queues_table(const std::vector<queue_counts>& queues);
std::string servers_table(const std::vector<server_info>& servers);
std::string job_page_text(const job& j);  // everything about one job

}  // namespace sluice::cli
