// Stores that are held up: for what goes on while a store is at something.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "storage/store.hpp"
#include "support/catch.hpp"

namespace sluice::test {

// Holds every `apply` until it is opened, and notes what came in one batch.
struct gate {
  std::mutex mutex;
  std::condition_variable moved;
  bool open = true;
  int entered = 0;
  std::vector<std::size_t> batches;

  void set(bool now_open) {
    const std::lock_guard hold(mutex);
    open = now_open;
    moved.notify_all();
  }
  void pass(std::size_t requests) {
    std::unique_lock hold(mutex);
    ++entered;
    batches.push_back(requests);
    moved.notify_all();
    moved.wait(hold, [&] { return open; });
  }
  void wait_entered(int times) {
    std::unique_lock hold(mutex);
    REQUIRE(moved.wait_for(hold, std::chrono::seconds(20), [&] { return entered >= times; }));
  }
};

class gated_store final : public storage::store {
public:
  explicit gated_store(gate& g) : gate_(g), inner_(std::move(*storage::open_store("sqlite::memory:"))) {}

  std::vector<storage::answer> apply(std::span<const storage::request> batch) override {
    gate_.pass(batch.size());
    return inner_->apply(batch);
  }
  const storage::hint& made_work() const override { return inner_->made_work(); }
  void tidy() override { inner_->tidy(); }
  std::unique_ptr<storage::watch> watch_others(std::function<void(const storage::hint&)> callback) override {
    return inner_->watch_others(std::move(callback));
  }
  sluice::durability durability() const override { return inner_->durability(); }
  std::string settings() const override { return inner_->settings(); }
  void stop_waiting() override { gate_.set(true); }
  result<void> ready() override { return {}; }
  result<std::vector<std::string>> audit() override { return inner_->audit(); }
  result<void> repair(const storage::telling& tell) override { return inner_->repair(tell); }

private:
  gate& gate_;
  std::unique_ptr<storage::store> inner_;
};

// With a way in for a thread of its own, behind a gate of its own. What is asked there is refused.
struct way_in {
  gate passing{};
  std::atomic<bool> up = true;
  std::atomic<int> looked = 0;
};

class second_way final : public storage::store {
public:
  explicit second_way(way_in& w) : way_(w) {}
  std::vector<storage::answer> apply(std::span<const storage::request> batch) override {
    way_.passing.pass(batch.size());
    return std::vector<storage::answer>(batch.size(), error{errc::storage_busy, "held up"});
  }
  const storage::hint& made_work() const override { return everybody_; }
  void tidy() override {}
  std::unique_ptr<storage::watch> watch_others(std::function<void(const storage::hint&)>) override { return nullptr; }
  sluice::durability durability() const override { return durability::volatile_; }
  std::string settings() const override { return {}; }
  void stop_waiting() override { way_.passing.set(true); }
  result<void> ready() override {
    ++way_.looked;
    return way_.up ? result<void>() : error{errc::storage_unavailable, "away"};
  }
  result<std::vector<std::string>> audit() override { return std::vector<std::string>(); }
  result<void> repair(const storage::telling&) override { return {}; }

private:
  way_in& way_;
  const storage::hint everybody_ = storage::hint::for_everybody();
};

class two_connection_store final : public storage::store {
public:
  two_connection_store(gate& g, way_in& w) : inner_(g), way_(w) {}
  std::vector<storage::answer> apply(std::span<const storage::request> batch) override { return inner_.apply(batch); }
  const storage::hint& made_work() const override { return inner_.made_work(); }
  void tidy() override { inner_.tidy(); }
  std::unique_ptr<storage::watch> watch_others(std::function<void(const storage::hint&)>) override { return nullptr; }
  sluice::durability durability() const override { return inner_.durability(); }
  std::string settings() const override { return inner_.settings(); }
  void stop_waiting() override { inner_.stop_waiting(); }
  result<void> ready() override { return {}; }
  result<std::vector<std::string>> audit() override { return inner_.audit(); }
  result<void> repair(const storage::telling& tell) override { return inner_.repair(tell); }
  std::unique_ptr<storage::store> open_second_connection() override { return std::make_unique<second_way>(way_); }

private:
  gated_store inner_;
  way_in& way_;
};

}  // namespace sluice::test
