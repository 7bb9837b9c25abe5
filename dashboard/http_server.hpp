// Listens, reads requests within bounds, and answers them: GNU libmicrohttpd, of which nobody else here knows. What two
// of its versions read differently, and what they take where they should not, is refused here for both.
#pragma once

#include <functional>
#include <memory>

#include <sluice/error.hpp>
#include <sluice/types.hpp>

#include "dashboard/http.hpp"
#include "dashboard/listening.hpp"

namespace sluice::web {

inline constexpr std::size_t max_body_bytes = 2 * 1024 * 1024;
inline constexpr std::size_t max_body_bytes_together = 16 * 1024 * 1024;
inline constexpr std::size_t max_answer_bytes_together = 16 * 1024 * 1024;  // of large ones; one alone may have more
inline constexpr unsigned max_connections = 64;                             // of one address that is listened at
// Handlers see to it that no more than these block at a time, so that one is left for what is answered from memory.
inline constexpr unsigned max_blocked_threads = 7;
inline constexpr unsigned max_of_a_peer = 16;  // where peers can be told apart

// Called on threads of the server, several at a time; what they throw is answered as a fault of ours.
struct http_site {
  // Once the head has come: an answer in place of reading on.
  std::function<std::optional<http_response>(const http_request&)> refuse;
  std::function<http_response(const http_request&)> answer;
  // A request that was not one, by what was wrong with it.
  std::function<void(std::string_view reason)> note_refused;
};

class http_server {
public:
  // Takes the sockets. io_error when its threads cannot be made. `slow`: how long a request may take to come, and its
  // answer to go, however many bytes trickle.
  static result<std::unique_ptr<http_server>> start(listening at, http_site site, bool one_peer_for_all,
                                                    duration slow = std::chrono::seconds(15));
  // Takes no more connections; waits for the answers that are under way, and some seconds until they are read.
  ~http_server();
  http_server(const http_server&) = delete;

private:
  struct parts;
  explicit http_server(std::unique_ptr<parts> p);
  std::unique_ptr<parts> parts_;
};

}  // namespace sluice::web
