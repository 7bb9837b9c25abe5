#include "config/recurring.hpp"

#include <algorithm>

#include "core/recurring.hpp"
#include "core/text.hpp"

namespace sluice::config {
namespace {

// true, false or "even".
void read_stagger(reader& r, stagger_rule& into) {
  const auto* at = r.any("stagger");
  if (!at) return;
  const auto& words = stagger_rules();
  const auto word = at->is_boolean() ? at->dump() : at->is_string() ? at->get<std::string>() : std::string();
  const auto found = std::find(words.begin(), words.end(), word);
  const bool is_one = found != words.end() && at->is_boolean() == (word != "even");
  if (!is_one) return r.fault_at("stagger", "must be true, false or \"even\"");
  into = static_cast<stagger_rule>(found - words.begin());
}

sluice::recurring read_definition(const std::string& name, const json& value, const std::string& pointer,
                                  std::vector<fault>& faults) {
  sluice::recurring made;
  made.name = name;
  reader r(value, pointer, faults);
  if (const auto job = r.text("job")) made.job.value = *job;
  else if (value.is_object() && !value.contains("job")) r.fault_at("job", "must be given: the type of its jobs");
  if (const auto* args = r.any("args")) {
    if (args->is_object()) made.args = args->dump(-1, ' ', false, json::error_handler_t::replace);
    else r.fault_at("args", "must be a JSON object");
  }
  if (const auto cron = r.text("cron")) made.cron = *cron;
  keep(made.every, r.time("every", ranges::recurring_every));
  if (const auto zone = r.text("zone")) made.zone = *zone;
  if (const auto queue = r.text("queue")) made.queue.value = *queue;
  read_stagger(r, made.stagger);
  keep(made.catch_up, r.choice("catch_up", catch_up_rules()));
  keep(made.catch_up_max, r.number("catch_up_max", ranges::catch_up_max));
  keep(made.overlap, r.choice("overlap", overlap_rules()));
  return made;
}

}  // namespace

void read_recurring(reader& from, const checks& by, server_options& options) {
  keep(options.prune_recurring, from.flag("prune_recurring"));
  const auto* at = from.any("recurring");
  if (!at) return;
  if (!at->is_object()) return from.fault_at("recurring", "must be an object by name");
  for (const auto& [name, value] : at->items()) {
    const auto pointer = from.pointer("recurring") + "/" + escaped(name);
    auto& faults = from.faults();
    const auto before = faults.size();
    auto made = read_definition(name, value, pointer, faults);
    if (faults.size() == before && by.recurring)
      if (const auto sound = by.recurring(made); !sound) faults.push_back({pointer, sound.error().message});
    options.recurring.push_back(std::move(made));
  }
}

loaded_recurring load_recurring(const std::string& name, const std::vector<std::string>& words, const checks& by) {
  loaded_recurring got;
  const auto value = value_of_words(words, "cron=\"*/10 * * * *\"", got.faults);
  got.definition = read_definition(name, value, "", got.faults);
  if (got.faults.empty() && by.recurring)
    if (const auto sound = by.recurring(got.definition); !sound) got.faults.push_back({"", sound.error().message});
  return got;
}

}  // namespace sluice::config
