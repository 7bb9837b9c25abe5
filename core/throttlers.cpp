#include "core/throttlers.hpp"

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdio>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/args_values.hpp"
#include "core/never_destroyed.hpp"
#include "core/text.hpp"

namespace sluice {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;
using enum throttler_kind;

constexpr std::array<std::string_view, 6> kind_names{"mutex",          "semaphore",      "fixed_window",
                                                     "sliding_window", "dynamic_window", "custom"};
constexpr std::array<std::string_view, 2> mode_names{"acquire_and_release", "release"};
constexpr std::array<std::string_view, 3> action_names{"wait", "retry", "delete"};

constexpr unsigned of(std::same_as<throttler_kind> auto... kinds) {
  return (0U | ... | (1U << static_cast<int>(kinds)));
}

constexpr std::array<throttler_field, 8> fields{{
    {"limit", of(semaphore, fixed_window, sliding_window, dynamic_window), [](const auto& t) { return t.limit != 0; }},
    {"interval", of(fixed_window, sliding_window, dynamic_window), [](const auto& t) { return t.interval != 0s; }},
    {"buckets", of(sliding_window, dynamic_window), [](const auto& t) { return t.buckets != 0; }},
    {"compatible", of(sliding_window, dynamic_window), [](const auto& t) { return t.compatible; }},
    {"key", of(dynamic_window), [](const auto& t) { return !t.key.empty(); }},
    {"capacity", of(dynamic_window), [](const auto& t) { return t.capacity != 0; }},
    {"min_limit", of(dynamic_window), [](const auto& t) { return t.min_limit != 0; }},
    {"max_limit", of(dynamic_window), [](const auto& t) { return t.max_limit != 0; }},
}};

constexpr std::size_t longest_template = 200;
constexpr std::size_t longest_definition = 4096;
constexpr std::size_t kept_of_long = 60;

error damaged(const std::string& what) { return {errc::damaged_record, "the definition of a throttler " + what}; }

bool is_printable(std::string_view text) { return printable(text, text.size()) == text; }

std::string in_quotes(std::string_view text) { return cat("'", printable(text, longest_template), "'"); }

template <class T>
bool take_number(const json& value, T& into) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > std::numeric_limits<T>::max()) return false;
  into = static_cast<T>(value.get<std::uint64_t>());
  return true;
}

bool take_text(const json& value, std::string& into) {
  if (value.is_string()) into = value.get<std::string>();
  return value.is_string();
}

bool take_time(const json& value, duration& into) {
  const auto read = value.is_string() ? parse_duration(value.get<std::string>()) : std::nullopt;
  if (read) into = *read;
  return read.has_value();
}

bool take_flag(const json& value, bool& into) {
  if (value.is_boolean()) into = value.get<bool>();
  return value.is_boolean();
}

bool take_mode(const json& value, throttler_mode& into) {
  if (value == mode_names[0]) into = throttler_mode::acquire_and_release;
  else if (value == mode_names[1]) into = throttler_mode::release;
  else return false;
  return true;
}

// False when the value is none of this field, or the field none of the kind's.
bool take_field(throttler& t, const std::string& key, const json& value) {
  if (key == "kind") return true;  // it was needed before
  if (!uses(t.kind, key)) return false;
  if (key == "name") return take_text(value, t.name) && valid_throttler_name(t.name);
  if (key == "limit") return take_number(value, t.limit);
  if (key == "interval") return take_time(value, t.interval);
  if (key == "buckets") return take_number(value, t.buckets);
  if (key == "compatible") return take_flag(value, t.compatible);
  if (key == "key") return take_text(value, t.key);
  if (key == "capacity") return take_number(value, t.capacity);
  if (key == "min_limit") return take_number(value, t.min_limit);
  if (key == "max_limit") return take_number(value, t.max_limit);
  return take_mode(value, t.mode);
}

// A filled template as the name of a throttler.
result<std::string> as_name(std::string whole) {
  if (whole.empty()) return invalid("a throttler's template came out empty");
  if (!is_printable(whole))
    return invalid(cat("a throttler's template came out as ", in_quotes(whole), ", which holds control characters"));
  whole = lowered(whole);
  if (whole.size() <= longest_throttler_name) return whole;
  std::array<char, 17> hash{};
  std::snprintf(hash.data(), hash.size(), "%016llx", static_cast<unsigned long long>(fnv1a(whole)));
  auto kept = kept_of_long;
  while ((static_cast<unsigned char>(whole[kept]) & 0xc0) == 0x80)
    --kept;  // not inside of a character
  return whole.substr(0, kept) + "~" + hash.data();
}

// A ref with its name as a template.
struct parsed_ref {
  throttler_kind kind;
  std::string_view text;  // of the name
  args_template name;

  // The same for all refs that always mean the same throttler.
  std::string identity() const {
    std::string all = resource_of(kind, "");
    for (const auto& p : name.pieces())  // a placeholder minds case, and \1 is in no literal
      all += p.path.empty() ? lowered(p.text) : "\1" + p.text + "\1";
    return all;
  }
};

result<parsed_ref> parse_ref(std::string_view text) {
  std::string kinds;
  for (const auto& name : throttler_kinds())
    kinds += (kinds.empty() ? "" : ", ") + name;
  const auto colon = text.find(':');
  if (colon == std::string_view::npos)
    return invalid(cat("must be KIND:NAME as \"semaphore:provider-api\", where KIND is one of ", kinds, ", not ",
                       in_quotes(text)));
  const auto kind = parse_throttler_kind(text.substr(0, colon));
  if (!kind) {
    return invalid(cat("must begin with one of ", kinds, ", not ", in_quotes(text.substr(0, colon)),
                       did_you_mean(text.substr(0, colon), throttler_kinds())));
  }
  const auto name = text.substr(colon + 1);
  auto parsed = parse_args_template(name);
  if (!parsed) return invalid(cat("the name: ", parsed.error().message));
  if (parsed->has_placeholders() && *kind != mutex)
    return invalid(cat("only a mutex may have {placeholders} in its name, not a ", name_of(*kind),
                       "; a brace itself is written {{ or }}"));
  if (!parsed->has_placeholders() && !valid_throttler_name(parsed->pieces().front().text))
    return invalid(cat("the name must have at most ", longest_throttler_name, " bytes"));
  if (*kind != mutex && *kind != semaphore && name.find('/') != std::string_view::npos)
    return invalid(cat("the name of a ", name_of(*kind), " must not hold a '/'; use '-' or '.'"));
  return parsed_ref{*kind, name, *std::move(parsed)};
}

}  // namespace

std::string_view name_of(throttler_kind kind) noexcept {
  const auto at = static_cast<std::size_t>(kind);
  return at < kind_names.size() ? kind_names[at] : "";
}

std::optional<throttler_kind> parse_throttler_kind(std::string_view name) noexcept {
  const auto found = std::find(kind_names.begin(), kind_names.end(), name);
  if (found == kind_names.end()) return std::nullopt;
  return static_cast<throttler_kind>(found - kind_names.begin());
}

const std::vector<std::string>& throttler_kinds() {
  static const auto& all = *never_destroyed<std::vector<std::string>>(kind_names.begin(), kind_names.end());
  return all;
}

std::string_view name_of(throttler_mode mode) noexcept {
  const auto at = static_cast<std::size_t>(mode);
  return at < mode_names.size() ? mode_names[at] : "";
}

std::string_view name_of(throttle_action action) noexcept {
  const auto at = static_cast<std::size_t>(action);
  return at < action_names.size() ? action_names[at] : "";
}

std::optional<throttle_action> parse_throttle_action(std::string_view name) noexcept {
  const auto found = std::find(action_names.begin(), action_names.end(), name);
  if (found == action_names.end()) return std::nullopt;
  return static_cast<throttle_action>(found - action_names.begin());
}

const std::vector<std::string>& throttle_actions() {
  static const auto& all = *never_destroyed<std::vector<std::string>>(action_names.begin(), action_names.end());
  return all;
}

std::string resource_of(throttler_kind kind, std::string_view name) {
  return std::string(name_of(kind)).append(":").append(lowered(name));
}

std::optional<throttler_kind> kind_of(std::string_view resource) noexcept {
  const auto colon = resource.find(':');
  return colon == std::string_view::npos ? std::nullopt : parse_throttler_kind(resource.substr(0, colon));
}

bool valid_throttler_name(std::string_view name) {
  return !name.empty() && name.size() <= longest_throttler_name && is_printable(name);
}

std::span<const throttler_field> throttler_fields() noexcept { return fields; }

bool uses(throttler_kind kind, std::string_view field) {
  const auto* const found = std::find_if(fields.begin(), fields.end(), [&](const auto& f) { return f.name == field; });
  if (found == fields.end()) return field == "kind" || field == "name" || field == "mode";
  return !name_of(kind).empty() && (found->kinds & of(kind)) != 0;
}

bool says(const throttler& t, std::string_view field) {
  const auto* const found = std::find_if(fields.begin(), fields.end(), [&](const auto& f) { return f.name == field; });
  return found != fields.end() && found->is_set(t) && uses(t.kind, field);
}

std::string not_of(throttler_kind kind) { return cat("is nothing that a ", name_of(kind), " has; remove it"); }

std::string write_throttler(const throttler& t) { return json_for({.is_store = true}, t); }

result<throttler> read_throttler(std::string_view text) {
  if (text.size() > longest_definition) return damaged(cat("has ", text.size(), " bytes"));
  if (auto well = check_json(text, 2); !well) return damaged(well.error().message);
  const auto tree = json::parse(text.begin(), text.end(), nullptr, false);
  if (!tree.is_object()) return damaged("is no object");
  const auto kind = tree.find("kind");
  const auto known =
      kind != tree.end() && kind->is_string() ? parse_throttler_kind(kind->get<std::string>()) : std::nullopt;
  if (!known) return damaged("has no kind that is known here");
  if (!tree.contains("name")) return damaged("has no name");
  throttler made;
  made.kind = *known;
  for (const auto& [key, value] : tree.items())
    if (!take_field(made, key, value)) return damaged(cat("cannot be read at ", in_quotes(key)));
  return made;
}

std::string changes_between(std::string_view before, std::string_view after) {
  const auto known = [](std::string_view text) {
    const auto read = read_throttler(text);
    return read ? json::parse(write_throttler(*read)) : json::object();
  };
  const auto was = known(before), is = known(after);
  std::string all;
  const auto compare = [&](const std::string& field, const std::string& by_default) {
    const auto old = was.value(field, json(by_default)), now = is.value(field, json(by_default));
    if (old == now) return;
    const auto word = [](const json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); };
    all += cat(all.empty() ? "" : ", ", field, " ", was.empty() ? "" : cat(word(old), " → "), word(now));
  };
  for (const auto& field : fields)
    compare(std::string(field.name), field.name == "compatible" ? "false" : "none");
  compare("mode", std::string(mode_names[0]));
  return all;
}

result<throttle_ref> parse_throttle_ref(std::string_view text) {
  const auto parsed = parse_ref(text);
  if (!parsed) return parsed.error();
  return throttle_ref{parsed->kind,
                      parsed->kind == mutex ? std::string(parsed->text) : parsed->name.pieces().front().text};
}

result<void> throttle_list::add(std::string_view ref) {
  const auto parsed = parse_ref(ref);
  if (!parsed) return parsed.error();
  if (!known_.insert(parsed->identity()).second) return invalid(cat(in_quotes(ref), " is named twice; keep one"));
  return {};
}

bool args_template::has_placeholders() const {
  return std::any_of(pieces_.begin(), pieces_.end(), [](const piece& p) { return !p.path.empty(); });
}

result<std::string> args_template::fill(const std::string& args_json) const {
  auto whole = fill_exactly(args_json);
  return whole ? as_name(std::move(*whole)) : whole;
}

result<std::string> args_template::fill_exactly(const std::string& args_json) const {
  std::vector<args_path> paths;
  for (const auto& p : pieces_)
    if (!p.path.empty()) paths.push_back(p.path);
  std::vector<args_value> values;
  if (!paths.empty()) {
    auto found = find_in_args(args_json, paths);
    if (!found) return found.error();
    values = std::move(*found);
  }
  std::string whole;
  std::size_t place = 0;
  for (const auto& p : pieces_) {
    if (p.path.empty()) {
      whole += p.text;
      continue;
    }
    const auto& got = values[place++];
    if (!got.instead.empty())
      return invalid(cat("the placeholder {", p.text, "} ", got.instead,
                         " the args; it must be a text, a whole number, true or false"));
    whole += got.text;
  }
  return whole;
}

result<args_template> parse_args_template(std::string_view text) {
  if (text.empty()) return invalid("must not be empty");
  if (text.size() > longest_template) return invalid(cat("must have at most ", longest_template, " bytes"));
  if (!is_printable(text)) return invalid(cat(in_quotes(text), " holds control characters"));
  const auto wrong = [&](std::size_t at, std::string_view what) {
    return invalid(cat("the brace at byte ", at + 1, " of ", in_quotes(text), " ", what));
  };
  args_template made;
  std::string literal;
  const auto end_literal = [&] {
    if (!literal.empty()) made.pieces_.push_back({std::exchange(literal, {})});
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool brace = c == '{' || c == '}';
    if (!brace || (at + 1 < text.size() && text[at + 1] == c)) {
      literal += c;
      at += brace;
      continue;
    }
    if (c == '}') return wrong(at, "closes nothing; a brace itself is written }}");
    const auto end = text.find_first_of("{}", at + 1);
    if (end == std::string_view::npos || text[end] == '{')
      return wrong(at, "is not closed; a brace itself is written {{");
    const auto inside = text.substr(at + 1, end - at - 1);
    auto path = parse_args_path(inside);
    if (path.empty()) return wrong(at, "must hold a name of the args, as {order_id} or {customer.id}");
    end_literal();
    made.pieces_.push_back({std::string(inside), std::move(path)});
    at = end;
  }
  end_literal();
  return made;
}

namespace {

// Of a key without a placeholder, with the braces where they were forgotten. The text can be printed.
std::string alike_for_all(std::string_view text) {
  const auto at = text.find_last_of(":/") + 1;
  const auto last = text.substr(at);
  const bool is_name = last.find_first_of("{} ") == std::string_view::npos && !parse_args_path(last).empty();
  const auto braces = is_name ? cat("did you mean '", text.substr(0, at), "{", last, "}'?")
                              : std::string("write the name of one in braces, as '{customer_id}'.");
  return cat("'", text, "' names none of the args, so it would be alike for all jobs; ", braces);
}

}  // namespace

result<args_template> parse_key_template(std::string_view text) {
  auto parsed = parse_args_template(text);
  if (!parsed || parsed->has_placeholders()) return parsed;
  return invalid(alike_for_all(text));
}

result<args_template> parse_unique_template(std::string_view text) {
  constexpr std::string_view constant = "constant:";
  const bool is_constant = text.starts_with(constant);
  auto parsed = parse_args_template(is_constant ? text.substr(constant.size()) : text);
  if (!parsed || parsed->has_placeholders() != is_constant) return parsed;
  return is_constant
             ? invalid(cat("'", text, "' has placeholders, and is not constant: leave '", constant, "' out"))
             : invalid(cat(alike_for_all(text), " One that is to be alike for all is written '", constant, text, "'"));
}

result<args_template> overlap_template(std::string_view type, const std::string& without_overlap) {
  if (without_overlap.empty()) return parse_args_template(cat("overlap:", type));
  // By itself first: an error counts its bytes.
  if (auto alone = parse_key_template(without_overlap); !alone)
    return parse_args_template(without_overlap)
               ? invalid(alone.error().message + " One at a time of the whole type is written true, or \"\" in C++.")
               : alone;
  return parse_args_template(cat("overlap:", type, '/', without_overlap));
}

}  // namespace sluice
