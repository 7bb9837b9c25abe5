// Values by their names, as MessagePack: how what is asked seldom travels to the rules and back. Their `describe` says
// what they hold (core/describe.hpp). Compiles slowly: for by_name.cpp.
#pragma once

#include <charconv>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <sluice/error.hpp>
#include <sluice/types.hpp>

#include "core/clock.hpp"
#include "core/describe.hpp"
#include "core/field.hpp"
#include "core/job_state.hpp"
#include "core/text.hpp"

namespace sluice::storage::machine {

using nlohmann::json;

template <class T>
concept is_pair = requires(T& both) {
  both.first, both.second;
};
// A whole number of the rules, which hold large ones as texts: of what is none, 0.
template <class N>
N whole_number(const json& from) {
  if (from.is_number_unsigned()) return static_cast<N>(from.get<std::uint64_t>());
  if (from.is_number_integer()) return static_cast<N>(from.get<std::int64_t>());
  N n{};
  if (const auto* text = from.get_ptr<const std::string*>())
    std::from_chars(text->data(), text->data() + text->size(), n);
  return n;
}

template <class E>
std::string_view word_of(E value) {
  if constexpr (requires { words_of(value); }) return words_of(value)[static_cast<std::size_t>(value)];
  else return name_of(value);
}
// Throws when there is no such word: nothing is guessed.
template <class E>
void read_word(std::string_view word, E& into) {
  if constexpr (std::same_as<E, job_state>) {
    into = parse_job_state(word).value_or(into);
  } else if constexpr (std::same_as<E, errc>) {
    for (auto code = errc::none; code <= errc::io_error; code = static_cast<errc>(static_cast<int>(code) + 1))
      if (name_of(code) == word) into = code;
  } else {
    const auto words = words_of(E{});
    for (std::size_t i = 0; i < words.size(); ++i)
      if (words[i] == word) into = static_cast<E>(i);
  }
  if (word_of(into) != word) throw std::invalid_argument(cat("no value is called '", printable(word, 60), "'"));
}

template <class T>
json written(const T& value);

class writer {
public:
  // What is not there has no name.
  template <class T>
  writer& operator()(const char* name, const T& value, const field& = {}) {
    if constexpr (is_optional<T>) {
      if (value) all_[name] = written(*value);
    } else {
      all_[name] = written(value);
    }
    return *this;
  }
  json take() { return std::move(all_); }

private:
  json all_ = json::object();
};

template <class T>
json written(const T& value) {
  if constexpr (std::same_as<T, std::string> || std::is_arithmetic_v<T>) {
    return value;
  } else if constexpr (std::same_as<T, duration>) {
    return value.count();
  } else if constexpr (std::same_as<T, time_point>) {
    return micros(value);
  } else if constexpr (std::is_enum_v<T>) {
    return std::string(word_of(value));
  } else if constexpr (has_one_value<T>) {
    return value.value;
  } else if constexpr (is_list<T>) {
    auto all = json::array();
    for (const auto& one : value)
      all.push_back(written(one));
    return all;
  } else {
    writer w;
    describe(w, value);
    return w.take();
  }
}

template <class T>
void read_value(const json& from, T& into);

class reader_by_name {
public:
  explicit reader_by_name(const json& from) : from_(from) {}

  // What has no name, or is none, keeps what it has.
  template <class T>
  reader_by_name& operator()(const char* name, T& value, const field& = {}) {
    if (const auto found = from_.find(name); found != from_.end()) read_value(*found, value);
    return *this;
  }

private:
  const json& from_;
};

template <class T>
void read_value(const json& from, T& into) {
  if constexpr (is_optional<T>) {
    read_value(from, into.emplace());
  } else if constexpr (std::same_as<T, bool>) {
    into = from.is_boolean() ? from.get<bool>() : whole_number<int>(from) != 0;
  } else if constexpr (std::is_integral_v<T>) {
    into = whole_number<T>(from);
  } else if constexpr (std::same_as<T, std::string>) {
    if (from.is_string()) into = from.get_ref<const std::string&>();
  } else if constexpr (std::same_as<T, duration>) {
    into = duration(whole_number<std::int64_t>(from));
  } else if constexpr (std::same_as<T, time_point>) {
    into = from_micros(whole_number<std::int64_t>(from));
  } else if constexpr (std::is_enum_v<T>) {
    if (from.is_string()) read_word(from.get_ref<const std::string&>(), into);
  } else if constexpr (has_one_value<T>) {
    read_value(from, into.value);
  } else if constexpr (is_pair<T>) {
    if (from.is_array() && from.size() == 2) read_value(from[0], into.first), read_value(from[1], into.second);
  } else if constexpr (is_list<T>) {
    if (!from.is_array()) return;
    for (const auto& one : from)
      read_value(one, into.emplace_back());
  } else {
    reader_by_name r(from);
    describe(r, into);
  }
}

inline std::string packed(const json& value) {
  std::string bytes;
  json::to_msgpack(value, bytes);
  return bytes;
}
// Null when it is none.
inline json unpacked(std::string_view bytes) {
  auto value = json::from_msgpack(bytes.begin(), bytes.end(), true, false);
  return value.is_discarded() ? json() : value;
}

}  // namespace sluice::storage::machine
