// Queues, servers, and what stands beside them.
#include <algorithm>
#include <array>
#include <iterator>
#include <map>

#include <sluice/version.hpp>

#include "core/clock.hpp"
#include "core/never_destroyed.hpp"
#include "core/no_job.hpp"
#include "core/text.hpp"
#include "dashboard/openapi_text.hpp"
#include "dashboard/routes.hpp"
#include "wire/json.hpp"
#include "wire/overview.hpp"
#include "wire/query_words.hpp"
#include "wire/schemas.hpp"

namespace sluice::web {
namespace {

using namespace std::chrono_literals;

constexpr std::array<std::string_view, 3> roles{"viewer", "operator", "admin"};

// What a program may count on here.
struct api {
  std::optional<std::string> user;
  dashboard_role role;
  bool changes_allowed;
  std::string backend;
  sluice::durability durability;
  bool hides_args;
};
void show(auto& v, const api& a) {
  v("version", std::string_view(SLUICE_VERSION))("user", a.user)("role", roles[static_cast<std::size_t>(a.role)]);
  v("changes_allowed", a.changes_allowed)("backend", a.backend)("durability", a.durability);
  v("hides_args", a.hides_args)("largest_page", storage::largest_page);
}

// What is known of the store, when it ever answered.
result<snapshot::known> known_of(visit& v) {
  auto known = v.on.known->look();
  if (known->at) return known;
  if (known->away) return *known->away;
  return error{errc::storage_unavailable, ""};
}

// A page of what is known, by a key that no two have.
template <class Row, class Key>
http_response page_of_known(visit& v, std::string_view name, const std::vector<Row>& rows, Key key) {
  const auto limit = v.limit();
  if (!limit) return problem(limit.error());
  std::map<std::string, const Row*> in_order;
  for (const auto& row : rows)
    in_order.emplace(key(row), &row);
  std::vector<std::string> items;
  auto at = in_order.upper_bound(v.parameter("after"));
  for (; at != in_order.end() && items.size() < *limit; ++at)
    items.push_back(json_of(*at->second));
  return json_page_answer(name, items, at == in_order.end() ? std::string() : std::prev(at)->first);
}

}  // namespace

http_response show_api(visit& v) {
  const auto& options = v.on.options;
  return json_answer(json_of(api{.user = wire::unless_empty(v.who.name),
                                 .role = options.allow_changes ? v.who.role : dashboard_role::viewer,
                                 .changes_allowed = options.allow_changes,
                                 .backend = v.on.backend,
                                 .durability = v.on.shared_store->durability(),
                                 .hides_args = options.hide_args}));
}

const std::string& openapi() {
  static const auto& text = *never_destroyed<std::string>([] {
    std::string all = openapi_text;
    constexpr std::string_view place = "\"schemas\": {";
    all.insert(all.find(place) + place.size(), wire::schemas());
    return all;
  }());
  return text;
}

http_response show_openapi(visit&) { return json_answer(openapi()); }

http_response show_live(visit&) { return json_answer("{\"live\":true}"); }

http_response show_ready(visit& v) {
  const bool is_ready = v.on.known->has_answered() && (!v.on.is_ready || v.on.is_ready());
  return json_answer(is_ready ? "{\"ready\":true}" : "{\"ready\":false}", is_ready ? 200 : 503);
}

http_response show_overview(visit& v) {
  return json_answer(json_of(wire::overview_of(*v.on.known->look(), !v.on.options.hide_args)));
}

http_response list_servers(visit& v) {
  const auto known = known_of(v);
  if (!known) return problem(known.error());
  return page_of_known(v, "servers", (*known)->servers,
                       [](const server_info& s) { return cat(s.name, " ", s.id.value); });
}

http_response list_queues(visit& v) {
  const auto known = known_of(v);
  if (!known) return problem(known.error());
  return page_of_known(v, "queues", (*known)->queues, [](const queue_counts& q) { return q.queue.value; });
}

http_response show_queue(visit& v) {
  const auto known = known_of(v);
  if (!known) return problem(known.error());
  const auto& all = (*known)->queues;
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& q) { return q.queue.value == v.names[0]; });
  if (found == all.end()) {
    std::vector<std::string> names;
    names.reserve(all.size());
    for (const auto& one : all)
      names.push_back(one.queue.value);
    return problem(no_queue(v.names[0], names));
  }
  return json_answer(json_of(*found));
}

http_response pause_queue(visit& v) {
  return changed(v, "queue", v.names[0], v.changing().pause(queue_name(v.names[0])), "paused");
}
http_response resume_queue(visit& v) {
  return changed(v, "queue", v.names[0], v.changing().resume(queue_name(v.names[0])), "resumed");
}

http_response show_totals(visit& v) {
  const auto by = v.parameter("by"), queue = v.parameter("queue");
  if (!by.empty() && by != "hour" && by != "minute") return problem(wire::bad_word("by", "hour or minute", by));
  totals_query query;
  query.step = by == "minute" ? totals_step::minute : totals_step::hour;
  if (!queue.empty()) query.queue = queue_name(queue);
  if (auto fine = wire::read_times(v.parameter("since"), v.parameter("until"), "", false, query.from, query.to); !fine)
    return problem(fine.error());
  if (!query.from) query.from = query.to.value_or(system_clock().now()) - (query.step == totals_step::hour ? 24h : 1h);
  const auto got = v.on.store.totals(query);
  if (!got) return problem(got.error());
  return json_page_answer("totals", wire::json_lines(queue, *got), {});
}

http_response list_locks(visit& v) {
  const auto limit = v.limit();
  if (!limit) return problem(limit.error());
  return page_of("locks", v.on.store.locks(*limit, v.parameter("after")), &lock_page::locks);
}

http_response list_quarantine(visit& v) {
  const auto limit = v.limit();
  if (!limit) return problem(limit.error());
  return page_of("jobs", v.on.store.quarantine(queue_name(v.parameter("queue")), *limit, v.parameter("after")),
                 &quarantine_page::jobs);
}

http_response list_operator_log(visit& v) {
  const auto limit = v.limit();
  if (!limit) return problem(limit.error());
  return page_of("actions", v.on.store.operator_log(*limit, v.parameter("after")), &operator_log_page::actions);
}

}  // namespace sluice::web
