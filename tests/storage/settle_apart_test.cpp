// Ends that were refused together are told apart.
#include "storage/settle_in_parts.hpp"

#include <set>

#include "storage/contract.hpp"
#include "storage/shared_store.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

// Takes no settlement with one of these, and no claim when it has no room for it. All others it takes, and notes.
class picky_store : public storage::store {
public:
  std::set<std::string> bad;
  bool has_room = true;
  int goes_away_at = 0;  // the request
  int asked = 0;
  names ended;

  std::vector<storage::answer> apply(std::span<const storage::request> batch) override {
    std::vector<storage::answer> told;
    for (const auto& r : batch)
      told.push_back(one(r));
    return told;
  }
  const storage::hint& made_work() const override { return nobody_; }
  void tidy() override {}
  std::unique_ptr<storage::watch> watch_others(std::function<void(const storage::hint&)>) override { return nullptr; }
  sluice::durability durability() const override { return durability::volatile_; }
  std::string settings() const override { return {}; }
  result<void> ready() override { return {}; }
  result<names> audit() override { return names(); }
  result<void> repair(const storage::telling&) override { return {}; }
  void stop_waiting() override {}

private:
  const storage::hint nobody_{};

  storage::answer one(const storage::request& r) {
    if (++asked == goes_away_at) return error{errc::storage_unavailable, "away"};
    const error full{errc::storage_full, "no room"};
    storage::claim_answer claimed;
    claimed.jobs.emplace_back().job.id = job_id("next");
    if (std::holds_alternative<storage::claim_request>(r)) return has_room ? storage::answer(claimed) : full;
    const auto& settle = std::get<storage::settle_request>(r);
    for (const auto& end : settle.runs)
      if (bad.contains(end.run.id.value)) return full;
    if (settle.next && !has_room) return full;
    for (const auto& end : settle.runs)
      ended.push_back(end.run.id.value);
    storage::settle_answer done{std::vector<errc>(settle.runs.size()), {}};
    if (settle.next) done.next = claimed;
    return done;
  }
};

storage::settle_request ends_of(int n) {
  storage::settle_request r;
  for (int i = 0; i < n; ++i)
    r.runs.emplace_back().run.id.value = std::to_string(i);
  return r;
}

storage::answer apart(picky_store& s, const storage::settle_request& r) {
  const auto refused = s.apply(std::vector<storage::request>{r});
  return storage::settle_in_parts(s, r, std::get<error>(refused.at(0))).told;
}
std::vector<errc> each_of(const storage::answer& told) { return std::get<storage::settle_answer>(told).each; }

}  // namespace

TEST_CASE("Of ends that were refused together the bad one is found and the others are done", "[runner]") {
  picky_store s;
  const auto bad = GENERATE(0, 1, 57, 98, 99);
  s.bad = {std::to_string(bad)};
  std::vector<errc> expected(100);
  expected[static_cast<std::size_t>(bad)] = errc::storage_full;
  CHECK(each_of(apart(s, ends_of(100))) == expected);
  CHECK(s.ended.size() == 99);
  CHECK(s.asked < 20);
}

TEST_CASE("A single end that is refused is told of without another try", "[runner]") {
  picky_store s;
  s.bad = {"0"};
  CHECK(each_of(apart(s, ends_of(1))) == std::vector{errc::storage_full});
  CHECK(s.asked == 1);
}

TEST_CASE("A store that takes no end is not asked for each, and each has its turn", "[runner]") {
  picky_store s;
  for (int i = 0; i < 100; ++i)
    if (i % 2 == 0) s.bad.insert(std::to_string(i));
  auto left = ends_of(100);
  int tries = 0;
  for (; s.ended.size() < 50; ++tries) {
    REQUIRE(tries < 20);
    const auto asked_before = s.asked;
    const auto each = each_of(apart(s, left));
    CHECK(s.asked - asked_before <= 2 * storage::max_refused_tries + 3);
    storage::settle_request again;  // as a supervisor does
    for (const auto wanted : {errc::storage_busy, errc::storage_full})
      for (std::size_t i = 0; i < each.size(); ++i)
        if (each[i] == wanted) again.runs.push_back(left.runs[i]);
    left = std::move(again);
  }
  CHECK(tries > 1);
}

TEST_CASE("Ends and a claim that were refused together are told apart too", "[runner]") {
  picky_store s;
  auto r = ends_of(4);
  r.next = claiming({});
  SECTION("for an end") {
    s.bad = {"2"};
    const auto told = std::get<storage::settle_answer>(apart(s, r));
    CHECK(told.each == std::vector{errc::none, errc::none, errc::storage_full, errc::none});
    CHECK(ids(told.next) == names{"next"});
  }
  SECTION("for the claim") {
    s.has_room = false;
    const auto told = std::get<storage::settle_answer>(apart(s, r));
    CHECK(told.each == std::vector<errc>(4));
    CHECK(told.next.jobs.empty());
    CHECK(told.next.cut);  // it is asked again
  }
}

TEST_CASE("Where a store goes away meanwhile nobody can say, and all is asked again", "[runner]") {
  picky_store s;
  s.bad = {"2"};
  s.goes_away_at = GENERATE(2, 3, 4, 5);
  const auto told = apart(s, ends_of(4));
  REQUIRE(code_of(told) == errc::storage_unavailable);
  CHECK(each_of(apart(s, ends_of(4))) == std::vector{errc::none, errc::none, errc::storage_full, errc::none});
}

TEST_CASE("A shared store tells apart what was refused together", "[runner]") {
  auto made = std::make_unique<picky_store>();
  made->bad = {"1"};
  storage::shared_store r(std::move(made));
  const auto told = r.call({ends_of(3), ends_of(1)}, std::chrono::steady_clock::now() + 20s);
  CHECK(each_of(told.at(0)) == std::vector{errc::none, errc::storage_full, errc::none});
  CHECK(each_of(told.at(1)) == std::vector{errc::none});
}
