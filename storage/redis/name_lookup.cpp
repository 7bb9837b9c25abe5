#include "storage/redis/name_lookup.hpp"

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>

#include "core/per_process.hpp"
#include "core/text.hpp"
#include "core/thread_name.hpp"

namespace sluice::storage::redis {
namespace {

// Attempts to connect are shorter than a slow resolver: what it said is there for the next.
constexpr auto kept = std::chrono::seconds(5);

struct lookup {
  const int over = ::eventfd(0, EFD_CLOEXEC);  // readable from then on
  std::string ip;                              // these are written before
  std::string fault;
  std::atomic<steady_point> ended{steady_point::max()};

  lookup() = default;
  lookup(const lookup&) = delete;
  ~lookup() { ::close(over); }
};

// Never destroyed: a look-up may outlast main(). A child that was forked has no thread of its parent's look-ups.
struct all_lookups {
  std::mutex lock;
  std::map<std::string, std::shared_ptr<lookup>> by_host;
};
all_lookups& lookups() {
  static constinit per_process<all_lookups> all;
  return all.here();
}

void carry_out(const std::string& host, lookup& into) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  int fault = 0;
  for (const int family : {AF_INET, AF_INET6}) {
    wanted.ai_family = family;
    fault = ::getaddrinfo(host.c_str(), nullptr, &wanted, &found);
    if (fault == 0) break;
  }
  if (fault != 0 || !found) {
    into.fault = cat("its name cannot be looked up: ", ::gai_strerror(fault));
    return;
  }
  std::array<char, INET6_ADDRSTRLEN> digits{};
  ::getnameinfo(found->ai_addr, found->ai_addrlen, digits.data(), digits.size(), nullptr, 0, NI_NUMERICHOST);
  ::freeaddrinfo(found);
  into.ip = digits.data();
}

std::shared_ptr<lookup> begin(const std::string& host) {
  auto& all = lookups();
  const std::lock_guard held(all.lock);
  auto& known = all.by_host[host];
  const auto now = std::chrono::steady_clock::now();
  if (known && (known->ended.load() == steady_point::max() || now < known->ended.load() + kept)) return known;
  known.reset();
  const auto its = std::make_shared<lookup>();
  std::thread([host, its] {
    name_this_thread("sluice-names");
    carry_out(host, *its);
    its->ended = std::chrono::steady_clock::now();
    ::eventfd_write(its->over, 1);
  }).detach();
  return known = its;
}

}  // namespace

result<std::string> ip_of(const std::string& host, steady_point deadline, const stop_signal& stop) {
  in6_addr any{};
  if (::inet_pton(AF_INET, host.c_str(), &any) == 1 || ::inet_pton(AF_INET6, host.c_str(), &any) == 1) return host;
  std::shared_ptr<lookup> its;
  try {
    its = begin(host);
  } catch (const std::system_error& e) {
    return error{errc::storage_unavailable, cat("its name cannot be looked up: no thread for it (", e.what(), ")")};
  }
  if (auto ended = stop.wait(its->over, POLLIN, deadline); !ended)
    return error{errc::storage_unavailable, cat("its name cannot be looked up: ", ended.error().message)};
  // A descriptor orders no memory by the rules of C++: who sees that it ended sees what was written before.
  if (its->ended.load() == steady_point::max())
    return error{errc::storage_unavailable, "its name cannot be looked up: the look-up has not ended"};
  if (!its->fault.empty()) return error{errc::storage_unavailable, its->fault};
  return its->ip;
}

}  // namespace sluice::storage::redis
