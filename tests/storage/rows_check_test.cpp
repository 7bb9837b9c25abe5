// What the audit says of a file whose rows do not agree with each other.
#include "storage/contract.hpp"
#include "storage/raw_store.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

std::string row_of(const std::string& key, const std::string& member) {
  return "key=(SELECT id FROM keys WHERE name=CAST('{sluice}:" + key + "' AS BLOB)) AND member=CAST('" + member +
         "' AS BLOB)";
}

struct harm {
  std::string sql;
  names findings;
};

}  // namespace

TEST_CASE("The audit of a file names each row that does not agree with the others, and nothing else") {
  const auto [sql, findings] = GENERATE(
      harm{"UPDATE keys SET text=text", {}},
      harm{"DELETE FROM scores WHERE " + row_of("ready:default", "waits"),
           {"waits is missing from {sluice}:ready:default", "{sluice}:ready:default has 599, and is said to have 600"}},
      harm{"DELETE FROM scores WHERE " + row_of("processing:default", "runs"),
           {"runs is missing from {sluice}:processing:default",
            "{sluice}:processing:default has 0, and is said to have 1"}},
      harm{"UPDATE scores SET score=score+1 WHERE " + row_of("scheduled:default", "later"),
           {"queue default has due jobs that nobody looks at", "later is missing from {sluice}:scheduled:default",
            "later stands in {sluice}:scheduled:default and does not know of it"}},
      harm{"INSERT INTO scores SELECT id, 5, CAST('nobody' AS BLOB) FROM keys WHERE name=CAST('{sluice}:due' AS BLOB)",
           {"queue nobody is in due but is not known", "nobody stands in {sluice}:due and does not know of it",
            "{sluice}:due has 2, and is said to have 1"}},
      harm{"UPDATE members SET places=x'00' WHERE name=CAST('waits' AS BLOB)", {"the places of waits are damaged"}},
      harm{"UPDATE keys SET size=7 WHERE name=CAST('{sluice}:queues' AS BLOB)",
           {"{sluice}:queues has 1, and is said to have 7"}});
  harmed_file_world w;
  put_all(w, {"runs"});
  claim_one(w);
  storage::enqueue_request many;
  for (int i = 1; i < 600; ++i)
    many.jobs.push_back(prepared({.id = cat("j", i)}));
  ask(w, many);
  put_all(w, {"waits"});
  REQUIRE(put(w, {.id = "later", .delay = 1h}) == errc::none);
  w.raw.run(sql);
  w.reopen();
  const auto found = w.store().audit();
  REQUIRE(found.ok());
  CHECK(*found == findings);
}
