// Newsletters of several tenants through one mail provider. All of them together send no more than the capacity in an
// interval, and whoever has mail gets an equal share of it: more when others go, less when they come.
//
//   newsletter [--store URL] [--unthrottled]
#include <algorithm>
#include <cstdio>
#include <thread>

#include <sluice/sluice.hpp>

#include "common/promises.hpp"
#include "common/work.hpp"
#include "newsletter/post.hpp"

namespace {

using namespace std::chrono_literals;

constexpr const char* usage = R"(usage: newsletter [--store URL] [--unthrottled]

Three tenants send mails under one dynamic window: they join one after another, and leave when their mails are sent.
Prints who sent how many in which second. Takes 14 s. Exit code 1: a promise was broken.

  --store URL     as sqlite:jobs.db. Default: sqlite::memory:
  --unthrottled   the same without the window, to see what it is for
  --help          this text
)";

struct mail_args {
  std::string tenant_id;
  std::uint32_t number = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(mail_args, tenant_id, number)

// In a configuration file: "newsletter": {"kind": "dynamic_window", "key": "tenant:{tenant_id}", "capacity": 30, …}.
sluice::throttler the_window() {
  sluice::throttler window;
  window.kind = sluice::throttler_kind::dynamic_window;
  window.name = "newsletter";
  window.key = "tenant:{tenant_id}";  // filled with each job's args: every tenant has a window of its own
  window.capacity = 30;               // of all of them
  window.min_limit = 5;               // so at most 30 / 5 = 6 tenants send at a time, others wait for a place
  window.max_limit = 20;              // of one alone: 10 are left for whoever comes next
  window.interval = 2s;               // short, to be watched; an hour would be usual
  window.buckets = 2;                 // so mails are counted by whole seconds
  return window;
}

// Two buckets and one more are summed. So no interval of two seconds holds too much, wherever it begins, and a mail
// counts for three whole seconds.
const std::int64_t summed = the_window().buckets + 1;

// The mails of each are just so many that they leave one after another.
struct tenant {
  std::string name;
  std::uint32_t joins;  // in this second
  std::uint32_t mails;
};
const std::vector<tenant> tenants{{"acorn", 0, 40}, {"birch", 1, 45}, {"cedar", 2, 55}};

sluice::server_options options_of(const sample::words& words) {
  sluice::server_options options;
  options.storage = words.store;
  options.queues["default"].workers = 4;
  options.throttlers = {the_window()};
  if (!words.switches.at("--unthrottled")) options.jobs["send_mail"].throttle = {"dynamic_window:newsletter"};
  return options;
}

void join(sluice::client& client, const tenant& who) {
  std::vector<sluice::new_job> mails;
  for (std::uint32_t i = 1; i <= who.mails; ++i)
    mails.push_back(sluice::make_job("send_mail", mail_args{who.name, i}));
  for (auto& stored : client.enqueue(std::move(mails)))
    sample::must(std::move(stored));
  std::printf("%s joins with %u mails\n", who.name.c_str(), who.mails);
  std::fflush(stdout);
}

// Whether in some window each of these tenants had exactly this much, and nobody else anything.
bool has_window(const std::vector<sample::second_row>& rows, const sample::tally& wanted) {
  return std::any_of(rows.begin(), rows.end(), [&](const auto& row) { return row.summed == wanted; });
}

}  // namespace

int main(int argc, char** argv) {
  const auto words = sample::read_words(argc, argv, usage, {.switches = sample::may_be_unthrottled});
  sluice::set_log_level(sluice::log_level::warn);
  const auto options = options_of(words);
  sample::post post;
  auto client = sample::must(sluice::client::open(options));
  sluice::server server(options);
  server.handle<mail_args>("send_mail", [&](const mail_args& args) {
    post.send(args.tenant_id, "Dear reader " + std::to_string(args.number) + " of " + args.tenant_id);
  });
  sample::must(server.start());

  // Buckets begin with the seconds of the clock. Tenants join a little after that, so that what they are let in for at
  // once is not mistaken for the next second's, whatever the machine is busy with.
  // A store of one's own may still count the mails of a run just before, for as long as the window is.
  const auto pause = words.store.starts_with("sqlite::memory:") ? 0s : std::chrono::seconds(summed);
  const auto first = std::chrono::ceil<std::chrono::seconds>(std::chrono::system_clock::now()) + pause;
  for (const auto& who : tenants) {
    std::this_thread::sleep_until(first + std::chrono::seconds(who.joins) + 300ms);
    join(client, who);
  }
  const bool all_ended = sample::wait_for_all(client, 60s);
  server.stop();

  const auto sent = post.sent();
  const auto rows = sample::rows_of(sent, first, summed);
  std::vector<std::string> names;
  for (const auto& who : tenants)
    names.push_back(who.name);
  std::printf("\n%s\n", sample::table_of(rows, names, [&](std::int64_t second) {
                          for (const auto& who : tenants)
                            if (who.joins == second) return who.name + " joins";
                          return std::string();
                        }).c_str());

  sample::promises promises;
  const auto& window = options.throttlers.front();
  const auto most = sample::max_in_any(sent, window.interval, "");
  promises.check(most <= window.capacity,
                 "at most 30 mails in any two seconds: there were at most " + std::to_string(most));
  for (const auto& who : tenants) {
    const auto max_of = sample::max_in_any(sent, window.interval, who.name);
    promises.check(max_of <= window.max_limit,
                   "at most 20 of " + who.name + ": there were at most " + std::to_string(max_of));
  }
  promises.check(has_window(rows, {{"acorn", 10}, {"birch", 10}, {"cedar", 10}}), "three tenants had 10 each");
  promises.check(has_window(rows, {{"birch", 15}, {"cedar", 15}}), "when acorn had gone, the other two had 15 each");
  promises.check(has_window(rows, {{"cedar", 20}}), "cedar alone had 20, the most that one may have");
  std::size_t mails = 0;
  for (const auto& who : tenants)
    mails += who.mails;
  promises.check(all_ended && sent.size() == mails,
                 "every mail was sent, once: " + std::to_string(sent.size()) + " of " + std::to_string(mails));
  return promises.exit_code();
}
