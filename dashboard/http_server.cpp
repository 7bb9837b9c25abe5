#include "dashboard/http_server.hpp"

#include <microhttpd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

#include "core/clock.hpp"
#include "core/log.hpp"

namespace sluice::web {
namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr unsigned threads = max_blocked_threads + 1;
// No byte for so long. Browsers open connections ahead and close those that they did not use after 10 s: one that we
// close meanwhile fails a request that was about to use it.
constexpr unsigned idle_seconds = 12;
constexpr std::size_t memory_of_a_connection = 32 * 1024;
constexpr auto between_sweeps = 500ms;
constexpr std::size_t kept_free = 8;
constexpr auto end_timeout = 2s;                 // with who reads his answer slowly
constexpr std::size_t small_answer = 64 * 1024;  // goes whatever is under way

// Headers that decide what a request is: twice is once too often, since a proxy before us may have taken the other.
constexpr std::string_view told_once[] = {"host", "content-length", "content-type", "origin", "authorization"};

// One socket, as the sweeper sees it.
struct connection {
  int fd = -1;
  steady_point since{};   // when it began to wait for a request, or to be sent an answer
  bool is_asked = false;  // its request is whole, and is being answered
  bool is_ended = false;
};

// One request, from its first line to the end of its answer.
struct exchange {
  http_request request;
  bool has_head = false;
  bool is_answered = false;
  std::size_t counted = 0;       // bytes of its body
  std::size_t answer_bytes = 0;  // that wait to be read by its client
};

http_response refusal(unsigned status, const char* title) {
  http_response said;
  said.status = status;
  said.type = "application/problem+json";
  said.body = cat("{\"type\":\"about:blank\",\"title\":\"", title, "\",\"status\":", status, "}");
  said.close = true;
  add_safety(said);
  return said;
}

void panic(void*, const char* file, unsigned line, const char* reason) {
  log::error("libmicrohttpd cannot go on: ", reason ? reason : "", " (", file ? file : "", ":", line, ")");
  log::flush(1s);
  std::abort();
}

void log_line(void*, const char* pattern, va_list values) {
  char text[500];
  std::vsnprintf(text, sizeof text, pattern, values);
  std::string_view said(text);
  while (said.ends_with('\n'))
    said.remove_suffix(1);
  log::debug("http: ", said);
}

}  // namespace

struct http_server::parts {
  http_site site{};
  duration slow{0};
  std::vector<MHD_Daemon*> daemons{};
  std::mutex mutex{};  // of the table; a socket is in it while its number is ours
  std::condition_variable ending{};
  std::list<connection> table{};
  std::atomic<std::size_t> body_bytes{0};
  std::atomic<std::size_t> answer_bytes{0};
  std::size_t under_way = 0;  // requests that are being answered
  bool closing = false;       // whoever is answered is told to go
  bool stopping = false;
  std::thread sweeper{};

  void sweep() {
    std::unique_lock hold(mutex);
    while (!ending.wait_for(hold, between_sweeps, [this] { return stopping; })) {
      const auto before = steady_clock::now() - slow;
      for (auto& one : table)
        if (one.since < before) ::shutdown(one.fd, SHUT_RDWR);
    }
  }

  void change(MHD_Connection* on, const std::function<void(connection&)>& how) {
    const auto* info = MHD_get_connection_info(on, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    if (!info || !info->socket_context) return;
    std::lock_guard hold(mutex);
    how(*static_cast<connection*>(info->socket_context));
  }

  // Whose request does not come takes no place from whose does. With the lock held.
  void make_room() {
    if (table.size() < max_connections - kept_free) return;
    connection* oldest = nullptr;
    for (auto& one : table)
      if (!one.is_asked && !one.is_ended && (!oldest || one.since < oldest->since)) oldest = &one;
    if (!oldest) return;
    oldest->is_ended = true;
    ::shutdown(oldest->fd, SHUT_RDWR);
  }

  bool count_answering(int change) {
    std::lock_guard hold(mutex);
    under_way += static_cast<std::size_t>(change);
    ending.notify_all();
    return closing;
  }

  // Of large answers only so many bytes wait together for clients to read them.
  bool has_room_for_answer(exchange& x, std::size_t bytes) {
    if (bytes <= small_answer) return true;
    const auto before = answer_bytes.fetch_add(bytes);
    const bool has_room = before == 0 || before + bytes <= max_answer_bytes_together;
    if (has_room) x.answer_bytes = bytes;
    else answer_bytes -= bytes;
    return has_room;
  }

  MHD_Result send(MHD_Connection* to, exchange& x, const http_response& what) {
    change(to, [](connection& its) { its.since = steady_clock::now(); });
    if (!has_room_for_answer(x, what.body.size())) return send(to, x, busy("answers_together"));
    auto* response =
        MHD_create_response_from_buffer(what.body.size(), const_cast<char*>(what.body.data()), MHD_RESPMEM_MUST_COPY);
    if (!response) return MHD_NO;
    if (!what.type.empty()) MHD_add_response_header(response, "Content-Type", what.type.c_str());
    for (const auto& [name, value] : what.headers)
      MHD_add_response_header(response, name.c_str(), value.c_str());
    if (what.close) MHD_add_response_header(response, "Connection", "close");
    const auto sent = MHD_queue_response(to, what.status, response);
    MHD_destroy_response(response);
    return sent;
  }

  http_response busy(std::string_view reason) const {
    if (site.note_refused) site.note_refused(reason);
    auto said = refusal(503, "Service Unavailable");
    said.headers.emplace_back("Retry-After", "1");
    return said;
  }

  // Reads the head. Something: what is wrong with it.
  std::optional<http_response> take_head(MHD_Connection* on, exchange& x, const char* method, const char* version) {
    x.request.method = method;
    const auto refused = [&](unsigned status, const char* title, std::string_view reason) {
      if (site.note_refused) site.note_refused(reason);
      return refusal(status, title);
    };
    struct walk {
      http_request& into;
      std::string_view twice{};
      bool is_odd = false;
    } seen{x.request};
    MHD_get_connection_values_n(
        on, MHD_HEADER_KIND,
        [](void* self, MHD_ValueKind, const char* key, std::size_t key_size, const char* value,
           std::size_t value_size) {
          auto& to = *static_cast<walk*>(self);
          const auto name = lowered({key, key_size});
          const std::string_view text(value ? value : "", value ? value_size : 0);
          // What a lenient parser has taken for a name or a value.
          if (name.empty() || name.find_first_of(" \t\r\n") != std::string::npos ||
              text.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos)
            to.is_odd = true;
          const auto [at, is_new] = to.into.headers.try_emplace(name, text);
          if (is_new) return MHD_YES;
          for (const auto once : told_once)
            if (name == once) to.twice = once;
          at->second += cat(", ", text);
          return MHD_YES;
        },
        &seen);
    if (const auto* info = MHD_get_connection_info(on, MHD_CONNECTION_INFO_CLIENT_ADDRESS))
      x.request.peer = words_of_peer(info->client_addr);
    // Even one without a value would have its body read without an end.
    if (x.request.headers.contains("transfer-encoding")) return refused(411, "Length Required", "transfer_encoding");
    if (seen.is_odd || !seen.twice.empty()) return refused(400, "Bad Request", "headers");
    if (version != std::string_view("HTTP/1.1") && version != std::string_view("HTTP/1.0"))
      return refused(505, "HTTP Version Not Supported", "version");
    auto target = parse_target(x.request.target);
    if (!target) return refused(400, "Bad Request", "target");
    x.request.path = std::move(target->path);
    x.request.query = std::move(target->query);
    std::uint64_t bytes = 0;
    if (const auto length = x.request.header("content-length"); !length.empty()) {
      const auto read = std::from_chars(length.data(), length.data() + length.size(), bytes);
      if (read.ptr != length.data() + length.size()) return refused(400, "Bad Request", "headers");
      if (read.ec != std::errc{} || bytes > max_body_bytes) return refused(413, "Content Too Large", "body_size");
      if (bytes > 0 && (x.request.method == "GET" || x.request.method == "HEAD"))
        return refused(400, "Bad Request", "body_of_a_look");
    }
    if (auto said = site.refuse(x.request)) return said;
    // Only those who may come in take room from others.
    if (body_bytes.fetch_add(bytes) + bytes > max_body_bytes_together) {
      body_bytes -= bytes;
      return busy("bodies_together");
    }
    x.counted = bytes;
    return std::nullopt;
  }

  MHD_Result handle(MHD_Connection* on, exchange& x, const char* method, const char* version, const char* data,
                    std::size_t& size) try {
    if (!x.has_head) {
      x.has_head = true;
      if (auto refused = take_head(on, x, method, version)) {
        const bool has_body = x.request.headers.contains("content-length") && x.request.header("content-length") != "0";
        refused->close = refused->close || has_body;  // of which we read nothing
        return send(on, x, *refused);
      }
      return MHD_YES;
    }
    if (size > 0) {
      if (x.request.body.size() + size > x.counted) return MHD_NO;
      x.request.body.append(data, size);
      size = 0;
      return MHD_YES;
    }
    x.is_answered = true;
    change(on, [](connection& its) { its.is_asked = true; });
    const bool is_closing = count_answering(1);
    auto said = site.answer(x.request);
    said.close = said.close || is_closing;
    return send(on, x, said);
  } catch (const std::exception& thrown) {
    log::error("a request could not be answered: ", message_of(thrown));
    return send(on, x, refusal(500, "Internal Server Error"));
  }

  MHD_Daemon* serve(const listening_socket& at, bool one_peer_for_all) {
    const auto first_line = [](void*, const char* uri, MHD_Connection*) -> void* {
      auto made = std::make_unique<exchange>();
      made->request.target = uri;
      return made.release();
    };
    const auto handler = [](void* self, MHD_Connection* on, const char*, const char* method, const char* version,
                            const char* data, std::size_t* size, void** context) -> MHD_Result {
      if (!*context) return MHD_NO;
      return static_cast<parts*>(self)->handle(on, *static_cast<exchange*>(*context), method, version, data, *size);
    };
    const auto completed = [](void* self, MHD_Connection* on, void** context, MHD_RequestTerminationCode) {
      if (!*context) return;
      auto* const all = static_cast<parts*>(self);
      const std::unique_ptr<exchange> ended(static_cast<exchange*>(*context));
      *context = nullptr;
      all->body_bytes -= ended->counted;
      all->answer_bytes -= ended->answer_bytes;
      if (ended->is_answered) all->count_answering(-1);
      all->change(on, [](connection& its) { its = {its.fd, steady_clock::now()}; });
    };
    const auto connected = [](void* self, MHD_Connection* on, void** socket, MHD_ConnectionNotificationCode what) {
      auto* const all = static_cast<parts*>(self);
      std::lock_guard hold(all->mutex);
      if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        all->make_room();
        const auto* info = MHD_get_connection_info(on, MHD_CONNECTION_INFO_CONNECTION_FD);
        if (info) *socket = &all->table.emplace_back(connection{info->connect_fd, steady_clock::now()});
      } else if (*socket) {
        all->table.remove_if([socket](const connection& one) { return &one == *socket; });
        *socket = nullptr;
      }
    };
    return MHD_start_daemon(MHD_USE_POLL | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_ITC | MHD_USE_ERROR_LOG, 0,
                            nullptr, nullptr, +handler, this, MHD_OPTION_EXTERNAL_LOGGER, &log_line, nullptr,
                            MHD_OPTION_LISTEN_SOCKET, at.fd, MHD_OPTION_THREAD_POOL_SIZE, threads,
                            MHD_OPTION_CONNECTION_LIMIT, max_connections, MHD_OPTION_CONNECTION_TIMEOUT, idle_seconds,
                            MHD_OPTION_PER_IP_CONNECTION_LIMIT, one_peer_for_all || at.is_loopback ? 0U : max_of_a_peer,
                            MHD_OPTION_CONNECTION_MEMORY_LIMIT, memory_of_a_connection, MHD_OPTION_STRICT_FOR_CLIENT, 1,
                            MHD_OPTION_URI_LOG_CALLBACK, +first_line, this, MHD_OPTION_NOTIFY_COMPLETED, +completed,
                            this, MHD_OPTION_NOTIFY_CONNECTION, +connected, this, MHD_OPTION_END);
  }
};

http_server::http_server(std::unique_ptr<parts> p) : parts_(std::move(p)) {}

result<std::unique_ptr<http_server>> http_server::start(listening at, http_site site, bool one_peer_for_all,
                                                        duration slow) {
  MHD_set_panic_func(&panic, nullptr);
  auto p = std::make_unique<parts>();
  p->site = std::move(site);
  p->slow = slow;
  std::unique_ptr<http_server> made(new http_server(std::move(p)));
  auto& all = *made->parts_;
  for (std::size_t i = 0; i < at.sockets.size(); ++i) {
    auto* daemon = all.serve(at.sockets[i], one_peer_for_all);
    if (daemon) {
      all.daemons.push_back(daemon);
      continue;
    }
    // Before 1.0.2 a daemon that could not be made may have closed its socket, and may not have.
    for (; i + 1 < at.sockets.size(); ++i)
      ::close(at.sockets[i + 1].fd);
    return error{errc::io_error, "the dashboard's threads could not be made"};
  }
  all.sweeper = std::thread([&all] { all.sweep(); });
  return made;
}

http_server::~http_server() {
  std::vector<MHD_socket> sockets;  // which their threads may look at until they have ended
  for (auto* daemon : parts_->daemons) {
    const auto socket = MHD_quiesce_daemon(daemon);
    if (socket == MHD_INVALID_SOCKET) continue;
    ::shutdown(socket, SHUT_RDWR);
    sockets.push_back(socket);
  }
  {
    std::unique_lock hold(parts_->mutex);
    parts_->closing = true;
    parts_->ending.wait_for(hold, end_timeout, [this] { return parts_->under_way == 0; });
  }
  for (auto* daemon : parts_->daemons)
    MHD_stop_daemon(daemon);
  for (const auto socket : sockets)
    ::close(socket);
  {
    std::lock_guard hold(parts_->mutex);
    parts_->stopping = true;
  }
  parts_->ending.notify_all();
  if (parts_->sweeper.joinable()) parts_->sweeper.join();
}

}  // namespace sluice::web
