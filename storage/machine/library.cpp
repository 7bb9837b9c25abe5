#include "storage/machine/library.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "core/codec.hpp"
#include "core/never_destroyed.hpp"
#include "core/text.hpp"
#include "storage/admission.hpp"
#include "storage/machine/rule_files.hpp"
#include "storage/operator_log.hpp"
#include "storage/schedules.hpp"
#include "storage/store.hpp"
#include "storage/totals.hpp"

namespace sluice::storage::machine {
namespace {

constexpr auto reads = effect::reads, writes = effect::writes, promises = effect::promises;
constexpr auto refused = when_full::refused;

// In the order of `verb`.
constexpr std::array<known_verb, verb_count> verbs{{
    {"open", writes},
    {"enqueue", promises, refused},
    {"enqueue_flow", promises, refused},
    {"claim", effect::may_find_nothing},
    {"settle", writes},
    {"settle_with_jobs", writes, refused, "settle"},
    {"renew", writes},
    {"progress", writes, refused},
    {"promote", effect::may_find_nothing},
    {"expired", effect::may_find_nothing},
    {"reap", writes},
    {"prune", effect::may_find_nothing},
    {"change_jobs", promises},
    {"pause", promises},
    {"heartbeat", writes},
    {"deregister", writes},
    {"servers", reads},
    {"get", reads},
    {"parents", reads},
    {"change_group", promises, refused},
    {"cancel_group", promises, when_full::goes_on, "change_group"},
    {"groups", reads},
    {"failed_members", reads},
    {"list", reads},
    {"queues", reads},
    {"queue_names", reads},
    {"ready", reads},
    {"move_to_quarantine", writes},
    {"mark", writes},
    {"acquire_permits", writes},
    {"read_limiter", reads},
    {"update_limiter", writes},
    {"define", promises},
    {"undefine", promises},
    {"throttlers", reads},
    {"throttler", reads},
    {"holders", reads},
    {"waiters", reads},
    {"reconcile", effect::may_find_nothing},
    {"explain", reads},
    {"lock", promises, refused},
    {"keep_lock", promises, when_full::goes_on, "lock"},
    {"look_at_lock", reads, when_full::goes_on, "lock"},
    {"locks", reads},
    {"quarantined", reads},
    {"quarantined_job", reads},
    {"drop_quarantined", promises},
    {"schedules", reads},
    {"schedule", reads},
    {"due_schedules", reads},
    {"update_schedule", promises, refused},
    {"remove_schedule", promises, when_full::goes_on, "update_schedule"},
    {"totals", reads},
    {"log_action", writes, refused},
    {"operator_log", reads},
    {"raise", writes, refused},
    {"audit", reads},
    {"repair", writes},
}};

// What Lua is to know as C++ does: `constants`, with durations in microseconds.
std::string constants(std::uint64_t of_layout) {
  std::string all = cat("local constants = {layout = ", of_layout);
  const auto add = [&](std::string_view name, auto value) {
    if constexpr (std::is_same_v<decltype(value), duration>) all += cat(", ", name, " = ", value.count());
    else if constexpr (std::is_integral_v<decltype(value)>) all += cat(", ", name, " = ", value);
    else all += cat(", ", name, " = '", value, "'");
  };
#define SLUICE_CONSTANT(name) add(#name, name)
  SLUICE_CONSTANT(clock_slack);
  SLUICE_CONSTANT(days_of_hours);
  SLUICE_CONSTANT(default_queue);
  SLUICE_CONSTANT(history_limit);
  SLUICE_CONSTANT(hours_of_minutes);
  SLUICE_CONSTANT(joined_within);
  SLUICE_CONSTANT(max_about);
  SLUICE_CONSTANT(max_actions);
  SLUICE_CONSTANT(max_answer_bytes);
  SLUICE_CONSTANT(max_counted);
  SLUICE_CONSTANT(max_failed_wakeups);
  SLUICE_CONSTANT(max_history_bytes);
  SLUICE_CONSTANT(max_parked);
  SLUICE_CONSTANT(max_total_bytes);
  SLUICE_CONSTANT(recheck_interval);
  SLUICE_CONSTANT(runs_remembered);
  SLUICE_CONSTANT(served_for);
  SLUICE_CONSTANT(suspect_after_losses);
  SLUICE_CONSTANT(turn_time);
#undef SLUICE_CONSTANT
  return all + "}\n";
}

// Without the lines that are comments; all others stay where they are.
void append_code(std::string& all, std::string_view text) {
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size() - 1) + 1;
    const auto line = text.substr(0, end);
    const auto first = line.find_first_not_of(' ');
    if (line.substr(std::min(first, line.size())).starts_with("--")) all += '\n';
    else all += line;
    text.remove_prefix(end);
  }
}

constexpr std::string_view prelude = "prelude";
constexpr std::string_view begin_of_file = "do  -- ", begin_of_prelude = "-- ";

}  // namespace

const known_verb& about(verb v) { return verbs[static_cast<std::size_t>(v)]; }

std::string current_text() {
  std::string all = constants(layout);
  for (const auto& file : rule_files)
    if (!file.name.starts_with("calls/") && file.name != prelude) all += cat("local ", file.name, " = {}\n");
  all += "local fresh, calls, by_name = {}, {}, {}\n";
  for (const auto& file : rule_files) {
    const bool is_block = file.name != prelude;  // whose locals are everybody's
    all += cat(is_block ? begin_of_file : begin_of_prelude, file.name, ".lua\n");
    append_code(all, file.text);
    if (is_block) all += "end\n";
  }
  return all;
}

const library& current_library() {
  static const auto& made = *never_destroyed<library>(layout, current_text());
  return made;
}

library::library(std::uint64_t layout, std::string text) : layout_(layout), text_(std::move(text)) {
  char hash[17];
  std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(fnv1a(for_redis({}))));
  name_ = cat("sluice_", hash);
}

std::string library::name_of(verb v, std::string_view loaded_as) const {
  return cat(name_, "_", loaded_as, "_", about(v).name);
}

std::string library::for_redis(std::string_view loaded_as) const {
  auto all = cat("#!lua name=", name_, "\n", text_, "local function add(name, its, flags)\n",
                 "  local callback = library.entry(its)\n  if callback then\n    ",
                 "redis.register_function({function_name = name, callback = callback, flags = flags})\n  end\nend\n");
  for (std::size_t i = 0; i < verb_count; ++i) {
    const auto& v = verbs[i];
    const bool looks = v.does == effect::reads;
    all += cat("add('", name_of(static_cast<verb>(i), loaded_as), "', '", v.function, "', ",
               looks               ? "{'no-writes'})\n"
               : v.full == refused ? "{})\n"
                                   : "{'allow-oom'})\n");
  }
  return all;
}

std::string library::with_places(std::string_view error) const {
  for (const auto& [word, before] : {std::pair<std::string_view, int>("user_function:", 1), {"rules:", 0}}) {
    const auto at = error.find(word);
    if (at == std::string_view::npos) continue;
    int line = 0;
    const auto* const number = error.data() + at + word.size();
    const auto* const end = std::from_chars(number, error.data() + error.size(), line).ptr;
    if (end == number) continue;
    std::string_view file, left = text_;
    int at_line = before, begun = 0;
    while (++at_line <= line && !left.empty()) {
      const auto its_end = std::min(left.find('\n'), left.size() - 1);
      if (left.starts_with(begin_of_file)) {
        file = left.substr(begin_of_file.size(), its_end - begin_of_file.size());
        begun = at_line;
      }
      left.remove_prefix(its_end + 1);
    }
    if (file.empty()) continue;
    return cat(error.substr(0, at), "rules/", file, ":", line - begun,
               error.substr(static_cast<std::size_t>(end - error.data())));
  }
  return std::string(error);
}

}  // namespace sluice::storage::machine
