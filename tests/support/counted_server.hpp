// The actors of a server over a store that counts what it is asked.
#pragma once

#include <map>
#include <mutex>
#include <stdexcept>

#include "actors/own_system.hpp"
#include "actors/server_context.hpp"
#include "actors/spawn.hpp"
#include "execution/dispatcher.hpp"
#include "execution/lease_keeper.hpp"
#include "support/passing_store.hpp"

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
    if (std::holds_alternative<storage::ready_request>(r)) ++checks_;
    if (std::holds_alternative<storage::renew_request>(r)) ++renewals_;
  }
  std::uint64_t all() const { return read(all_); }
  std::uint64_t counts() const { return read(counts_); }  // how many jobs queues hold
  std::uint64_t looks() const { return read(checks_); }   // which queues have work
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
  std::uint64_t all_ = 0, counts_ = 0, checks_ = 0, renewals_ = 0;
  std::map<std::string, std::uint64_t> claims_;
};

class counting_store final : public passing_store {
public:
  counting_store(std::unique_ptr<storage::store> in, std::shared_ptr<question_counts> counts)
      : passing_store(std::move(in)), counts_(std::move(counts)) {}

  std::vector<storage::answer> apply(std::span<const storage::request> batch) override {
    for (const auto& r : batch)
      counts_->note(r);
    return passing_store::apply(batch);
  }
  std::unique_ptr<storage::store> open_second_connection() override {
    auto other = passing_store::open_second_connection();
    return other ? std::make_unique<counting_store>(std::move(other), counts_) : nullptr;
  }

private:
  std::shared_ptr<question_counts> counts_;
};

class counted_server {
public:
  using wrapping = std::function<std::unique_ptr<storage::store>(std::unique_ptr<storage::store>)>;

  // `wrap`: another store around the server's. `prepare`: is called before the first actor is made.
  counted_server(const server_options& options, const handler_registry& handlers, const wrapping& wrap = {},
                 const std::function<void(actors::server_context&)>& prepare = {}) {
    auto opened = actors::open_server_context(options, handlers, {});
    if (!opened) throw std::runtime_error(to_string(opened.error()));
    context_ = *opened;
    auto store = storage::open_store(options.storage);
    if (!store) throw std::runtime_error(to_string(store.error()));
    std::unique_ptr<storage::store> counted = std::make_unique<counting_store>(std::move(*store), asked);
    if (wrap) counted = wrap(std::move(counted));
    // Its last share may be let go on a thread of its own, as that of a store that was opened by its URL.
    shared_store_.reset(new storage::shared_store(std::move(counted)), [](storage::shared_store* which) {
      if (which->is_here()) std::thread([which] { delete which; }).detach();
      else delete which;
    });
    context_->use_store(shared_store_);
    context_->keeper = std::make_shared<execution::lease_keeper>(context_, [](const auto&, fence) {});
    if (prepare) prepare(*context_);
    system_.emplace([&](caf::actor_system& made) { root_ = actors::spawn_root(made, context_, {}); });
  }
  ~counted_server() {
    context_->stopped = true;
    for (const auto& p : context_->queues.pools())
      p->workers.disable_callbacks();
    for (const auto& d : context_->queues.dispatchers())
      d->end();  // their steps ask the actors and the keeper
    caf::anon_send_exit(root_, caf::exit_reason::user_shutdown);
    root_ = nullptr;
    system_.reset();
    for (const auto& p : context_->queues.pools())
      p->workers.close(std::chrono::steady_clock::now() + std::chrono::seconds(5));
    context_->keeper->halt();
  }
  counted_server(const counted_server&) = delete;

  // By which this process asks, as a client of its own would.
  storage::shared_store& shared_store() { return *shared_store_; }

  const std::shared_ptr<question_counts> asked = std::make_shared<question_counts>();

private:
  std::shared_ptr<storage::shared_store> shared_store_;
  actors::server_context_ptr context_;
  actors::root_actor root_;
  std::optional<actors::own_system> system_;
};

}  // namespace sluice::test
