#include "dashboard/problem.hpp"

#include <algorithm>

#include "core/log.hpp"
#include "core/text.hpp"

namespace sluice::web {

using wire::body_fault;
using wire::is_for_clients;
using wire::max_faults_told;
using wire::max_of_a_detail;
using wire::told_of;

namespace {

std::string_view title_of(unsigned status) {
  switch (status) {
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 409: return "Conflict";
    case 411: return "Length Required";
    case 412: return "Precondition Failed";
    case 413: return "Content Too Large";
    case 415: return "Unsupported Media Type";
    case 421: return "Misdirected Request";
    case 422: return "Unprocessable Content";
    case 429: return "Too Many Requests";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 507: return "Insufficient Storage";
    default: return "Internal Server Error";
  }
}

http_response made(unsigned status, const std::string& fields) {
  http_response said;
  said.status = status;
  said.type = "application/problem+json";
  said.body = cat("{", fields, "}");
  if (status == 429 || status == 503) said.headers.emplace_back("Retry-After", "1");
  return said;
}

std::string fields_of(errc code, std::string_view detail) {  // as clients may be told
  const auto status = status_of(code);
  return cat("\"type\":\"/problems/", name_of(code), "\",\"title\":", json_quoted(describe(code)),
             ",\"status\":", status, ",\"detail\":", json_quoted(detail), ",\"code\":\"", name_of(code), "\"");
}

}  // namespace

unsigned status_of(errc code) {
  switch (code) {
    case errc::invalid_argument:
    case errc::invalid_config: return 400;
    case errc::not_found:
    case errc::damaged_record: return 404;
    case errc::id_conflict:
    case errc::illegal_transition:
    case errc::stale_fence:
    case errc::lock_held:
    case errc::unique_conflict:
    case errc::group_closed: return 409;
    case errc::too_large: return 413;
    case errc::refused: return 422;
    case errc::overloaded: return 429;
    case errc::not_served: return 501;
    case errc::storage_busy:
    case errc::storage_unavailable:
    case errc::not_running: return 503;
    case errc::unknown_outcome:
    case errc::timed_out: return 504;
    case errc::storage_full: return 507;
    default: return 500;
  }
}

http_response problem(const error& why) {
  if (!is_for_clients(why.code) && !why.message.empty())
    log::warn("a request was answered with ", name_of(why.code), ": ", why.message);
  return made(status_of(why.code), fields_of(why.code, told_of(why)));
}

http_response problem(errc code, std::string_view detail) { return problem(error{code, std::string(detail)}); }

http_response problem(unsigned status, std::string_view detail) {
  return made(status, cat("\"type\":\"about:blank\",\"title\":\"", title_of(status), "\",\"status\":", status,
                          ",\"detail\":", json_quoted(detail)));
}

http_response wrong_body(const std::vector<body_fault>& faults) {
  std::string errors;
  for (std::size_t i = 0; i < std::min(faults.size(), max_faults_told); ++i)
    errors += cat(i == 0 ? "" : ",", "{\"detail\":", json_quoted(bounded_utf8(faults[i].problem, max_of_a_detail)),
                  ",\"pointer\":", json_quoted(bounded_utf8(faults[i].pointer, max_of_a_detail)), "}");
  const auto& first = faults.front();
  const auto detail = told_of(
      {errc::invalid_argument, first.pointer.empty() ? first.problem : cat(first.pointer, ": ", first.problem)});
  return made(400, cat(fields_of(errc::invalid_argument, detail), ",\"errors\":[", errors, "]"));
}

http_response wrong_body(std::string_view pointer, std::string_view detail) {
  return wrong_body(std::vector<body_fault>{{std::string(pointer), std::string(detail)}});
}

}  // namespace sluice::web
