// Grants to check a device once, within two minutes: a backend hands them out, a device redeems one, somebody polls for
// the answer, and workers do the checks. Each may be killed between any two steps: all that there is to know stands in
// the store (grants.hpp), and whoever was killed is started again with the same words.
//
//   device_check [--store URL] [--page PORT]
//   device_check --role backend|device|poll|worker --store URL …
#include <atomic>
#include <chrono>
#include <cstdio>
#include <stdexcept>

#include <sluice/log.hpp>
#include <sluice/stop_signal.hpp>

#include "common/words.hpp"
#include "device_check/demonstration.hpp"
#include "device_check/grants.hpp"
#include "device_check/options.hpp"

namespace {

using namespace std::chrono_literals;

constexpr int not_redeemed = 3;

int show(const std::string& id, const sample::grant_view& view, int code = 0) {
  std::printf("%s %s%s%s%s%s\n", id.c_str(), std::string(sample::name_of(view.is)).c_str(),
              view.device.empty() ? "" : " by ", view.device.c_str(), view.text.empty() ? "" : ": ", view.text.c_str());
  return code;
}

int hand_out(sample::grants& all, const sample::run_options& options) {
  const auto id = options.grant.empty() ? sample::new_grant_id() : options.grant;
  sample::must(all.hand_out(id, {options.check, options.seconds}));
  std::printf("%s\n", id.c_str());
  return 0;
}

int redeem(sample::grants& all, const sample::run_options& options) {
  const auto view = sample::must(all.redeem(options.grant, options.device));
  return show(options.grant, view, view.device == options.device ? 0 : not_redeemed);
}

int poll(sample::grants& all, const sample::run_options& options) {
  const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(options.timeout);
  for (;;) {
    const auto view = sample::must(all.look(options.grant));
    const bool over = sample::is_over(view.is);
    if (over) options.dies.reach("polled");
    if (over || std::chrono::steady_clock::now() >= last || sluice::wait_for_stop_signal(50ms))
      return show(options.grant, view, over && view.is != sample::standing::unknown ? 0 : 1);
  }
}

int work(sample::grants& all, const sample::run_options& options) {
  sample::journal book(options.journal);
  std::atomic<bool> broken = false;
  sluice::server server(sample::options_of(options.store));
  all.handle_all(server, book);
  server.on_fatal([&](const sluice::error& why) {
    std::fprintf(stderr, "%s\n", sluice::to_string(why).c_str());
    broken = true;
  });
  sample::must(server.start());
  while (!sluice::wait_for_stop_signal(200ms) && !broken) {
  }
  server.stop();
  return broken ? 1 : 0;
}

int run(const sample::run_options& options) {
  if (options.role.empty()) return sample::demonstrate(options);
  auto client = sample::must(sluice::client::open(sample::options_of(options.store)));
  sample::grants all(client, options.dies);
  if (options.role == "backend") return hand_out(all, options);
  if (options.role == "device") return redeem(all, options);
  if (options.role == "poll") return poll(all, options);
  return work(all, options);
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = sample::read_options(argc, argv);
  sluice::set_log_level(sluice::log_level::warn);
  sluice::catch_stop_signals();
  try {
    return run(options);
  } catch (const std::exception& e) {
    sample::die(e.what());
  }
}
