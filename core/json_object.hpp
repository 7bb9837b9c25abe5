// Writes a described value as JSON, in one line: how Sluice makes JSON of what it knows. A member's
// value is a text, a number, true or false, an instant, an enumeration's word, a list, a map of texts, JSON as somebody
// gave it, or described itself: by `show`, which is how the world sees a value, or `describe` where that is the same.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <sluice/types.hpp>

#include "core/field.hpp"
#include "core/text.hpp"

namespace sluice {

// JSON that somebody gave: as the member NAME it stands as JSON, null when it is none, and as NAME_text byte for byte,
// since readers round numbers.
struct given_json {
  std::string_view text{};
  bool operator==(const given_json&) const = default;
};
// Bytes that need be no text.
struct base64_bytes {
  std::string_view bytes{};
};

// What is shown by its description alone.
void show(auto& v, const auto& value) { describe(v, value); }

// Who it is for.
struct shown_to {
  bool sees_content = true;
  bool sees_details = false;
  bool is_store = false;  // which keeps what was given as a text
};

class json_object {
public:
  json_object(std::string& into, shown_to who) : into_(into), who_(who) { into_ += '{'; }
  json_object(const json_object&) = delete;
  // Behind its last member.
  void close() { into_ += '}'; }

  template <class T>
  json_object& operator()(std::string_view name, const T& value, const field& f = {}) {
    const bool is_hidden = f.is_content && !who_.sees_content;
    if (f.is_given == false || (f.is_given && is_hidden) || (f.is_detail && !who_.sees_details)) return *this;
    if (!is_hidden) {
      add(name, value);
    } else if constexpr (is_text<T>) {
      add(name, f.in_place);
    } else {
      add(name, T{});
    }
    return *this;
  }

private:
  template <class T>
  void add(std::string_view name, const T& value) {
    begin(name);
    write(value);
  }
  void add(std::string_view name, const given_json& given);
  void begin(std::string_view name);

  template <class T>
  void write(const T& value) {
    if constexpr (is_optional<T>) {
      if (value) write(*value);
      else into_ += "null";
    } else if constexpr (is_text<T>) {
      append_json(into_, value);
    } else if constexpr (std::is_same_v<T, bool>) {
      into_ += value ? "true" : "false";
    } else if constexpr (std::is_integral_v<T>) {
      append(into_, value);
    } else if constexpr (std::is_floating_point_v<T>) {
      append_json(into_, static_cast<double>(value));
    } else if constexpr (std::is_same_v<T, time_point>) {
      append_json(into_, format_time(value));
    } else if constexpr (std::is_same_v<T, base64_bytes>) {
      append_json(into_, to_base64(value.bytes));
    } else if constexpr (std::is_enum_v<T>) {
      append_json(into_, name_of(value));
    } else if constexpr (has_one_value<T>) {
      write(value.value);
    } else if constexpr (std::is_same_v<T, std::map<std::string, std::string>>) {
      json_object all(into_, who_);
      for (const auto& [name, text] : value)
        all(name, text);
      all.close();
    } else if constexpr (is_list<T>) {
      into_ += '[';
      for (const auto& one : value) {
        if (&one != &value.front()) into_ += ',';
        write(one);
      }
      into_ += ']';
    } else {
      json_object one(into_, {.sees_content = who_.sees_content, .is_store = who_.is_store});
      show(one, value);
      one.close();
    }
  }

  std::string& into_;
  const shown_to who_;
  bool is_first_ = true;
};

template <class T>
std::string json_for(shown_to who, const T& value) {
  std::string text;
  json_object all(text, who);
  show(all, value);
  all.close();
  return text;
}

}  // namespace sluice
