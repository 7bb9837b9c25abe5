// samples/sign_up, killed and started again.
#include "samples/killed_sample.hpp"
#include "support/places.hpp"

namespace sluice::test {

TEST_CASE("sign_up: its promises hold whenever its program is killed") {
  const auto store = GENERATE("SQLite", "Redis");
  CAPTURE(store);
  killed_sample s(program_path("sign_up"), store);
  s.kill_when("there is an account", [&] { return s.book.entries("account") > 0; });
  s.kill_when("the welcome is stored", [&] { return s.w.client->get("welcome-ada").ok(); });
  s.kill_when("letters are sent", [&] { return s.book.entries("letter") > 0; });
  CHECK(s.kills >= 2);

  const auto last = s.to_its_end();
  INFO(last.out << last.err);
  CHECK(last.exit_code == 0);
  CHECK(s.book.entries("account") == 1);
  CHECK(s.book.entries("welcome") == 0);
  CHECK(s.book.entries("receipt") == 1);
  CHECK(s.w.get("letters-march").state == job_state::deleted);
}

}  // namespace sluice::test
