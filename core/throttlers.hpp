// How throttlers are called and written: their ids, their stored form, how job types name them, and templates over
// args. What a definition means is not here.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/error.hpp>
#include <sluice/throttling.hpp>

#include "core/args_values.hpp"
#include "core/json_object.hpp"
#include "core/text.hpp"

namespace sluice {

// The names of all kinds, in their order, and of what may happen to a deferred job.
const std::vector<std::string>& throttler_kinds();
const std::vector<std::string>& throttle_actions();

// "KIND:name", ASCII letters in lower case: the id by which a store knows it.
std::string resource_of(throttler_kind kind, std::string_view name);

// The kind that such an id names.
std::optional<throttler_kind> kind_of(std::string_view resource) noexcept;

inline constexpr std::size_t longest_throttler_name = 100;
// 1 to so many bytes of valid UTF-8 without control characters.
bool valid_throttler_name(std::string_view name);

// What a definition may say besides its kind, name and mode, and whether it does.
struct throttler_field {
  std::string_view name;
  unsigned kinds;  // those that have it, a bit each
  bool (*is_set)(const throttler&);
};
std::span<const throttler_field> throttler_fields() noexcept;
// Whether a kind uses this field of `throttler`, by its name; nothing of a definition but these is stored.
bool uses(throttler_kind kind, std::string_view field);
// Whether a definition says it, and its kind uses it.
bool says(const throttler& t, std::string_view field);
// What is told of a field that the kind does not use: nobody would obey it.
std::string not_of(throttler_kind kind);

std::string_view name_of(throttler_mode mode) noexcept;

// A definition as it is stored and shown: the kind, the name, and what else the kind uses and is not as it is by
// default.
void show(auto& v, const throttler& t) {
  const auto add = [&](std::string_view name, const auto& value) { v(name, value, {.is_given = says(t, name)}); };
  v("kind", t.kind)("name", t.name);
  add("limit", t.limit);
  add("interval", format_duration(t.interval));
  add("buckets", t.buckets);
  add("compatible", t.compatible);
  add("key", t.key);
  add("capacity", t.capacity);
  add("min_limit", t.min_limit);
  add("max_limit", t.max_limit);
  v("mode", t.mode, {.is_given = t.mode == throttler_mode::release});
}

// The stored form: JSON. Equal definitions give equal texts, for ever.
std::string write_throttler(const throttler& definition);
// damaged_record for whatever was not written so. The values may make no sense together.
result<throttler> read_throttler(std::string_view text);

// What differs in two stored forms, as "limit 8 → 16, mode acquire_and_release → release"; where there is none before,
// all that the second says. Of what was not written so nothing is known.
std::string changes_between(std::string_view before, std::string_view after);

// A throttler as a job type names it.
struct throttle_ref {
  throttler_kind kind = throttler_kind::mutex;
  std::string name;  // of a mutex: an args_template, with or without placeholders

  bool operator==(const throttle_ref&) const = default;
};

// "semaphore:provider-api", "mutex:order:{order_id}": the kind is what stands before the first colon. In a name {{ and
// }} are braces; only a mutex may have placeholders. invalid_argument says what is allowed.
result<throttle_ref> parse_throttle_ref(std::string_view text);

// The throttlers of one job type, one by one.
class throttle_list {
public:
  // What is wrong with this one; naming a throttler twice is.
  result<void> add(std::string_view ref);

private:
  std::set<std::string> known_;
};

// A text with places for what a job's args say: "order:{order_id}", "{customer.id}", "{lines.0.sku}"; {{ and }} are
// braces.
class args_template {
public:
  struct piece {
    std::string text;  // a literal, or what stands between the braces
    args_path path{};  // of a placeholder
  };

  // The text in lower case, as names of throttlers are. A text of args stands as it is, a whole number as it is
  // written, a flag as true or false; everything else is invalid_argument, and so is an empty result or one that
  // cannot be printed. More than 100 bytes become the first 60, "~" and a hash of them all. Args are not looked at
  // when there are no placeholders.
  result<std::string> fill(const std::string& args_json) const;
  // The same as it is written: in capitals and small letters, of any length and any bytes.
  result<std::string> fill_exactly(const std::string& args_json) const;

  const std::vector<piece>& pieces() const { return pieces_; }
  bool has_placeholders() const;

private:
  friend result<args_template> parse_args_template(std::string_view text);

  std::vector<piece> pieces_;
};

// invalid_argument names the byte (from 1) of a brace that is not closed, not opened or holds no path. At most 200
// bytes.
result<args_template> parse_args_template(std::string_view text);

// The same of a key, which tells jobs apart: it must have a placeholder. invalid_argument offers the braces.
result<args_template> parse_key_template(std::string_view text);

// The same of a unique key. One that is alike for all jobs of a type says so: "constant:nightly" is the key "nightly".
result<args_template> parse_unique_template(std::string_view text);

// The name of the mutex that `type_options::without_overlap` of a type means. No type's name holds a brace or a slash.
result<args_template> overlap_template(std::string_view type, const std::string& without_overlap);

}  // namespace sluice
