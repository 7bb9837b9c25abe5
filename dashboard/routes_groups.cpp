// Groups of jobs: listed, looked at, made and changed.
#include "core/text.hpp"
#include "dashboard/routes.hpp"

namespace sluice::web {
namespace {

constexpr std::uint64_t longest_ms = std::uint64_t{3650} * 24 * 3600 * 1000;

group_name name_in(const visit& v) { return group_name(v.names[0]); }

}  // namespace

http_response list_groups(visit& v) {
  const auto limit = v.limit();
  if (!limit) return problem(limit.error());
  return page_of("groups", v.on.store.groups(*limit, v.parameter("after")), &group_page::groups);
}

http_response show_group(visit& v) {
  const auto found = v.on.store.group(name_in(v));
  return found ? json_answer(json_of(*found)) : problem(found.error());
}

http_response create_group(visit& v) {
  new_group wanted{name_in(v)};
  if (!v.request.body.empty()) {
    body_reader body(v.request.body);
    wanted.in = group_name(body.text("in").value_or(""));
    if (const auto within = body.number("seal_within_ms", longest_ms))
      wanted.seal_within = std::chrono::milliseconds(*within);
    if (auto wrong = wrong_with(body)) return *wrong;
  }
  return changed(v, "group", v.names[0], v.changing().create_group(wanted), "there");
}

http_response seal_group(visit& v) {
  if (auto wrong = unexpected_body(v)) return *wrong;
  return changed(v, "group", v.names[0], v.changing().seal_group(name_in(v)), "sealed");
}
http_response cancel_group(visit& v) {
  if (auto wrong = unexpected_body(v)) return *wrong;
  return changed(v, "group", v.names[0], v.changing().cancel_group(name_in(v)), "cancelled");
}

http_response requeue_failed_of_group(visit& v) {
  if (auto wrong = unexpected_body(v)) return *wrong;
  v.about = {v.names[0]};
  const auto requeued = v.changing().requeue_failed(name_in(v));
  if (!requeued) return problem(requeued.error());
  return json_answer(cat("{\"group\":", json_quoted(v.names[0]), ",\"requeued\":", *requeued, "}"));
}

}  // namespace sluice::web
