#include "core/secret_file.hpp"

#include <cerrno>

#include "support/catch.hpp"
#include "support/process.hpp"
#include "support/temp_dir.hpp"

using namespace sluice;

TEST_CASE("a secret is the first line of its file, by whatever editor that was written") {
  const test::temp_dir folder;
  const auto file = folder.file("secret");
  for (const std::string text :
       {"hush", "hush\n", "hush\r\n", "hush\nmore\n", "hush\r\nmore\r\n", "\xEF\xBB\xBFhush", "\xEF\xBB\xBFhush\r\n"}) {
    CAPTURE(text);
    test::write_file(file, text);
    CHECK(first_line_of(file) == "hush");
  }
}

TEST_CASE("what else stands in the line of a secret is a part of it") {
  const test::temp_dir folder;
  const auto file = folder.file("secret");
  test::write_file(file, " hu\rsh \r\r\n");
  CHECK(first_line_of(file) == " hu\rsh \r");
  test::write_file(file, "");
  CHECK(first_line_of(file) == "");
  test::write_file(file, "\xEF\xBB\xBF\r\nhush");
  CHECK(first_line_of(file) == "");
}

TEST_CASE("a file of a secret that cannot be read is told from an empty one") {
  const test::temp_dir folder;
  CHECK_FALSE(first_line_of(folder.file("nothing")));
  CHECK(errno == ENOENT);
  CHECK_FALSE(first_line_of(folder.path().string()));
}
