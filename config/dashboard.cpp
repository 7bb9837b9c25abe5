// Reads `dashboard`: what is answered over HTTP.
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
    const auto pointer = from.pointer("users") + "/" + escaped(name);
    if (!valid_name(name))
      from.faults().push_back({pointer, "must be a name of 1 to 200 characters of A-Z a-z 0-9 _ . : -"});
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
  keep(o.behind_tls_proxy, r.flag("behind_tls_proxy"));
  keep(o.user_header, r.text("user_header"));
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

}  // namespace sluice::config
