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

void read_headers(reader& r, std::map<std::string, std::string>& into) {
  const auto* at = r.any("headers");
  if (!at) return;
  if (!at->is_object()) return r.fault_at("headers", "must be an object of texts by name");
  for (const auto& [name, value] : at->items()) {
    if (value.is_string()) into[name] = value.get<std::string>();
    else r.faults().push_back({r.pointer("headers") + "/" + pointer_part(name), "must be a text"});
  }
}

// Args as they were written, where a tree would read as the same: else something was laid over them.
std::string args_of(const json& args, const std::string& pointer, const args_texts& written) {
  const auto found = written.find(pointer);
  if (found != written.end() && json::parse(found->second, nullptr, false) == args) return found->second;
  return args.dump(-1, ' ', false, json::error_handler_t::replace);
}

sluice::recurring read_definition(const std::string& name, const json& value, const std::string& pointer,
                                  const args_texts& written, std::vector<fault>& faults) {
  sluice::recurring made;
  made.name = name;
  reader r(value, pointer, faults);
  if (const auto job = r.text("job")) made.job.value = *job;
  else if (is_misspelt(value, "job")) made.job.value = "misspelt";  // so that the checks do not tell the same again
  else if (value.is_object() && !value.contains("job")) r.fault_at("job", "must be given: the type of its jobs");
  if (const auto* args = r.any("args")) {
    if (args->is_object()) made.args = args_of(*args, r.pointer("args"), written);
    else r.fault_at("args", "must be a JSON object");
  }
  if (const auto cron = r.text("cron")) made.cron = *cron;
  keep(made.every, r.time("every", ranges::recurring_every));
  if (!value.contains("cron") && !value.contains("every")) {
    if (is_misspelt(value, "cron")) made.cron = "* * * * *";
    else if (is_misspelt(value, "every")) made.every = 1min;
  }
  if (const auto zone = r.text("zone")) made.zone = *zone;
  if (const auto queue = r.text("queue")) made.queue.value = *queue;
  read_stagger(r, made.stagger);
  keep(made.catch_up, r.choice("catch_up", catch_up_rules()));
  keep(made.catch_up_max, r.number("catch_up_max", ranges::catch_up_max));
  keep(made.overlap, r.choice("overlap", overlap_rules()));
  read_headers(r, made.headers);
  return made;
}

// Whether the checks of a definition would say what is told already.
bool is_checked(const fault& one) {
  const auto field = one.pointer.substr(one.pointer.rfind('/') + 1);
  return field == "job" || field == "args" || field == "queue" || field == "cron" || field == "every" ||
         field == "zone" || field == "stagger";
}

// One whose other fields are wrong is checked, too: all faults are told at once.
void check_definition(const sluice::recurring& made, const checks& by, const std::string& pointer, std::size_t before,
                      std::vector<fault>& faults) {
  const auto from = faults.begin() + static_cast<std::ptrdiff_t>(before);
  if (!by.recurring || std::any_of(from, faults.end(), is_checked)) return;
  if (const auto sound = by.recurring(made); !sound) faults.push_back({pointer, sound.error().message});
}

}  // namespace

void read_recurring(reader& from, const checks& by, const std::string& text, server_options& options) {
  keep(options.prune_recurring, from.flag("prune_recurring"));
  const auto* at = from.any("recurring");
  if (!at) return;
  if (!at->is_object()) return from.fault_at("recurring", "must be an object by name");
  const auto written = read_args_texts(text);
  for (const auto& [name, value] : at->items()) {
    const auto pointer = from.pointer("recurring") + "/" + pointer_part(name);
    auto& faults = from.faults();
    const auto before = faults.size();
    auto made = read_definition(name, value, pointer, written, faults);
    check_definition(made, by, pointer, before, faults);
    options.recurring.push_back(std::move(made));
  }
}

namespace {

loaded_recurring read_alone(const std::string& name, const json& value, const args_texts& written, loaded_recurring got,
                            const checks& by) {
  got.definition = read_definition(name, value, "", written, got.faults);
  check_definition(got.definition, by, "", 0, got.faults);
  return got;
}

// A definition as it is shown may be said again: there the name is one of its words, and others are texts.
void as_a_file_has_it(json& value, args_texts& written, const std::string& name) {
  if (value.value("name", json()) == name) value.erase("name");
  if (const auto args = value.find("args"); args != value.end() && args->is_string())
    if (auto read = json::parse(args->get<std::string>(), nullptr, false); read.is_object()) {
      written["/args"] = args->get<std::string>();
      *args = std::move(read);
    }
  if (const auto stagger = value.find("stagger"); stagger != value.end() && (*stagger == "true" || *stagger == "false"))
    *stagger = *stagger == "true";
}

}  // namespace

loaded_recurring load_recurring(const std::string& name, const std::vector<std::string>& words, const checks& by) {
  loaded_recurring got;
  const auto value = value_of_words(words, "cron=\"*/10 * * * *\"", got.faults);
  args_texts written;
  for (const std::string_view word : words)
    if (word.starts_with("args=")) written = read_args_texts(cat("{\"args\":", word.substr(5), "}"));
  return read_alone(name, value, written, std::move(got), by);
}

loaded_recurring load_recurring(const std::string& name, const json_text& text, const checks& by) {
  loaded_recurring got;
  auto value = parse_document(text.value, got.faults);
  if (got.faults.empty() && !value.is_object())
    got.faults.push_back({"", "must be a JSON object, as {\"job\": \"report\", \"every\": \"90s\"}"});
  if (!got.faults.empty()) return got;
  auto written = read_args_texts(text.value);
  as_a_file_has_it(value, written, name);
  return read_alone(name, value, written, std::move(got), by);
}

}  // namespace sluice::config
