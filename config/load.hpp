// What an operator may turn, read and checked. All faults of a file are found at once, each with its
// JSON pointer; with any fault there are no options and nothing may start.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sluice/error.hpp>
#include <sluice/options.hpp>

namespace sluice::config {

struct fault {
  std::string pointer;  // where: "/queues/default/workers", "" for the whole file
  std::string problem;  // what, and what is allowed
};

struct source {
  std::string text;  // JSON; // and /* */ comments are allowed
  // SLUICE_LEASE, SLUICE_QUEUES__DEFAULT__WORKERS: override the text.
  std::vector<std::pair<std::string, std::string>> environment;
  // "/queues/default/workers=2": override both.
  std::vector<std::string> sets;
};

// Checks that other rooms own; the composition root hands them in.
struct checks {
  std::function<result<void>(const std::string&)> store_url;
  // Of a schedule whose values are each in their range: whether they make sense together.
  std::function<result<void>(const sluice::recurring&)> recurring{};
  // Of what is answered over HTTP: its fault, if any, with a pointer inside of it.
  std::function<std::optional<fault>(const dashboard_options&)> dashboard{};
};

struct loaded {
  server_options options;
  std::vector<fault> faults;
  std::vector<std::string> warnings;  // whole sentences, for whoever starts or checks
};

loaded load(const source& from, const checks& by);

// A JSON text in place of words.
struct json_text {
  std::string value;
};

// The definition of one throttler in words as "limit=4" and "interval=1h", read as the same keys of a file are.
struct loaded_throttler {
  sluice::throttler definition;
  std::vector<fault> faults;
};
// `before`: it keeps what the words do not say; KEY=null takes one out.
loaded_throttler load_throttler(throttler_kind kind, const std::string& name, const std::vector<std::string>& words,
                                const throttler* before = nullptr);
loaded_throttler load_throttler(throttler_kind kind, const std::string& name, const json_text& text);

// One schedule in words as cron=*/10 * * * * and zone=Europe/London, in the same way.
struct loaded_recurring {
  sluice::recurring definition;
  std::vector<fault> faults;
};
loaded_recurring load_recurring(const std::string& name, const std::vector<std::string>& words, const checks& by);
loaded_recurring load_recurring(const std::string& name, const json_text& text, const checks& by);

// The variables of this process that begin with SLUICE_.
std::vector<std::pair<std::string, std::string>> environment();

}  // namespace sluice::config
