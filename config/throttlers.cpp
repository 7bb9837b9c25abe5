#include "config/throttlers.hpp"

#include <algorithm>
#include <map>

#include "core/text.hpp"
#include "core/throttlers.hpp"

namespace sluice::config {
namespace {

// The kind of a definition; nothing after a fault.
std::optional<throttler_kind> read_kind(reader& r, const json& value) {
  if (const auto kind = r.choice("kind", throttler_kinds())) return static_cast<throttler_kind>(*kind);
  if (!value.is_object() || value.contains("kind")) return std::nullopt;
  std::string list;
  for (const auto& kind : throttler_kinds())
    list += (list.empty() ? "" : ", ") + kind;
  r.fault_at("kind", "must be given: one of " + list);
  return std::nullopt;
}

struct definition {
  throttler content;
  bool has_kind = false;
};

// Value by value; what they make together is looked at in `read_definition`.
definition read_values(const std::string& name, const json& value, const std::string& pointer,
                       std::vector<fault>& faults) {
  definition made;
  auto& t = made.content;
  t.name = name;
  reader r(value, pointer, faults);
  const auto kind = read_kind(r, value);
  made.has_kind = kind.has_value();
  keep(t.kind, kind);
  keep(t.limit, r.number("limit", ranges::throttle_limit));
  keep(t.interval, r.time("interval", ranges::throttle_interval));
  keep(t.buckets, r.number("buckets", ranges::throttle_buckets));
  keep(t.compatible, r.flag("compatible"));
  if (const auto key = r.text("key")) {
    t.key = *key;
    if (const auto parsed = parse_key_template(*key); !parsed) r.fault_at("key", parsed.error().message);
  }
  keep(t.capacity, r.number("capacity", ranges::throttle_limit));
  keep(t.min_limit, r.number("min_limit", ranges::throttle_limit));
  keep(t.max_limit, r.number("max_limit", ranges::throttle_limit));
  keep(t.mode, r.choice("mode", {"acquire_and_release", "release"}));
  if (kind && value.is_object())
    for (const auto& field : throttler_fields())
      if (value.contains(field.name) && !uses(*kind, field.name)) r.fault_at(field.name, not_of(*kind));
  return made;
}

definition read_definition(const std::string& name, const json& value, const std::string& pointer,
                           std::vector<fault>& faults) {
  if (!valid_throttler_name(name))
    faults.push_back({pointer, name.empty()
                                   ? "must not be an empty name"
                                   : "must be a name of 1 to 100 characters, none of them a control character"});
  auto made = read_values(name, value, pointer, faults);
  if (!made.has_kind) return made;
  const auto is_told = [&](const std::string& field) {
    const auto at = field == "name" ? pointer : cat(pointer, "/", field);
    return std::any_of(faults.begin(), faults.end(), [&](const auto& f) { return f.pointer == at; });
  };
  for (const auto& one : faults_of(made.content))
    if (!is_told(one.field) && !is_misspelt(value, one.field)) faults.push_back({pointer, told_of(made.content, one)});
  return made;
}

void read_refs(reader& from, std::vector<std::string>& into) {
  const auto* list = from.any("throttle");
  if (!list) return;
  if (!list->is_array()) return from.fault_at("throttle", "must be a list of texts like \"semaphore:NAME\"");
  if (!ranges::throttlers_of_type.contains(list->size()))
    return from.fault_at("throttle", cat("must name at most ", ranges::throttlers_of_type.most, " throttlers"));
  throttle_list known;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const auto& one = (*list)[i];
    if (one.is_string()) into.push_back(one.get<std::string>());
    const auto fine = one.is_string() ? known.add(into.back())
                                      : error{errc::invalid_argument, "must be a text like \"semaphore:NAME\""};
    if (!fine) from.faults().push_back({cat(from.pointer("throttle"), "/", i), fine.error().message});
  }
}

// true, false, or a template over args.
void read_overlap(reader& from, const std::string& type, std::optional<std::string>& into) {
  const auto* said = from.any("without_overlap");
  if (!said || *said == false) return;
  if (*said != true && (!said->is_string() || said->get<std::string>().empty()))
    return from.fault_at("without_overlap", "must be true, false or a text like \"{customer_id}\"");
  into = said->is_string() ? said->get<std::string>() : std::string();
  if (const auto sound = overlap_template(type, *into); !sound) from.fault_at("without_overlap", sound.error().message);
}

}  // namespace

void read_throttlers(reader& from, server_options& options) {
  const auto* at = from.any("throttlers");
  if (!at) return;
  if (!at->is_object()) return from.fault_at("throttlers", "must be an object by name");
  std::map<std::string, std::string> known;  // the names by their resources
  for (const auto& [name, value] : at->items()) {
    const auto pointer = from.pointer("throttlers") + "/" + pointer_part(name);
    auto& faults = from.faults();
    auto made = read_definition(name, value, pointer, faults);
    if (made.has_kind) {
      const auto [first, is_new] = known.emplace(resource_of(made.content.kind, name), name);
      if (!is_new)
        faults.push_back({pointer, cat("is the ", name_of(made.content.kind), " '", printable(first->second, 100),
                                       "' in other letters, for case does not count; keep one")});
    }
    options.throttlers.push_back(std::move(made.content));
  }
}

namespace {

loaded_throttler read_alone(throttler_kind kind, const std::string& name, json value, loaded_throttler got) {
  if (!value.is_object()) {
    got.faults.push_back({"", "must be a JSON object, as {\"limit\": 4}"});
    return got;
  }
  // One among them would be another kind than the id says.
  if (value.contains("kind")) got.faults.push_back({"/kind", "is said before the name already; remove it"});
  value["kind"] = std::string(name_of(kind));
  got.definition = read_definition(name, value, "", got.faults).content;
  return got;
}

}  // namespace

loaded_throttler load_throttler(throttler_kind kind, const std::string& name, const std::vector<std::string>& words,
                                const throttler* before) {
  loaded_throttler got;
  auto value = value_of_words(words, "limit=4", got.faults);
  if (before) {
    auto whole = json::parse(write_throttler(*before));
    whole.erase("kind");
    whole.erase("name");
    whole.merge_patch(value);
    value = std::move(whole);
  }
  return read_alone(kind, name, std::move(value), std::move(got));
}

loaded_throttler load_throttler(throttler_kind kind, const std::string& name, const json_text& text) {
  loaded_throttler got;
  auto value = parse_document(text.value, got.faults);
  if (!got.faults.empty()) return got;
  // A definition as it is shown may be said again: there these are among its words.
  if (value.is_object() && value.value("kind", json()) == std::string(name_of(kind))) value.erase("kind");
  if (value.is_object() && value.value("name", json()) == name) value.erase("name");
  return read_alone(kind, name, std::move(value), std::move(got));
}

void read_throttling(reader& from, const std::string& type, type_options& job) {
  read_refs(from, job.throttle);
  keep(job.when_throttled, from.choice("when_throttled", throttle_actions()));
  keep(job.throttle_delay, from.time("throttle_delay", ranges::throttle_delay));
  keep(job.strict, from.flag("strict"));
  read_overlap(from, type, job.without_overlap);
}

}  // namespace sluice::config
