#include "device_check/demonstration.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <latch>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include <sluice/stop_signal.hpp>

#include "common/promises.hpp"
#include "common/words.hpp"
#include "device_check/grants.hpp"
#include "device_check/page_server.hpp"

namespace sample {
namespace {

using namespace std::chrono_literals;

enum class conduct { once, twice, race, nobody, late };

const char* name_of(conduct way) {
  switch (way) {
    case conduct::once: return "one device";
    case conduct::twice: return "one device, which asks again";
    case conduct::race: return "two devices at once";
    case conduct::nobody: return "nobody";
    case conduct::late: return "one device, too late";
  }
  return "";
}

constexpr conduct conducts[] = {conduct::once,  conduct::once,   conduct::once,   conduct::once,
                                conduct::twice, conduct::twice,  conduct::race,   conduct::race,
                                conduct::race,  conduct::nobody, conduct::nobody, conduct::late};

// One grant, what devices were told of it, and what a poller read at last.
struct course {
  std::string id;
  conduct way;
  std::vector<bool> redeemed{};  // by each request: whether it was told that it has the grant
  grant_view end{};
};

bool ask(grants& all, const std::string& id, const std::string& device) {
  const auto view = must(all.redeem(id, device));
  return view.device == device;
}

grant_view poll(grants& all, const std::string& id, std::chrono::steady_clock::time_point last,
                const std::stop_token& stop) {
  for (;;) {
    const auto view = must(all.look(id));
    if (is_over(view.is) || std::chrono::steady_clock::now() >= last || stop.stop_requested()) return view;
    std::this_thread::sleep_for(20ms);
  }
}

// What the devices do to one grant, each as a thread of its own.
void redeem(grants& all, course& one, const std::stop_token& stop) {
  const auto device = "tablet-" + one.id.substr(one.id.rfind('-') + 1);
  switch (one.way) {
    case conduct::nobody: return;
    case conduct::once: one.redeemed = {ask(all, one.id, device)}; return;
    case conduct::twice:
      for (int i = 0; i < 2; ++i)
        one.redeemed.push_back(ask(all, one.id, device));
      return;
    case conduct::race: {
      bool first = false, second = false;
      {
        const std::jthread a([&] { first = ask(all, one.id, device + "a"); });
        const std::jthread b([&] { second = ask(all, one.id, device + "b"); });
      }
      one.redeemed = {first, second};
      return;
    }
    case conduct::late:
      while (must(all.look(one.id)).is == standing::open) {
        if (stop.stop_requested()) return;
        std::this_thread::sleep_for(20ms);
      }
      one.redeemed = {ask(all, one.id, device)};
  }
}

std::size_t count_of(const std::vector<course>& courses, const auto& is_so) {
  return static_cast<std::size_t>(std::count_if(courses.begin(), courses.end(), is_so));
}

long times_redeemed(const course& c) { return std::count(c.redeemed.begin(), c.redeemed.end(), true); }

// Whether they came to their end; false: somebody said stop first.
bool carry_through(std::vector<course>& courses, grants& all, std::chrono::steady_clock::time_point last) {
  std::latch under_way(static_cast<std::ptrdiff_t>(2 * courses.size()));
  std::vector<std::jthread> threads;  // whose destructors say stop
  for (auto& c : courses) {
    threads.emplace_back([&](const std::stop_token& stop) {
      redeem(all, c, stop);
      under_way.count_down();
    });
    threads.emplace_back([&](const std::stop_token& stop) {
      c.end = poll(all, c.id, last, stop);
      under_way.count_down();
    });
  }
  while (!under_way.try_wait())
    if (sluice::wait_for_stop_signal(20ms)) return false;
  return true;
}

int judge(const std::vector<course>& courses, bool unknown_refused, journal& book) {
  for (const auto& c : courses)
    std::printf("grant %-2s  %-30s %-9s %-10s %s\n", c.id.substr(c.id.rfind('-') + 1).c_str(), name_of(c.way),
                std::string(name_of(c.end.is)).c_str(), c.end.device.c_str(), c.end.text.c_str());
  const auto checks = book.checks_of_grants();
  const auto checks_of = [&](const course& c) { return checks.contains(c.id) ? checks.at(c.id) : 0; };
  unsigned all_checks = 0;
  for (const auto& c : courses)
    all_checks += checks_of(c);
  const auto answered = count_of(courses, [](const course& c) { return c.end.is == standing::answered; });
  const auto expired = count_of(courses, [](const course& c) { return c.end.is == standing::expired; });
  const auto text = [](auto n) { return std::to_string(n); };
  std::printf("\n");
  promises told;
  told.check(answered + expired == courses.size(), "no grant was lost: of " + text(courses.size()) + ", " +
                                                       text(answered) + " were answered and " + text(expired) +
                                                       " expired");
  told.check(count_of(courses, [&](const course& c) { return checks_of(c) > 1; }) == 0,
             "no grant was checked twice: " + text(all_checks) + " checks");
  told.check(count_of(courses,
                      [&](const course& c) { return checks_of(c) != (c.end.is == standing::answered ? 1u : 0u); }) == 0,
             "what was answered was checked, and what expired was not");
  told.check(count_of(courses, [](const course& c) { return c.way == conduct::race && times_redeemed(c) != 1; }) == 0,
             "of two devices at once one was told that it has the grant");
  told.check(count_of(courses, [](const course& c) { return c.way == conduct::twice && times_redeemed(c) != 2; }) == 0,
             "a device that asked again was told the same");
  told.check(
      unknown_refused &&
          count_of(courses, [](const course& c) { return c.way == conduct::late && times_redeemed(c) > 0; }) == 0,
      "a grant that was over, and one that nobody handed out, were refused");
  return told.exit_code();
}

}  // namespace

int demonstrate(const run_options& options) {
  journal book(options.journal);
  const auto served = options_of(options.store);
  auto client = must(sluice::client::open(served));
  grants all(client, {}, options.careless);
  sluice::server server(served);
  all.handle_all(server, book);
  must(server.start());
  std::optional<page_server> page;
  if (options.page) {
    page.emplace(sluice::client_of(served), *options.page);
    std::printf("The grants are shown at %s\n", page->url().c_str());
    std::fflush(stdout);
  }

  const auto run = new_grant_id().substr(0, 8);
  std::vector<course> courses;
  for (const auto way : conducts)
    courses.push_back({run + "-" + std::to_string(courses.size() + 1), way});
  for (const auto& c : courses)
    must(all.hand_out(c.id, {options.check, options.seconds}));
  const bool unknown_refused = !ask(all, run + "-unknown", "tablet-0");
  const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(options.seconds) + 30s;
  if (!carry_through(courses, all, last)) {
    std::printf("Stopped before the end: what was promised is not judged.\n");
    server.stop();
    return 1;
  }
  const int code = judge(courses, unknown_refused, book);
  if (page) {
    std::printf("The page stays until SIGINT or SIGTERM.\n");
    std::fflush(stdout);
    sluice::wait_for_stop_signal();
  }
  server.stop();
  return code;
}

}  // namespace sample
