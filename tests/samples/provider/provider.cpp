#include "samples/provider/provider.hpp"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "samples/provider/content.hpp"

namespace sample {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

constexpr auto service_time = 40ms;
constexpr auto time_for_each_above_capacity = 20ms;
constexpr std::string_view catalogues = "/catalogues/";
constexpr std::string_view documents = "/documents/";

struct listening {
  int socket;
  std::uint16_t port;
};

listening listen_on(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const at = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  const int on = 1;
  const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made >= 0 && ::setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 && ::bind(made, at, size) == 0 &&
      ::listen(made, SOMAXCONN) == 0 && ::getsockname(made, at, &size) == 0)
    return {made, ntohs(address.sin_port)};
  const std::string why = std::strerror(errno);
  if (made >= 0) ::close(made);
  throw std::runtime_error("the provider cannot listen on port " + std::to_string(port) + " of 127.0.0.1: " + why +
                           "; port 0 is any free one");
}

struct reply {
  unsigned status = MHD_HTTP_OK;
  std::string body;
};

reply answer_to(const std::string& path, const char* page) {
  if (path.starts_with(documents))
    return {MHD_HTTP_OK, nlohmann::json(make_document(path.substr(documents.size()))).dump()};
  if (!path.starts_with(catalogues)) return {MHD_HTTP_NOT_FOUND, R"({"error": "no such resource"})"};
  const auto number = page ? std::strtoul(page, nullptr, 10) : 1;
  if (number < 1 || number > pages_of_a_catalogue) return {MHD_HTTP_NOT_FOUND, R"({"error": "no such page"})"};
  const auto found = make_page(path.substr(catalogues.size()), static_cast<std::uint32_t>(number));
  return {MHD_HTTP_OK, nlohmann::json(found).dump()};
}

MHD_Result send(MHD_Connection* to, const reply& what) {
  auto* response =
      MHD_create_response_from_buffer(what.body.size(), const_cast<char*>(what.body.data()), MHD_RESPMEM_MUST_COPY);
  if (!response) return MHD_NO;
  MHD_add_response_header(response, "Content-Type", "application/json");
  const auto sent = MHD_queue_response(to, what.status, response);
  MHD_destroy_response(response);
  return sent;
}

}  // namespace

struct provider::parts {
  parts(std::uint16_t port, std::function<void(const std::string&)> told)
      : at(listen_on(port)), asked(std::move(told)) {}

  const listening at;
  const std::string url = "http://127.0.0.1:" + std::to_string(at.port);
  const std::function<void(const std::string&)> asked;
  MHD_Daemon* daemon = nullptr;
  mutable std::mutex mutex{};
  provider_counts counts{};

  // How long the request will take; nothing when it is refused.
  std::optional<steady::duration> enter(bool heavy) {
    std::lock_guard hold(mutex);
    auto& c = counts;
    if (c.in_flight == 2 * capacity) {
      ++c.rejected;
      return std::nullopt;
    }
    c.peak_in_flight = std::max(c.peak_in_flight, ++c.in_flight);
    if (heavy) c.heavy_peak_in_flight = std::max(c.heavy_peak_in_flight, ++c.heavy_in_flight);
    const auto above = c.in_flight > capacity ? c.in_flight - capacity : 0;
    return service_time + above * time_for_each_above_capacity;
  }

  void leave(bool heavy) {
    std::lock_guard hold(mutex);
    --counts.in_flight;
    if (heavy) --counts.heavy_in_flight;
    ++counts.answered;
  }

  reply told_counts() const {
    std::lock_guard hold(mutex);
    const nlohmann::json told{{"capacity", capacity},
                              {"peak_in_flight", counts.peak_in_flight},
                              {"heavy_peak_in_flight", counts.heavy_peak_in_flight},
                              {"answered", counts.answered},
                              {"rejected", counts.rejected}};
    return {MHD_HTTP_OK, told.dump()};
  }

  reply serve(const std::string& path, const char* page) {
    if (path == "/counts") return told_counts();
    const auto arrived = steady::now();
    const bool heavy = path.starts_with(catalogues);
    const auto takes = enter(heavy);
    if (!takes) return {MHD_HTTP_SERVICE_UNAVAILABLE, R"({"error": "too many requests at once"})"};
    if (asked) asked(page ? path + "?page=" + page : path);
    auto answer = answer_to(path, page);
    std::this_thread::sleep_until(arrived + *takes);
    leave(heavy);
    return answer;
  }
};

// It listens before the first request can be answered, so that its address is known by then.
provider::provider(std::uint16_t port, std::function<void(const std::string&)> asked)
    : parts_(std::make_unique<parts>(port, std::move(asked))) {
  // Called once when the head of a request is there and once more when all of it is; the latter is answered.
  const auto handle = [](void* self, MHD_Connection* connection, const char* path, const char*, const char*,
                         const char*, std::size_t*, void** seen) -> MHD_Result {
    if (!*seen) {
      *seen = self;
      return MHD_YES;
    }
    const char* page = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "page");
    return send(connection, static_cast<parts*>(self)->serve(path, page));
  };
  // A thread for each connection, since a request is served by sleeping.
  parts_->daemon =
      MHD_start_daemon(MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD, 0, nullptr, nullptr, +handle,
                       parts_.get(), MHD_OPTION_LISTEN_SOCKET, parts_->at.socket, MHD_OPTION_END);
  // Before 1.0.2 a daemon that could not be made may have closed its socket, and may not have.
  if (!parts_->daemon) throw std::runtime_error("the threads of the provider cannot be made");
}

provider::~provider() { MHD_stop_daemon(parts_->daemon); }

const std::string& provider::url() const { return parts_->url; }

provider_counts provider::counts() const {
  std::lock_guard hold(parts_->mutex);
  return parts_->counts;
}

}  // namespace sample
