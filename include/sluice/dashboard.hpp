/// What the store can say, over HTTP: pages for people, a JSON API, metrics for Prometheus, and health
/// (docs/dashboard.md).
///
///   auto page = sluice::dashboard::start(sluice::client_of(options), {.listen = "localhost:8080"});
///   if (!page) return fail(page.error());
///
/// It needs no CAF and no server in its process: any number may look at one store. Nothing that comes over the network
/// ends the process. Its threads are its own; the store is asked by them alone.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <sluice/client.hpp>
#include <sluice/error.hpp>
#include <sluice/options.hpp>

namespace sluice {

class dashboard {
public:
  /// Opens the store and listens. `is_ready` is asked by /health/ready, by any thread, and must be quick; besides, the
  /// store must have answered of late. Errors: those of `client::open`; invalid_argument (an option), io_error (the
  /// address, a file of a secret).
  static result<dashboard> start(client_options store, dashboard_options options,
                                 std::function<bool()> is_ready = nullptr);
  /// What is wrong with options by themselves, before a secret is read or an address taken; `key` as in a
  /// configuration: "listen", "users/ann".
  struct option_fault {
    std::string key;
    std::string problem;
  };
  static std::optional<option_fault> fault_of(const dashboard_options& options);
  /// Whether one could start now: takes the address and reads the secrets, and lets go of both. Errors as of `start`,
  /// but for those of the store.
  static result<void> can_start(const dashboard_options& options);

  /// Takes no more requests, answers those that are under way, and ends within some seconds.
  ~dashboard();
  dashboard(dashboard&&) noexcept;
  dashboard& operator=(dashboard&&) noexcept;

  /// As "http://localhost:8080". Of one that was moved from: `bad_result`.
  const std::string& url() const;

private:
  struct parts;
  explicit dashboard(std::unique_ptr<parts> p);
  parts_pointer<std::unique_ptr<parts>> parts_;
};

}  // namespace sluice
