// `sluice dashboard`: answers over HTTP beside whatever servers there are.
#include <cstdio>

#include <unistd.h>

#include <sluice/dashboard.hpp>
#include <sluice/stop_signal.hpp>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "core/log.hpp"

namespace sluice::cli {
namespace {

constexpr unsigned longest_end_s = 10;  // whatever is under way; then the alarm ends the process

}  // namespace

int serve_dashboard(const command& c) {
  catch_stop_signals();
  set_log_level(c.log_from);
  set_log_format(c.log_as);
  client_options store;
  store.storage = c.store;
  store.mode = c.allow_changes ? open_mode::must_exist : open_mode::read_only;
  dashboard_options options;
  options.listen = c.listen;
  options.allow_changes = c.allow_changes;
  const auto page = dashboard::start(std::move(store), std::move(options));
  if (!page) return failed(page.error());
  print_line(page->url());
  std::fflush(stdout);
  wait_for_stop_signal();
  log::info("stopping");
  ::alarm(longest_end_s);
  return 0;
}

}  // namespace sluice::cli
