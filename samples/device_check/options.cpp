#include "device_check/options.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string_view>

#include "common/words.hpp"
#include "device_check/grants.hpp"

namespace sample {
namespace {

constexpr std::size_t longest_name = 100;

constexpr const char* usage =
    R"(usage: device_check [--store URL] [--life SECONDS] [--page PORT] [--careless]
       device_check --role backend [--grant ID] [--check WHAT] [--life SECONDS] [--store URL]
       device_check --role device --grant ID --device NAME [--store URL]
       device_check --role poll --grant ID [--patience SECONDS] [--store URL]
       device_check --role worker [--journal FILE] [--store URL]

Grants to check a device once, within a while. Without a role: hands out twelve, has devices redeem them, once, twice,
two at a time, too late or not at all, and tells what became of each. Exit code 1: a promise was broken, or it was
stopped before the end.

  --role backend    hands out a grant, prints its id, and ends. Again with the same words it is the same grant
  --role device     redeems a grant. Exit code 3: it is not this device's. Again it is told the same
  --role poll       waits until a grant is answered or expired, and prints it. Exit code 1: it was not in time,
                    or SIGINT or SIGTERM came first
  --role worker     does the checks and ends what is over, until SIGINT or SIGTERM; there may be several
  --store URL       where all of it is kept. Default: sqlite::memory:, and of a role sqlite:device_check.db
  --journal FILE    where checks are entered, an SQLite file. Default: in memory, and of a worker device_check.journal
  --grant ID        up to 100 letters, digits and _.:- . Default: a new one that nobody can guess
  --device NAME     who redeems, in the same letters
  --check WHAT      what is to be checked. Default: battery
  --life SECONDS    how long a grant may be redeemed, 1 to 86400. Default: 2, and of a role 120
  --patience SECONDS  how long to poll. Default: 300
  --page PORT       shows the grants at http://127.0.0.1:PORT, until SIGINT or SIGTERM; 0 is any free port
  --careless        redemptions get ids of their own: shows what the one id is for, and ends with 1
  --halt-after STEP this process dies there as by kill -9, for tests: handed_out, looked, redeemed, claimed, checked,
                    due, expired, polled
  --help            this text
)";

[[noreturn]] void refuse(const std::string& why) { die(why + "\n\n" + usage, 2); }

template <class T>
T number(const std::string& option, const std::string& value, T least, T most) {
  T read{};
  const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), read);
  if (code != std::errc() || end != value.data() + value.size() || read < least || read > most)
    refuse(option + " is a whole number from " + std::to_string(least) + " to " + std::to_string(most) + ", not '" +
           value + "'");
  return read;
}

// As ids of jobs are, less the room for what stands before.
std::string name(const std::string& option, const std::string& value) {
  const bool fits = std::all_of(value.begin(), value.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_.:-").find(c) != std::string_view::npos;
  });
  if (!fits || value.size() > longest_name)
    refuse(option + " is up to 100 letters, digits and _.:- , not '" + value + "'");
  return value;
}

std::string one_of(const std::string& option, const std::string& value, const auto& known) {
  if (std::find(std::begin(known), std::end(known), value) != std::end(known)) return value;
  std::string names;
  for (const auto& name : known)
    names += (names.empty() ? "" : ", ") + std::string(name);
  refuse(option + " is one of " + names + ", not '" + value + "'");
}

void set(run_options& options, const std::string& option, const std::string& value) {
  constexpr std::string_view roles[] = {"backend", "device", "poll", "worker"};
  if (value.empty()) refuse(option + " needs a value");
  if (option == "--role") options.role = one_of(option, value, roles);
  else if (option == "--store") options.store = value;
  else if (option == "--journal") options.journal = value;
  else if (option == "--grant") options.grant = name(option, value);
  else if (option == "--device") options.device = name(option, value);
  else if (option == "--check") options.check = value;
  else if (option == "--life") options.seconds = number<std::uint32_t>(option, value, 1, longest_life);
  else if (option == "--patience") options.timeout = number<std::uint32_t>(option, value, 1, longest_life);
  else if (option == "--page") options.page = number<std::uint16_t>(option, value, 0, 65'535);
  else if (option == "--halt-after") options.dies.step = one_of(option, value, kill_point::steps);
  else refuse("unknown option " + option);
}

// What each may be given besides --store, and what it must.
struct use {
  std::set<std::string> may, must;
};

use use_of(const std::string& role) {
  if (role == "backend") return {{"--grant", "--check", "--life"}, {}};
  if (role == "device") return {{"--grant", "--device"}, {"--grant", "--device"}};
  if (role == "poll") return {{"--grant", "--patience"}, {"--grant"}};
  if (role == "worker") return {{"--journal"}, {}};
  return {{"--life", "--page", "--careless", "--journal"}, {}};
}

}  // namespace

run_options read_options(int count, char** words) {
  run_options options;
  std::set<std::string> given;
  for (int i = 1; i < count; ++i) {
    const std::string option = words[i];
    if (option == "--help" || option == "-h") std::exit(std::printf("%s", usage) < 0 ? 1 : 0);
    given.insert(option);
    if (option == "--careless") {
      options.careless = true;
      continue;
    }
    if (++i == count) refuse(option + " needs a value");
    set(options, option, words[i]);
  }
  const bool alone = options.role.empty();
  const auto uses = use_of(options.role);
  for (const auto& option : given)
    if (option != "--role" && option != "--store" && !uses.may.contains(option) && (alone || option != "--halt-after"))
      refuse(option + " has no meaning " + (alone ? "without a role" : "with --role " + options.role));
  for (const auto& option : uses.must)
    if (!given.contains(option)) refuse("--role " + options.role + " needs " + option);
  if (!alone && options.store.starts_with("sqlite::memory:"))
    refuse("--store sqlite::memory: is one process's alone: name a store that processes can share");
  if (options.store.empty()) options.store = alone ? "sqlite::memory:" : "sqlite:device_check.db";
  if (options.journal.empty()) options.journal = alone ? ":memory:" : "device_check.journal";
  if (options.seconds == 0) options.seconds = alone ? 2 : 120;
  return options;
}

}  // namespace sample
