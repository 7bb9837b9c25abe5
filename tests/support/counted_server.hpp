// The actors of a server over a store that counts what it is asked.
#pragma once

#include <map>
#include <mutex>
#include <stdexcept>

#include "actors/engine.hpp"
#include "actors/lease_keeper.hpp"
#include "actors/own_system.hpp"
#include "actors/spawn.hpp"

namespace sluice::test {

class question_counts {
public:
  void note(const storage::request& r) {
    std::lock_guard hold(mutex_);
    ++all_;
    if (const auto* claim = std::get_if<storage::claim_request>(&r)) ++claims_[claim->queue.value];
    const auto* settle = std::get_if<storage::settle_request>(&r);
    if (settle && settle->next) ++claims_[settle->next->queue.value];
    if (std::holds_alternative<storage::queues_request>(r)) ++counts_;
    if (std::holds_alternative<storage::ready_request>(r)) ++looks_;
    if (std::holds_alternative<storage::renew_request>(r)) ++renewals_;
  }
  std::uint64_t all() const { return read(all_); }
  std::uint64_t counts() const { return read(counts_); }  // how many jobs queues hold
  std::uint64_t looks() const { return read(looks_); }    // which queues have work
  std::uint64_t renewals() const { return read(renewals_); }
  std::map<std::string, std::uint64_t> claims() const { return read(claims_); }
  std::uint64_t claims_but_of(const std::string& queue) const {
    std::uint64_t n = 0;
    for (const auto& [name, claims] : claims())
      n += name == queue ? 0 : claims;
    return n;
  }

private:
  template <class T>
  T read(const T& value) const {
    std::lock_guard hold(mutex_);
    return value;
  }

  mutable std::mutex mutex_;
  std::uint64_t all_ = 0, counts_ = 0, looks_ = 0, renewals_ = 0;
  std::map<std::string, std::uint64_t> claims_;
};

class counting_store final : public storage::store {
public:
  counting_store(std::unique_ptr<storage::store> in, std::shared_ptr<question_counts> counts)
      : in_(std::move(in)), counts_(std::move(counts)) {}

  std::vector<storage::answer> apply(std::span<const storage::request> batch) override {
    for (const auto& r : batch)
      counts_->note(r);
    return in_->apply(batch);
  }
  const storage::hint& made_work() const override { return in_->made_work(); }
  void tidy() override { in_->tidy(); }
  std::unique_ptr<storage::watch> watch_others(std::function<void(const storage::hint&)> told) override {
    return in_->watch_others(std::move(told));
  }
  sluice::durability durability() const override { return in_->durability(); }
  std::string settings() const override { return in_->settings(); }
  result<void> ready() override { return in_->ready(); }
  result<std::vector<std::string>> audit() override { return in_->audit(); }
  bool has_failed_for_good() const override { return in_->has_failed_for_good(); }
  void stop_waiting() override { in_->stop_waiting(); }
  std::unique_ptr<storage::store> another() override {
    auto other = in_->another();
    return other ? std::make_unique<counting_store>(std::move(other), counts_) : nullptr;
  }

private:
  std::unique_ptr<storage::store> in_;
  std::shared_ptr<question_counts> counts_;
};

class counted_server {
public:
  counted_server(const server_options& options, const handler_registry& handlers) {
    auto opened = actors::open_engine(options, handlers, {});
    if (!opened) throw std::runtime_error(to_string(opened.error()));
    engine_ = *opened;
    auto store = storage::open_store(options.storage);
    if (!store) throw std::runtime_error(to_string(store.error()));
    runner_ = std::make_shared<storage::runner>(std::make_unique<counting_store>(std::move(*store), asked));
    engine_->runner = runner_;
    engine_->keeper = std::make_shared<actors::lease_keeper>(engine_, [](const auto&, fence) {});
    system_.emplace([&](caf::actor_system& made) { root_ = actors::spawn_root(made, engine_, {}); });
  }
  ~counted_server() {
    engine_->stopped = true;
    for (const auto& p : engine_->pools())
      p->mute();
    caf::anon_send_exit(root_, caf::exit_reason::user_shutdown);
    root_ = nullptr;
    system_.reset();
    for (const auto& p : engine_->pools())
      p->close(std::chrono::steady_clock::now() + std::chrono::seconds(5));
    engine_->keeper.reset();
  }
  counted_server(const counted_server&) = delete;

  // By which this process asks, as a client of its own would.
  storage::runner& runner() { return *runner_; }

  const std::shared_ptr<question_counts> asked = std::make_shared<question_counts>();

private:
  std::shared_ptr<storage::runner> runner_;
  actors::engine_ptr engine_;
  actors::root_actor root_;
  std::optional<actors::own_system> system_;
};

}  // namespace sluice::test
