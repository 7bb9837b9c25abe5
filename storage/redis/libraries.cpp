#include "storage/redis/libraries.hpp"

#include <algorithm>

#include "core/text.hpp"

namespace sluice::storage::redis {
namespace {

// What stands between the name of the library and that of the call, of a library that FUNCTION LIST names; nothing when
// it names none.
std::string read_loaded_as(const machine::item& said, const machine::library& known) {
  const auto its = said[0];
  for (std::size_t i = 0; i + 1 < its.size(); i += 2) {
    if (its[i].text() != "functions") continue;
    const auto function = its[i + 1][0];
    for (std::size_t k = 0; k + 1 < function.size(); k += 2)
      if (function[k].text() == "name" && function[k + 1].text().starts_with(known.name())) {
        const auto behind = function[k + 1].text().substr(known.name().size() + 1);
        return std::string(behind.substr(0, behind.find('_')));
      }
  }
  return {};
}

// Whether it is a name as machine::library::name() makes it: others may have a library whose name begins so, too.
bool is_ours(std::string_view name) {
  constexpr std::string_view begins = "sluice_";
  return name.starts_with(begins) && name.size() == begins.size() + 16 &&
         name.find_first_not_of("0123456789abcdef", begins.size()) == std::string_view::npos;
}

// Of one that FUNCTION LIST tells.
std::string name_of(const machine::item& its) {
  for (std::size_t i = 0; i + 1 < its.size(); i += 2)
    if (its[i].text() == "library_name") return std::string(its[i + 1].text());
  return {};
}

}  // namespace

result<std::string> find_library(connection& c, const machine::library& known, steady_point deadline) {
  const command look{"FUNCTION", "LIST", "LIBRARYNAME", known.name()};
  auto said = ask(c, look, deadline);
  if (said)
    if (auto as = read_loaded_as(said->root(), known); !as.empty()) return as;
  const auto ours = random_token();
  const auto loaded = ask(c, {"FUNCTION", "LOAD", known.for_redis(ours)}, deadline);
  if (loaded) return ours;
  // Somebody else may have loaded it meanwhile.
  if (said) said = ask(c, look, deadline);
  if (said)
    if (auto as = read_loaded_as(said->root(), known); !as.empty()) return as;
  const auto& why = said ? loaded.error().message : said.error().message;
  return error{
      why.starts_with("BUSY") ? errc::storage_busy : errc::storage_unavailable,
      cat("the library of Sluice's rules is not there, and cannot be loaded: ", printable(why, 300),
          why.starts_with("NOPERM") ? "; the user needs the rights function|list and function|load, or function|list "
                                      "alone where somebody else has loaded it"
                                    : "")};
}

result<std::vector<std::string>> other_libraries(connection& c, const machine::library& known, steady_point deadline) {
  const auto said = ask(c, {"FUNCTION", "LIST", "LIBRARYNAME", "sluice_*"}, deadline);
  if (!said) return said.error();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < said->root().size(); ++i)
    if (auto name = name_of(said->root()[i]); is_ours(name) && name != known.name()) names.push_back(std::move(name));
  std::sort(names.begin(), names.end());
  return names;
}

result<void> remove_library(connection& c, const std::string& name, steady_point deadline) {
  const auto said = ask(c, {"FUNCTION", "DELETE", name}, deadline);
  const bool is_gone = !said && said.error().message.find("not found") != std::string::npos;
  return said || is_gone ? result<void>() : result<void>(said.error());
}

}  // namespace sluice::storage::redis
