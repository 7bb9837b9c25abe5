#include "device_check/page_server.hpp"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <stdexcept>
#include <string_view>

#include <sluice/dashboard.hpp>

#include "common/fetch.hpp"

namespace sample {
namespace {

struct reply {
  unsigned status = MHD_HTTP_OK;
  std::string type{};
  std::string body{};
};

reply refusal(unsigned status, std::string why) { return {status, "text/plain; charset=utf-8", std::move(why) + "\n"}; }

std::string contents_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

std::map<std::string, reply, std::less<>> files_of_the_page() {
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "device_check.d";
  return {{"/", {MHD_HTTP_OK, "text/html; charset=utf-8", contents_of(folder / "index.html")}},
          {"/page.js", {MHD_HTTP_OK, "text/javascript; charset=utf-8", contents_of(folder / "page.js")}},
          {"/page.css", {MHD_HTTP_OK, "text/css; charset=utf-8", contents_of(folder / "page.css")}}};
}

std::string escaped(const char* text) {
  char* const made = curl_easy_escape(nullptr, text, 0);
  std::string copy = made ? made : "";
  curl_free(made);
  return copy;
}

MHD_Result send(MHD_Connection* to, const reply& what) {
  auto* response =
      MHD_create_response_from_buffer(what.body.size(), const_cast<char*>(what.body.data()), MHD_RESPMEM_MUST_COPY);
  if (!response) return MHD_NO;
  MHD_add_response_header(response, "Content-Type", what.type.c_str());
  MHD_add_response_header(response, "Content-Security-Policy", "default-src 'self'");
  MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
  MHD_add_response_header(response, "Cache-Control", "no-store");
  const auto sent = MHD_queue_response(to, what.status, response);
  MHD_destroy_response(response);
  return sent;
}

sluice::dashboard dashboard_of(const sluice::client_options& store) {
  auto started = sluice::dashboard::start(store, {.listen = "127.0.0.1:0"});
  if (!started) throw std::runtime_error(sluice::to_string(started.error()));
  return std::move(*started);
}

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
  throw std::runtime_error("the page cannot listen on port " + std::to_string(port) + " of 127.0.0.1: " + why +
                           "; --page 0 takes any free one");
}

}  // namespace

struct page_server::parts {
  explicit parts(const sluice::client_options& store) : api(dashboard_of(store)) {}
  ~parts() {
    if (daemon) MHD_stop_daemon(daemon);
  }

  curl_library curl{};
  sluice::dashboard api;
  const std::map<std::string, reply, std::less<>> files = files_of_the_page();
  std::string host{};
  std::string url{};
  MHD_Daemon* daemon = nullptr;

  // The dashboard guards itself against other names than its own, by which web sites reach what listens on this
  // machine; whoever passes questions on must do so too.
  reply answer(MHD_Connection* from, std::string_view method, std::string_view path) const {
    const char* const asked_as = MHD_lookup_connection_value(from, MHD_HEADER_KIND, "Host");
    if (!asked_as || host != asked_as) return refusal(MHD_HTTP_MISDIRECTED_REQUEST, "this is " + host);
    if (method != "GET") return refusal(MHD_HTTP_METHOD_NOT_ALLOWED, "GET only");
    if (path == "/api/v1/jobs") return jobs(from);
    const auto file = files.find(path);
    return file == files.end() ? refusal(MHD_HTTP_NOT_FOUND, "there is no such thing") : file->second;
  }

  reply jobs(MHD_Connection* from) const {
    std::string query = "?limit=200";
    for (const char* name : {"id_begins", "after"})
      if (const char* value = MHD_lookup_connection_value(from, MHD_GET_ARGUMENT_KIND, name))
        query += std::string("&") + name + "=" + escaped(value);
    try {
      return {MHD_HTTP_OK, "application/json", fetch(api.url() + "/api/v1/jobs" + query)};
    } catch (const std::exception& e) {
      return refusal(MHD_HTTP_BAD_GATEWAY, e.what());
    }
  }
};

page_server::page_server(const sluice::client_options& store, std::uint16_t port)
    : parts_(std::make_unique<parts>(store)) {
  const auto at = listen_on(port);
  parts_->host = "127.0.0.1:" + std::to_string(at.port);
  parts_->url = "http://" + parts_->host;
  // Called once when the head of a request is there and once more when all of it is; the latter is answered.
  const auto handle = [](void* self, MHD_Connection* connection, const char* path, const char* method, const char*,
                         const char*, std::size_t* body, void** seen) -> MHD_Result {
    if (!*seen) {
      *seen = self;
      return MHD_YES;
    }
    if (*body > 0) {  // nobody wants it
      *body = 0;
      return MHD_YES;
    }
    return send(connection, static_cast<parts*>(self)->answer(connection, method, path));
  };
  parts_->daemon =
      MHD_start_daemon(MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD, 0, nullptr, nullptr, +handle,
                       parts_.get(), MHD_OPTION_LISTEN_SOCKET, at.socket, MHD_OPTION_CONNECTION_LIMIT, 32u,
                       MHD_OPTION_CONNECTION_TIMEOUT, 5u, MHD_OPTION_END);
  // Before 1.0.2 a daemon that could not be made may have closed its socket, and may not have.
  if (!parts_->daemon) throw std::runtime_error("the threads of the page cannot be made");
}

page_server::~page_server() = default;

const std::string& page_server::url() const { return parts_->url; }

}  // namespace sample
