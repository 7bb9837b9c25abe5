// Every path there is, with what it takes, who may ask, and who answers. Of the API the OpenAPI text says the same, and
// a test compares.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dashboard/board.hpp"
#include "dashboard/problem.hpp"
#include "wire/body.hpp"
#include "wire/json.hpp"

namespace sluice::web {

using wire::body_reader;
using wire::json_done;
using wire::json_of;
using wire::json_page;

// A request on its way through a route.
struct visit {
  board& on;
  const http_request& request;
  std::vector<std::string> names{};  // what stands in its path for {NAME}, in order
  visitor who{};
  std::vector<std::string> about{};  // what was changed, for the log

  // A parameter of the query; empty when it is not there.
  std::string parameter(std::string_view name) const;
  std::vector<std::string> parameters(std::string_view name) const;
  // A page's length, 1 to 200.
  result<std::uint32_t> limit() const;
  // For a change, in the name of who asks.
  client changing() const;
};

enum class answered_from : std::uint8_t {
  memory,
  reads,  // of the store, shared by all who ask the same
  store,
};

struct route {
  std::string_view method;
  std::string_view pattern;  // "/api/v1/jobs/{id}"
  access_need need;
  answered_from from;
  std::vector<std::string_view> parameters;  // of its query; others are refused, but by a page
  http_response (*answer)(visit&);
  bool is_for_people = false;  // a page, or a file of the pages: no part of the API
};
std::span<const route> routes();

// The route of a request; or none, with the methods that its path has.
struct found_route {
  const route* way = nullptr;
  std::vector<std::string> names{};
  std::string allowed{};  // as "GET, HEAD, PUT"; empty: there is no such path
};
found_route find_route(const http_request& request);

// The refusal of a job that would run a command, where nobody may ask for one here.
std::optional<http_response> refused_command(const visit& v, const job_type& type);

// What is wrong with a body of which all keys have been asked for; nothing when all is right.
std::optional<http_response> wrong_with(body_reader& body);
// The same of a request that says all by its path.
std::optional<http_response> unexpected_body(const visit& v);

http_response json_answer(std::string body, unsigned status = 200);
// What came of a change of one thing: {"KIND":"NAME","done":"..."}, or the problem.
http_response changed(visit& v, std::string_view kind, const std::string& name, const result<void>& how,
                      std::string_view done);
// {"NAME":[...],"next":"..."} and what else is said, which begins with a comma.
http_response json_page_answer(std::string_view name, const std::vector<std::string>& items, const std::string& next,
                               const std::string& more = {});

template <class Page, class Items>
http_response page_of(std::string_view name, const result<Page>& page, Items Page::*items) {
  if (!page) return problem(page.error());
  std::vector<std::string> all;
  for (const auto& item : (*page).*items)
    all.push_back(json_of(item));
  return json_page_answer(name, all, page->next);
}

// By file.
http_response show_page(visit& v);
http_response show_asset(visit& v);

http_response list_jobs(visit& v);
http_response list_errors(visit& v);
http_response enqueue_job(visit& v);
http_response enqueue_all(visit& v);
http_response change_jobs(visit& v);
http_response show_job(visit& v);
http_response delete_job(visit& v);
http_response cancel_job(visit& v);
http_response requeue_job(visit& v);
http_response explain_job(visit& v);
http_response show_args(visit& v);
http_response show_result(visit& v);

http_response list_queues(visit& v);
http_response show_queue(visit& v);
http_response pause_queue(visit& v);
http_response resume_queue(visit& v);
http_response show_totals(visit& v);

http_response list_groups(visit& v);
http_response show_group(visit& v);
http_response create_group(visit& v);
http_response seal_group(visit& v);
http_response cancel_group(visit& v);
http_response requeue_failed_of_group(visit& v);

http_response list_throttlers(visit& v);
http_response show_throttler(visit& v);
http_response set_throttler(visit& v);
http_response remove_throttler(visit& v);
http_response list_holders(visit& v);
http_response list_waiters(visit& v);

http_response list_schedules(visit& v);
http_response show_schedule(visit& v);
http_response set_schedule(visit& v);
http_response remove_schedule(visit& v);
http_response pause_schedule(visit& v);
http_response resume_schedule(visit& v);
http_response trigger_schedule(visit& v);

http_response show_api(visit& v);
http_response show_openapi(visit& v);
const std::string& openapi();
http_response show_overview(visit& v);
http_response list_servers(visit& v);
http_response list_locks(visit& v);
http_response list_quarantine(visit& v);
http_response show_quarantined(visit& v);
http_response drop_quarantined(visit& v);
http_response requeue_quarantined(visit& v);
http_response list_operator_log(visit& v);
http_response show_metrics(visit& v);
http_response show_live(visit& v);
http_response show_ready(visit& v);

}  // namespace sluice::web
