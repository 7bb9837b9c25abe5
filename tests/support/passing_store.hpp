// A store that passes everything on to another. For stores that look at some of it, or change some.
#pragma once

#include <memory>

#include "storage/store.hpp"

namespace sluice::test {

class passing_store : public storage::store {
public:
  explicit passing_store(std::unique_ptr<storage::store> in) : in_(std::move(in)) {}

  std::vector<storage::answer> apply(std::span<const storage::request> batch) override { return in_->apply(batch); }
  const storage::hint& made_work() const override { return in_->made_work(); }
  void tidy() override { in_->tidy(); }
  std::unique_ptr<storage::watch> watch_others(std::function<void(const storage::hint&)> callback) override {
    return in_->watch_others(std::move(callback));
  }
  sluice::durability durability() const override { return in_->durability(); }
  std::string settings() const override { return in_->settings(); }
  result<void> ready() override { return in_->ready(); }
  result<std::vector<std::string>> audit() override { return in_->audit(); }
  result<void> repair(const storage::telling& tell) override { return in_->repair(tell); }
  bool has_failed_for_good() const override { return in_->has_failed_for_good(); }
  void stop_waiting() override { in_->stop_waiting(); }
  std::unique_ptr<storage::store> open_second_connection() override { return in_->open_second_connection(); }

private:
  std::unique_ptr<storage::store> in_;
};

}  // namespace sluice::test
