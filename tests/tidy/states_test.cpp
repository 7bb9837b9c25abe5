#include <fstream>
#include <set>
#include <tuple>

#include "core/job_state.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"

using namespace sluice;

namespace {

using row = std::tuple<std::string, std::string, std::string>;  // from, to, verb

// The cells of a line of a Markdown table, without blanks and marks.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  if (!line.starts_with('|')) return cells;
  for (std::size_t from = 1, bar = 0; (bar = line.find('|', from)) != std::string::npos; from = bar + 1) {
    auto cell = line.substr(from, bar - from);
    std::erase_if(cell, [](char c) { return c == ' ' || c == '`' || c == '*'; });
    cells.push_back(std::move(cell));
  }
  return cells;
}

// The rows that begin with two states; headers and separators do not.
std::multiset<row> documented() {
  std::ifstream in(test::source_path("docs/job_lifecycle.md"));
  REQUIRE(in.is_open());
  std::multiset<row> rows;
  for (std::string line; std::getline(in, line);) {
    const auto cells = cells_of(line);
    if (cells.size() >= 3 && parse_job_state(cells[0]) && parse_job_state(cells[1]))
      rows.emplace(cells[0], cells[1], cells[2]);
  }
  return rows;
}

std::multiset<row> coded() {
  std::multiset<row> rows;
  for (const auto& t : transitions())
    rows.emplace(name_of(t.from), name_of(t.to), t.verb);
  return rows;
}

std::string shown(const std::multiset<row>& these, const std::multiset<row>& without) {
  std::string text;
  for (const auto& [from, to, verb] : these)
    if (!without.count({from, to, verb})) text += from + " -> " + to + " by " + verb + "\n";
  return text;
}

}  // namespace

TEST_CASE("the documented transitions are those of the code") {
  const auto document = documented();
  const auto code = coded();
  INFO("only in the document:\n" << shown(document, code) << "only in the code:\n" << shown(code, document));
  CHECK(document == code);
}

TEST_CASE("a row of the table is read and its header is not") {
  CHECK(cells_of("| `enqueued` | **processing** | claim |") ==
        std::vector<std::string>{"enqueued", "processing", "claim"});
  CHECK(cells_of("no table | at | all").empty());
  const auto separator = cells_of("|---|:---:|---|");
  REQUIRE(separator.size() == 3);
  CHECK_FALSE(parse_job_state(separator[0]));
  CHECK_FALSE(parse_job_state(cells_of("| from | to | verb |")[0]));
}
