// The pages for people: one shell, and what it loads.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "core/text.hpp"
#include "dashboard/assets.hpp"
#include "dashboard/routes.hpp"

namespace sluice::web {
namespace {

constexpr std::string_view shell = "index.html";

// Whether an Accept-Encoding has gzip, and does not say that it is worth nothing.
bool takes_gzip(std::string_view accepted) {
  while (!accepted.empty()) {
    const auto end = std::min(accepted.find(','), accepted.size());
    auto one = accepted.substr(0, end);
    accepted.remove_prefix(std::min(end + 1, accepted.size()));
    one.remove_prefix(std::min(one.find_first_not_of(" \t"), one.size()));
    if (one.substr(0, one.find_first_of("; \t")) != "gzip") continue;
    const auto worth = one.find("q=");
    return worth == std::string_view::npos || one.find_first_of("123456789", worth) != std::string_view::npos;
  }
  return false;
}

http_response file_answer(const visit& v, served_asset&& file, std::string_view cached) {
  http_response said;
  said.type = file.type;
  const bool packed = !file.packed.empty() && takes_gzip(v.request.header("accept-encoding"));
  said.body = std::move(packed ? file.packed : file.plain);
  said.headers = {{"Cache-Control", std::string(cached)}, {"Vary", "Accept-Encoding"}};
  if (packed) said.headers.emplace_back("Content-Encoding", "gzip");
  return said;
}

const asset* find_built(std::string_view name) {
  const auto all = built_in().all;
  const auto found = std::find_if(all.begin(), all.end(), [&](const asset& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

#ifdef SLUICE_ASSETS_FOLDER
std::string raw_text(const asset& one) {
  std::ifstream file(cat(SLUICE_ASSETS_FOLDER, "/", one.name), std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file || text.empty()) throw std::runtime_error(cat("cannot read ", one.name, " in " SLUICE_ASSETS_FOLDER));
  return text;
}
#endif

}  // namespace

#ifdef SLUICE_ASSETS_FOLDER
std::string hash_of_assets() {
  std::string all;
  for (const auto& one : built_in().all)
    all += cat(one.name, "\n", raw_text(one));
  return digest(all);
}

std::optional<served_asset> find_asset(std::string_view name) {
  const auto* const found = find_built(name);
  if (!found) return std::nullopt;
  constexpr std::string_view mark = "@HASH@";
  auto text = raw_text(*found);
  if (name == shell)
    for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark))
      text.replace(at, mark.size(), hash_of_assets());
  return served_asset{found->type, std::move(text), {}};
}
#else
std::string hash_of_assets() { return std::string(built_in().hash); }

std::optional<served_asset> find_asset(std::string_view name) {
  const auto* const found = find_built(name);
  if (!found) return std::nullopt;
  return served_asset{found->type, std::string(found->plain), std::string(found->packed)};
}
#endif

http_response show_page(visit& v) {
  auto file = find_asset(shell);
  if (!file) throw std::runtime_error("there are no pages");
  return file_answer(v, std::move(*file), "no-store");
}

http_response show_asset(visit& v) {
  auto file = v.names[0] == hash_of_assets() ? find_asset(v.names[1]) : std::nullopt;
  if (!file) return problem(errc::not_found, cat("there is no ", printable(v.request.target, 200)));
  return file_answer(v, std::move(*file), "max-age=31536000, immutable");
}

}  // namespace sluice::web
