// Who may ask for what: the address that was meant, the page that asks, the person, and what that one may do.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include <sluice/error.hpp>
#include <sluice/options.hpp>

#include "core/clock.hpp"
#include "dashboard/http.hpp"

namespace sluice::web {

// What a route asks of whoever calls it.
enum class access_need : std::uint8_t {
  nothing,  // health: it tells nothing
  metrics,  // its own token where there is one, else as `look`
  view,
  operate,     // changes jobs, pauses, triggers
  administer,  // changes definitions
};

struct visitor {
  std::string name;  // empty: nobody had to say one
  dashboard_role role = dashboard_role::viewer;
};

// In a time that depends on the given text's length alone: each of its bytes is looked at, whatever those before it
// say. The secret is not empty.
bool same_secret(std::string_view given, std::string_view secret);

// A refusal, for a problem to be made of it.
struct access_refusal {
  unsigned status = 403;
  std::string detail;
};

// What is wrong with options by themselves, as invalid_argument.
result<void> check(const dashboard_options& options);

class access_rules {
public:
  // Reads the secrets. invalid_argument, not_found, io_error name the option.
  static result<std::unique_ptr<access_rules>> make(const dashboard_options& options, unsigned port);

  // Whether the request may go on, and who makes it. Called by any thread.
  std::optional<access_refusal> check(const http_request& request, access_need need, visitor& who) const;
  bool hides_args() const { return options_.hide_args; }

private:
  struct secret_of {
    visitor who;
    std::string secret;
  };
  access_rules() = default;
  std::optional<access_refusal> check_host(const http_request& request) const;
  std::optional<access_refusal> check_origin(const http_request& request) const;
  std::optional<access_refusal> check_login(const http_request& request, visitor& who) const;
  const secret_of* find(const http_request& request) const;
  bool comes_from_proxy(const http_request& request) const;
  bool fails_too_often(const std::string& peer) const;  // with this failure
  access_refusal refused_login(const http_request& request, std::string why) const;

  dashboard_options options_{};
  std::set<std::string, std::less<>> hosts_{};  // each with its port, in lower case
  std::vector<secret_of> users_{};
  std::string metrics_token_{}, proxy_secret_{};
  mutable std::atomic<int> waiting_{0};  // who guessed wrong
  mutable std::mutex mutex_{};
  mutable std::map<std::string, std::vector<steady_point>, std::less<>> failures_{};  // by peer
};

}  // namespace sluice::web
