#include "storage/job_filter.hpp"

#include <algorithm>

#include "core/args_values.hpp"
#include "core/last_run.hpp"
#include "core/text.hpp"

namespace sluice::storage {
namespace {

time_point instant_of(const job& j) {
  for (const auto& at : {j.finished_at, j.due_at, j.started_at})
    if (at) return *at;
  return j.created_at;
}

char small(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool says(const std::string& text, const std::string& words) {
  const auto same = [](char a, char b) { return small(a) == small(b); };
  return std::search(text.begin(), text.end(), words.begin(), words.end(), same) != text.end();
}

bool failed_with(const job& j, const std::string& words) {
  return says(j.reason, words) || std::any_of(j.history.begin(), j.history.end(), [&](const run_record& s) {
           return s.fence.value != 0 && says(s.error, words);  // without one it says what a person did
         });
}

// An id is a name, a colon and what makes it another than the last of that name.
bool ran_on(const job& j, const std::string& server) {
  const auto* last = last_run(j);
  const auto& ran = !j.server.empty() || !last ? j.server : last->server;
  return ran.starts_with(server) && (ran.size() == server.size() || ran[server.size()] == ':');
}

bool has_headers(const job& j, const std::map<std::string, std::string>& asked) {
  return std::all_of(asked.begin(), asked.end(), [&](const auto& header) {
    const auto found = j.headers.find(header.first);
    return found != j.headers.end() && found->second == header.second;
  });
}

bool has_argument(const job& j, const argument_query& asked) {
  const auto found = find_in_args(j.args, {parse_args_path(asked.path)});
  if (!found) return false;
  const auto& [text, instead] = found->front();
  return text == asked.value && (instead.empty() || !text.empty());
}

}  // namespace

result<void> check_query(const job_query& q) {
  if (q.argument && parse_args_path(q.argument->path).empty())
    return error{errc::invalid_argument, cat("'", printable(q.argument->path, 200),
                                             "' is no path into arguments, as customer.id or lines.0.sku")};
  if (q.first_of_args > max_first_of_args)
    return error{errc::invalid_argument, cat("first_of_args must be 0 to ", max_first_of_args)};
  return {};
}

bool reads_records(const job_query& q) {
  return !q.type.value.empty() || !q.id_begins.empty() || !q.server.empty() || !q.headers.empty() || q.argument ||
         !q.error.empty() || q.from || q.to;
}

bool matches(const job_query& q, const job& j) {
  return (q.type.value.empty() || j.type == q.type) && j.id.value.starts_with(q.id_begins) &&
         (q.server.empty() || ran_on(j, q.server)) && has_headers(j, q.headers) &&
         (!q.from || instant_of(j) >= *q.from) && (!q.to || instant_of(j) < *q.to) &&
         (!q.argument || has_argument(j, *q.argument)) && (q.error.empty() || failed_with(j, q.error));
}

}  // namespace sluice::storage
