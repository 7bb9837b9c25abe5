/// Args and results as C++ values, by nlohmann_json: any type with `to_json` and `from_json` (say,
/// by NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE). Include it where such handlers are registered and such
/// jobs are made; no other public header pays for nlohmann_json.
#pragma once

#include <concepts>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include <nlohmann/json.hpp>

#include <sluice/error.hpp>
#include <sluice/handler.hpp>
#include <sluice/job.hpp>

namespace sluice {

/// Whether a text of JSON is: whoever copies such a value needs that much stack. What was stored by somebody else may
/// be.
inline bool is_nested_deeper_than(int levels, std::string_view json) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (quoted && c == '\\') ++i;
    else if (c == '"') quoted = !quoted;
    else if (!quoted && (c == '[' || c == '{') && ++depth > levels) return true;
    else if (!quoted && (c == ']' || c == '}')) --depth;
  }
  return false;
}

namespace json_fit {

/// Where a value does not fit, in front of what `failure` says of it: "/lines/0/price: type must be number, but is
/// string". `failure`: why such a value cannot be converted; empty: it can.
std::string why_not(const nlohmann::json& value, const std::function<std::string(const nlohmann::json&)>& failure);
/// Of a number that has become another one, as 99999999999 in an int: where, and both. Empty: there is none. `made`:
/// what the value was converted to, written again.
std::string cut_number(const nlohmann::json& value, const nlohmann::json& made);
/// Warns of a member that `made` lacks and that is called almost as one which only `made` has: once for each type of
/// job and member.
void warn_of_slip(const std::string& type, const nlohmann::json& value, const nlohmann::json& made);
/// Bytes that are no UTF-8 become replacement characters: a process warns of the first.
std::string written(const nlohmann::json& value);

}  // namespace json_fit

/// A value that does not fit T, and a number that does not, is an exception that says where, and what was wanted.
template <class T>
struct json_conversion {
  /// `args_for`: the type of the job whose args these are, when its handler reads them: a member that seems to be
  /// misspelt is warned of.
  static T read(const std::string& text, const std::string& args_for = {}) {
    constexpr bool readable = requires(const nlohmann::json& tree) { tree.get<T>(); };
    static_assert(readable || std::is_default_constructible_v<T>, "what is read from JSON needs a default constructor");
    static_assert(readable,
                  "a type without JSON: write NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TYPE, MEMBERS...) after it, in "
                  "its own namespace");
    if constexpr (readable) {
      if (is_nested_deeper_than(1'000, text)) throw std::invalid_argument("it is nested deeper than 1000 levels");
      const auto tree = nlohmann::json::parse(text);
      try {
        T made = tree.get<T>();
        if (const auto cut = cut_in(tree, made, args_for); !cut.empty()) throw std::invalid_argument(cut);
        return made;
      } catch (const nlohmann::json::exception&) {
        throw std::invalid_argument(json_fit::why_not(tree, failure_of));
      }
    }
  }
  /// Text that is no UTF-8 is written with replacement characters, of which a process warns once.
  static std::string write(const T& value) {
    constexpr bool writable = std::constructible_from<nlohmann::json, const T&>;
    static_assert(writable,
                  "a type without JSON: write NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TYPE, MEMBERS...) after it, in "
                  "its own namespace");
    if constexpr (writable) return json_fit::written(nlohmann::json(value));
  }

private:
  static std::string failure_of(const nlohmann::json& tree) {
    try {
      (void)tree.get<T>();
      return {};
    } catch (const std::exception& e) {
      return e.what();
    } catch (...) {
      return "an exception";
    }
  }
  // What cannot be written is not compared.
  static std::string cut_in(const nlohmann::json& tree, const T& made, const std::string& args_for) {
    if constexpr (std::is_same_v<T, nlohmann::json> || !std::constructible_from<nlohmann::json, const T&>) return {};
    else try {
        const nlohmann::json written(made);
        if (!args_for.empty()) json_fit::warn_of_slip(args_for, tree, written);
        return json_fit::cut_number(tree, written);
      } catch (...) {
        return {};
      }
  }
};

/// A job's args or result as a value. invalid_argument says what does not fit.
template <class T>
result<T> args_of(const job& about) {
  try {
    return json_conversion<T>::read(about.args);
  } catch (const std::exception& e) {
    return error{errc::invalid_argument, "job " + about.id.value + ": " + e.what()};
  }
}
template <class T>
result<T> result_of(const job& about) {
  try {
    return json_conversion<T>::read(about.result);
  } catch (const std::exception& e) {
    return error{errc::invalid_argument, "the result of job " + about.id.value + ": " + e.what()};
  }
}

}  // namespace sluice
