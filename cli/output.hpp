// How results are shown: a table for people, one JSON object a line for programs.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <sluice/error.hpp>
#include <sluice/explanation.hpp>
#include <sluice/job.hpp>
#include <sluice/lock.hpp>
#include <sluice/operator_log.hpp>
#include <sluice/recurring.hpp>
#include <sluice/throttler_status.hpp>
#include <sluice/totals.hpp>

#include "wire/error_groups.hpp"

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

std::string ago(time_point at);  // "3 min", by this program's clock

inline constexpr std::uint32_t args_shown = 60;  // bytes
// `with_args`: with how they begin.
std::string jobs_table(const std::vector<job>& jobs, bool with_args);
std::string errors_table(const std::vector<wire::error_group>& errors);
std::string locks_table(const std::vector<lock_status>& locks);
std::string quarantine_table(const std::vector<quarantined_job>& jobs);
std::string groups_table(const std::vector<group_status>& groups);
std::string operator_log_table(const std::vector<operator_action>& actions);
std::string queues_table(const std::vector<queue_counts>& queues);
std::string totals_table(const totals_report& report);
std::string servers_table(const std::vector<server_info>& servers);
std::string holders_table(const std::vector<throttler_holder>& holders);
std::string waiters_table(const std::vector<job_id>& waiters);
std::string recurring_table(const std::vector<recurring_status>& all);
std::string throttlers_table(const std::vector<throttler_status>& throttlers);
std::string job_page_text(const job& j);  // everything about one job
std::string throttler_page_text(const throttler_status& t);
std::string recurring_page_text(const recurring_outlook& o);

std::string quarantined_page_text(const quarantined_record& q);

// Whether a person is there to be asked, and what they say.
bool may_ask();
bool says_yes(const std::string& question);
inline constexpr const char* nobody_to_ask = "--all asks before it begins, and nobody is there to answer: add --yes";

void print(const std::string& text);
void print_line(const std::string& text);
// An error for people: the sentence first, and its code behind it.
std::string sentence_of(const error& e);
// All that follow go to standard error, escaped.
void note(const std::string& text);
// And the exit code.
int failed(const error& e);
int usage_error(const std::string& text);

}  // namespace sluice::cli
