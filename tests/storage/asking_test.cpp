// How a store is asked for several things at once.
#include "client/asking.hpp"

#include "storage/contract.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

// The first time it carries out what comes first, and cannot be reached for the rest.
class store_that_goes_away final : public storage::store {
public:
  explicit store_that_goes_away(std::vector<std::size_t>& asked) : asked_(asked) {}

  std::vector<storage::answer> apply(std::span<const storage::request> batch) override {
    asked_.push_back(batch.size());
    if (asked_.size() > 1) return inner_->apply(batch);
    auto answers = inner_->apply(batch.subspan(0, 1));
    while (answers.size() < batch.size())
      answers.emplace_back(error{errc::storage_unavailable, "away"});
    return answers;
  }
  const storage::hint& made_work() const override { return inner_->made_work(); }
  void tidy() override {}
  std::unique_ptr<storage::watch> watch_others(std::function<void(const storage::hint&)>) override { return nullptr; }
  sluice::durability durability() const override { return durability::volatile_; }
  std::string settings() const override { return {}; }
  void stop_waiting() override {}
  result<void> ready() override { return {}; }
  result<std::vector<std::string>> audit() override { return inner_->audit(); }
  result<void> repair(const storage::telling& tell) override { return inner_->repair(tell); }

private:
  std::vector<std::size_t>& asked_;
  std::unique_ptr<storage::store> inner_ = std::move(*storage::open_store("sqlite::memory:"));
};

}  // namespace

TEST_CASE("Of several requests only those that were not carried out are asked again", "[runner]") {
  std::vector<std::size_t> asked;
  storage::shared_store shared_store(std::make_unique<store_that_goes_away>(asked));
  const auto answers = ask(shared_store, {enqueue_of("a"), enqueue_of("b"), get_of("b")}, 20s);
  REQUIRE(answers.size() == 3);
  CHECK(std::get<storage::enqueue_answer>(answers[0]).each.at(0) == errc::none);
  CHECK(std::get<storage::enqueue_answer>(answers[1]).each.at(0) == errc::none);
  CHECK(std::get<storage::get_answer>(answers[2]).found.has_value());
  CHECK(asked == std::vector<std::size_t>{3, 2});
}
