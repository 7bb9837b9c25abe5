// What is known, as JSON: one object in one line. The API and `sluice --json` say it in the same words, which are here.
// Args and results that are JSON stand as JSON, and their exact bytes beside as args_text and result_text, since
// readers round numbers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/error.hpp>
#include <sluice/explanation.hpp>
#include <sluice/job.hpp>
#include <sluice/lock.hpp>
#include <sluice/operator_log.hpp>
#include <sluice/recurring.hpp>
#include <sluice/throttler_status.hpp>
#include <sluice/totals.hpp>

#include "dashboard/error_groups.hpp"

namespace sluice::web {

// What is told of how far a job is: of one that succeeded not that it was halfway when it last said so.
std::optional<progress_report> progress_of(const job& j);
// Without content: no args, headers, results and error texts.
std::string json_of(const job& j, bool with_content = true);
std::string json_page(const job& j, bool with_content = true);  // with what `client::get` alone tells
// `refused`: how many, of whom the page may have the first alone.
std::string json_of(const changed_page& c, std::uint64_t refused);
std::string json_of(const job_id& id);
// {"id":...}, and what came of it where that is not "stored".
std::string json_of(const enqueue_report& report);
std::string json_of(const group_status& g);
// What a change did to something: {"NAME":"WHAT","done":"DONE"}.
std::string json_done(std::string_view name, std::string_view what, std::string_view done);
std::string json_triggered(const std::string& name, const job_id& id);
std::string json_of(const queue_counts& q);
// Those since ever at first.
std::vector<std::string> json_lines(const std::string& queue, const totals_report& report);
std::string json_of(const server_info& s);
std::string json_of(const lock_status& l);
std::string json_of(const quarantined_job& q);
std::string json_page(const quarantined_record& q, bool with_content = true);  // its bytes in base64
std::string json_of(const operator_action& a);
std::string json_of(const error_group& g);
std::string json_of(const throttler_status& t);
std::string json_of(const throttler_holder& h);
std::string json_of(const recurring_status& s, bool with_content = true);
std::string json_page(const throttler_status& t);  // with definition, keys, holders and waiters
std::string json_page(const recurring_outlook& o, bool with_content = true);
// Without content: no more of the sentence than what Sluice says itself.
std::string json_of(const job_id& id, const explanation& e, bool with_content = true);
// With its offset, "2026-03-08T03:00:00-04:00"; before there were zones, an offset has seconds. So many digits and
// marks before the offset: 19 to the second, 23 to the millisecond.
std::string local_text(time_point at, std::chrono::seconds offset, std::size_t letters);
// The instants to come, in UTC and by the clocks of its zone; without these when the zone is not known here.
std::vector<std::pair<std::string, std::string>> next_runs(const recurring_outlook& o);
std::string json_fault(const std::string& pointer, const std::string& problem);

}  // namespace sluice::web
