#include "core/json_object.hpp"

#include <utility>

#include "core/pipeline.hpp"

namespace sluice {
namespace {

// JSON text in one line. No tree is made of it: that of an object with very many keys in their order would take very
// long, and would round numbers.
std::string without_blanks(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::string out;
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (!in_text && (c == ' ' || c == '\t' || c == '\r' || c == '\n')) continue;
    out += c;
    if (in_text && c == '\\') out += text[++i];
    else if (c == '"') in_text = !in_text;
  }
  return out;
}

}  // namespace

void json_object::begin(std::string_view name) {
  if (!std::exchange(is_first_, false)) into_ += ',';
  append_json(into_, name);
  into_ += ':';
}

void json_object::add(std::string_view name, const given_json& given) {
  begin(name);
  if (who_.is_store) return append_json(into_, given.text);
  into_ += check_json(given.text, max_json_depth) ? plain_json(without_blanks(given.text)) : "null";
  begin(cat(name, "_text"));
  append_json(into_, given.text);
}

}  // namespace sluice
