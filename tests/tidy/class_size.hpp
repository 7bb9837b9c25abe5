// Counts the fields and the methods of classes, as far as text tells.
#pragma once

#include <regex>
#include <string>
#include <vector>

namespace sluice::tidy {

struct class_size {
  std::string name;
  int fields = 0;
  int methods = 0;
};

// Without comments, texts, directives, and the marks of core/mutex.hpp.
inline std::string bare_code(const std::string& source) {
  static const std::regex noise(
      R"((//[^\n]*)|(/\*[^]*?\*/)|("(\\.|[^"\\\n])*")|('(\\.|[^'\\\n])*')|(^#[^\n]*(\\\n[^\n]*)*))",
      std::regex::ECMAScript | std::regex::multiline);
  static const std::regex marks(R"(SLUICE_[A-Z_]+\((\w+\([^()]*\)|"[^"]*"|[^()])*\))");
  return std::regex_replace(std::regex_replace(source, marks, " "), noise, " ");
}

// Behind the brace that closes the one at `open`.
inline std::size_t behind_block(const std::string& code, std::size_t open) {
  int depth = 0;
  for (auto at = open; at < code.size(); ++at) {
    if (code[at] == '{') ++depth;
    if (code[at] == '}' && --depth == 0) return at + 1;
  }
  return code.size();
}

// The declarations in the body of a class, each with its blocks emptied.
inline std::vector<std::string> declarations_of(const std::string& body) {
  std::vector<std::string> all;
  std::string one;
  for (std::size_t at = 0; at < body.size(); ++at) {
    if (body[at] == ';') {
      all.push_back(std::exchange(one, {}));
    } else if (body[at] == '{') {
      at = behind_block(body, at) - 1;
      one += "{}";
      const auto next = body.find_first_not_of(" \n", at + 1);
      const bool ends = next == std::string::npos || (body[next] != ';' && body[next] != ',' && body[next] != '{');
      if (ends && one.find('(') != std::string::npos) all.push_back(std::exchange(one, {}));
    } else {
      one += body[at];
    }
  }
  return all;
}

inline std::string without_template_args(std::string text) {
  static const std::regex innermost(R"(<[^<>()]*(\([^()<>]*\))?[^<>()]*>)");
  for (std::string shorter; (shorter = std::regex_replace(text, innermost, "")) != text;)
    text = shorter;
  return text;
}

inline void count_declaration(class_size& of, std::string declared) {
  static const std::regex access(R"((public|private|protected)\s*:)"),
      skipped(R"((^\s*(using|friend|static_assert|enum)\b)|\boperator\b)"),
      nested(R"(^\s*(struct|class)\s+\w+[^{}]*(\{\})?\s*$)"), constant(R"(^\s*static\b[^(]*$)"),
      assigned(R"(=[^=][^]*$)");
  declared = without_template_args(std::regex_replace(declared, access, ""));
  if (declared.find_first_not_of(" \n{}") == std::string::npos) return;
  if (std::regex_search(declared, skipped) || std::regex_search(declared, nested)) return;
  const auto value = std::regex_replace(declared, assigned, "");
  if (std::regex_search(value, constant)) return;
  const auto paren = value.find('(');
  if (paren == std::string::npos) {
    of.fields += 1 + static_cast<int>(std::count(declared.begin(), declared.end(), ','));
    return;
  }
  const auto end = value.find_last_not_of(' ', paren - 1);
  const auto begin = value.find_last_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789", end) + 1;
  if (value.substr(begin, end + 1 - begin) != of.name) ++of.methods;
}

inline std::vector<class_size> class_sizes(const std::string& source) {
  static const std::regex head(R"((^|[^\w])(class|struct)\s+(\w+)(\s+final)?(\s*:[^{};()]*)?\s*\{)");
  const auto code = bare_code(source);
  std::vector<class_size> all;
  for (std::sregex_iterator at(code.begin(), code.end(), head), end; at != end; ++at) {
    const auto before = code.substr(0, static_cast<std::size_t>(at->position(2)));
    if (before.ends_with("enum ")) continue;
    const auto open = static_cast<std::size_t>(at->position() + at->length()) - 1;
    class_size of{(*at)[3].str()};
    for (auto& declared : declarations_of(code.substr(open + 1, behind_block(code, open) - open - 2)))
      count_declaration(of, std::move(declared));
    all.push_back(std::move(of));
  }
  return all;
}

}  // namespace sluice::tidy
