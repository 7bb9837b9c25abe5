// docs/doors.md names all that each door can do, and nothing that it cannot.
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "core/text.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/process.hpp"
#include "support/temp_dir.hpp"

namespace sluice::test {
namespace {

using doors = std::set<std::string>;

std::string source_text(const std::string& path) {
  std::ifstream in(source_path(path));
  INFO(path);
  REQUIRE(in.is_open());
  return {std::istreambuf_iterator<char>(in), {}};
}

doors all_matches(const std::string& text, const std::string& pattern) {
  doors found;
  const std::regex wanted(pattern);
  for (std::sregex_iterator at(text.begin(), text.end(), wanted), end; at != end; ++at)
    found.insert((*at)[1]);
  return found;
}

// The table, by columns: what is marked as code in each, and on pages what is a button.
struct doors_of_acts {
  doors columns[6], buttons, letters, reasons;
};
doors_of_acts doors_of_page() {
  doors_of_acts all;
  std::istringstream page(source_text("docs/doors.md"));
  for (std::string line; std::getline(page, line);) {
    if (std::smatch reason; std::regex_search(line, reason, std::regex("^- ([a-z]): "))) all.reasons.insert(reason[1]);
    if (!line.starts_with("| ") || line.starts_with("| act |")) continue;
    std::istringstream cells(line.substr(1));
    int column = 0;
    for (std::string cell; std::getline(cells, cell, '|'); ++column) {
      CAPTURE(line);
      REQUIRE(column < 6);
      all.columns[column].merge(all_matches(cell, "`([^`]+)`"));
      if (column == 5) all.buttons.merge(all_matches(cell, "\\*([^*]+)\\*"));
      all.letters.merge(all_matches(cell, "– ([a-z])"));
    }
    CHECK(column == 6);
  }
  return all;
}

doors subcommands(const std::vector<std::string>& of = {}) {
  auto words = of;
  words.insert(words.begin(), program_path("sluice"));
  words.emplace_back("--help");
  const temp_dir here;
  const auto help = run(words, here.path().string()).out;
  const auto begin = help.find("Subcommands:");
  REQUIRE(begin != std::string::npos);
  doors found;
  for (const auto& name : all_matches(help.substr(begin), "\n  ([a-z-]+)[, ]"))
    found.insert(of.empty() ? name : of[0] + " " + name);
  return found;
}

}  // namespace

TEST_CASE("the page of doors names every act of each door, and no other") {
  const auto told = doors_of_page();
  CHECK(told.letters == told.reasons);

  const auto client = source_text("include/sluice/client.hpp");
  auto functions = all_matches(client, "\n  (?:result|std::vector|std::future)<[^;{]*?>+ ([a-z_]+)\\(");
  functions.erase("open");
  CHECK(functions == told.columns[1]);

  const auto actors = source_text("include/sluice/actors.hpp");
  const auto server = actors.substr(actors.find("using server_actor ="));
  CHECK(all_matches(server, "(?:replies_to|reacts_to)<([a-z_]+_atom)") == told.columns[2]);

  auto commands = subcommands();
  for (const auto* with_more : {"recurring", "throttler", "group", "quarantine"}) {
    commands.erase(with_more);
    commands.merge(subcommands({with_more}));
  }
  CHECK(commands == told.columns[3]);

  doors routes;
  const auto openapi = nlohmann::json::parse(source_text("dashboard/openapi.json"));
  for (const auto& [path, methods] : openapi.at("paths").items())
    for (const auto& [method, what] : methods.items()) {
      std::string upper = method;
      for (auto& c : upper)
        c = static_cast<char>(std::toupper(c));
      // What tells of the API itself, of health and in numbers is no act.
      if (path.starts_with("/api/v1/") && path != "/api/v1/openapi.json") routes.insert(upper + " " + path.substr(7));
    }
  CHECK(routes == told.columns[4]);

  const auto pages = source_text("dashboard/routes.cpp");
  const auto begin = pages.find("pages[] = {");
  CHECK(all_matches(pages.substr(begin, pages.find("};", begin) - begin), "\"(/[^\"]*)\"") == told.columns[5]);
  doors buttons;
  for (const auto& file : std::filesystem::directory_iterator(source_path("dashboard/assets")))
    if (file.path().extension() == ".js") {
      const auto text = source_text("dashboard/assets/" + file.path().filename().string());
      buttons.merge(all_matches(text, "button\\(at, '[a-z]+', '([^']+)'"));
      buttons.merge(all_matches(text, "button\\(at, '[a-z]+', [^,']+ \\? '([^']+)'"));
      buttons.merge(all_matches(text, "button\\(at, '[a-z]+', [^,]+ === 'scheduled' \\? '[^']+' : '([^']+)'"));
      buttons.merge(all_matches(text, "button\\(at, '[a-z]+', [^,]+ === 'scheduled' \\? '([^']+)'"));
    }
  CHECK(buttons == told.buttons);
}

}  // namespace sluice::test
