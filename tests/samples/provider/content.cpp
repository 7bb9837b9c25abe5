#include "samples/provider/content.hpp"

#include <array>
#include <string_view>

namespace sample {
namespace {

constexpr std::array<std::string_view, 8> first_words{"Golden", "Wild",  "Lucky", "Royal",
                                                      "Mystic", "Night", "Turbo", "Ancient"};
constexpr std::array<std::string_view, 8> second_words{"Dragon", "Tiger", "Harvest", "Temple",
                                                       "Derby",  "Crown", "Comet",   "Gambit"};
constexpr std::array<std::string_view, 6> studios{"Northlight", "Red Panda",  "Quartz",
                                                  "Old Mill",   "Seven Seas", "Fable"};
constexpr std::array<std::string_view, 6> tags{"new", "popular", "jackpot", "classic", "tournament", "exclusive"};

// FNV-1a: std::hash may differ between libraries, the catalogues must not.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t h = 14695981039346656037ULL;
  for (const unsigned char c : text)
    h = (h ^ c) * 1099511628211ULL;
  return h;
}

template <std::size_t N>
std::string pick(const std::array<std::string_view, N>& words, std::uint64_t from) {
  return std::string(words[from % N]);
}

game make_game(const std::string& catalogue, std::uint64_t number) {
  const auto h = hash_of(catalogue + std::to_string(number));
  game made;
  made.id = number;
  made.title = pick(first_words, h) + " " + pick(second_words, h >> 8) + " " + std::to_string(number);
  made.studio = pick(studios, h >> 16);
  made.return_to_player = 0.9 + static_cast<double>((h >> 24) % 90) / 1000;
  made.mobile = (h >> 32) % 4 != 0;
  made.tags = {pick(tags, h >> 40), pick(tags, h >> 48)};
  return made;
}

}  // namespace

catalogue_page make_page(const std::string& catalogue, std::uint32_t page) {
  const auto games = 50 + hash_of(catalogue) % 51;  // on each page
  catalogue_page made{catalogue, page, pages_of_a_catalogue, {}};
  for (std::uint64_t i = 0; i < games; ++i)
    made.games.push_back(make_game(catalogue, (page - 1) * games + i + 1));
  return made;
}

document make_document(const std::string& name) {
  document made{name, {}};
  const auto h = hash_of(name);
  for (std::uint64_t i = 0; i < 8 + h % 17; ++i)
    made.settings.push_back({name + "." + std::to_string(i + 1), std::to_string((h >> i) % 1000)});
  return made;
}

}  // namespace sample
