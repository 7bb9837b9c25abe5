// What the provider serves: catalogues of games in pages, and small documents.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace sample {

inline constexpr std::uint32_t pages_of_a_catalogue = 40;

struct game {
  std::uint64_t id = 0;
  std::string title;
  std::string studio;
  double return_to_player = 0;
  bool mobile = false;
  std::vector<std::string> tags;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(game, id, title, studio, return_to_player, mobile, tags)

struct catalogue_page {
  std::string catalogue;
  std::uint32_t page = 0;  // from 1
  std::uint32_t pages = 0;
  std::vector<game> games;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(catalogue_page, catalogue, page, pages, games)

struct setting {
  std::string key;
  std::string value;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(setting, key, value)

struct document {
  std::string name;
  std::vector<setting> settings;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(document, name, settings)

// The same name always has the same content: two to four thousand games a catalogue.
catalogue_page make_page(const std::string& catalogue, std::uint32_t page);
document make_document(const std::string& name);

}  // namespace sample
