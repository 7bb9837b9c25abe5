// Reads `dashboard`: what is answered over HTTP.
#include <algorithm>

#include "config/dashboard.hpp"
#include "core/text.hpp"

namespace sluice::config {
namespace {

void read_users(reader& from, dashboard_options& options) {
  const auto* at = from.any("users");
  if (!at) return;
  if (!at->is_object() || at->empty())
    return from.fault_at("users",
                         "must be an object by name, as {\"anna\": {\"role\": \"admin\", "
                         "\"secret_file\": \"/etc/sluice/anna\"}}");
  for (const auto& [name, value] : at->items()) {
    const auto pointer = from.pointer("users") + "/" + pointer_part(name);
    if (!valid_name(name)) from.faults().push_back({pointer, std::string(name_rule)});
    reader r(value, pointer, from.faults());
    dashboard_user user;
    user.name = name;
    keep(user.role, r.choice("role", {"viewer", "operator", "admin"}));
    keep(user.secret_file, r.text("secret_file"));
    keep(user.secret_variable, r.text("secret_variable"));
    if (!user.secret_file.empty() && !user.secret_variable.empty())
      r.fault_at("secret_variable", "stands for secret_file: give one of them");
    options.users.push_back(std::move(user));
  }
}

}  // namespace

void read_dashboard(reader& from, const checks& by, server_options& options) {
  const auto* at = from.any("dashboard");
  if (!at) return;
  const auto before = from.faults().size();
  reader r(*at, from.pointer("dashboard"), from.faults());
  auto& o = options.dashboard.emplace();
  keep(o.listen, r.text("listen"));
  keep(o.allow_changes, r.flag("allow_changes"));
  keep(o.allow_exec, r.flag("allow_exec"));
  keep(o.behind_tls_proxy, r.flag("behind_tls_proxy"));
  keep(o.user_header, r.text("user_header"));
  keep(o.proxy_secret_file, r.text("proxy_secret_file"));
  keep(o.reads_a_second, r.number("reads_a_second", {1, 1000}));
  keep(o.hide_args, r.flag("hide_args"));
  keep(o.store_metrics, r.flag("store_metrics"));
  keep(o.metrics_token_file, r.text("metrics_token_file"));
  o.hosts = r.texts("hosts");
  o.proxies = r.texts("proxies");
  read_users(r, o);
  if (from.faults().size() > before || !by.dashboard) return;
  if (const auto wrong = by.dashboard(o))
    from.faults().push_back({cat(from.pointer("dashboard"), "/", wrong->pointer), wrong->problem});
}

void warn_of(const dashboard_options& its, const server_options& options, std::vector<std::string>& warnings) {
  if (its.allow_exec && options.allow_exec && options.exec.key_file.empty())
    warnings.emplace_back(
        "dashboard.allow_exec: its operators run commands as this server; with exec.key_file only signed ones run");
  const bool all_look = std::all_of(its.users.begin(), its.users.end(),
                                    [](const dashboard_user& user) { return user.role == dashboard_role::viewer; });
  if (its.allow_changes && !its.users.empty() && all_look)
    warnings.emplace_back("dashboard.allow_changes has no effect: each of its users is a viewer");
  const bool is_local = std::any_of(its.proxies.begin(), its.proxies.end(), [](const std::string& address) {
    return address.starts_with("127.") || address == "::1";
  });
  if (!its.user_header.empty() && its.proxy_secret_file.empty() && is_local)
    warnings.push_back(cat("dashboard.user_header: every program of this machine can name any user in ",
                           its.user_header, "; with proxy_secret_file only the proxy can"));
}

}  // namespace sluice::config
