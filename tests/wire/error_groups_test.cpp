#include "wire/error_groups.hpp"

#include "support/catch.hpp"

using namespace sluice;
using wire::kind_of_error;

TEST_CASE("an error's kind has no numbers but the codes that tell errors apart") {
  const std::vector<std::pair<std::string, std::string>> table{
      {"timeout after 5012 ms", "timeout after # ms"},
      {"order 17 of 2026-11-28", "order # of #-#-#"},
      {"HTTP 404 from cdn", "HTTP 404 from cdn"},
      {"HTTP 503 from cdn 12", "HTTP 503 from cdn #"},
      {"http 404", "http 404"},
      {"HTTP/1.1 404 Not Found", "HTTP/1.1 404 Not Found"},
      {"HTTP/2 503", "HTTP/2 503"},
      {"status: 429, after 3 tries", "status: 429, after # tries"},
      {"status code 500 500", "status code 500 #"},
      {"{\"status\":502,\"id\":17}", "{\"status\":502,\"id\":#}"},
      {"status_code=200", "status_code=200"},
      {"exit 3", "exit 3"},
      {"exit code -1", "exit code -1"},
      {"errno=2 in file 7", "errno=2 in file #"},
      {"killed by signal 9 (SIGKILL)", "killed by signal 9 (SIGKILL)"},
      {"error code 10054", "error code #"},
      {"code 12ab", "code #ab"},
      {"decode 12", "decode #"},
      {"status of 12", "status of #"},
      {"from http://127.0.0.1:80/7", "from http://#.#.#.#:#/#"},
      {"502 from provider", "# from provider"},
      {" \n first line 1\nHTTP 404", "first line #"},
      {"HTTP", "HTTP"},
      {"HTTP/", "HTTP/"},
      {"", ""},
  };
  for (const auto& [said, kind] : table) {
    CAPTURE(said);
    CHECK(kind_of_error(said) == kind);
  }
  CHECK(kind_of_error(std::string(5000, 'x')) == std::string(200, 'x'));
  CHECK(kind_of_error(std::string(199, ' ') + std::string(199, 'x') + "ü").size() == 199);
}

TEST_CASE("jobs that failed with two codes are two groups, and with two times one") {
  wire::error_groups all;
  for (const auto* said :
       {"HTTP 404 from cdn", "HTTP 404 from cdn", "HTTP 503 from cdn", "after 12 ms", "after 9 ms"}) {
    job failed;
    failed.type = job_type("http");
    failed.reason = said;
    all.add(failed);
  }
  const auto groups = all.most_first();
  REQUIRE(groups.size() == 3);
  CHECK(groups[0].count == 2);
  CHECK(groups[1].count + groups[2].count == 3);
}
