// TLS over a socket that is connected already: OpenSSL, no older than TLS 1.2, with the server's certificate checked.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <sluice/error.hpp>

#include "storage/redis/url.hpp"

struct ssl_ctx_st;
struct ssl_st;

namespace sluice::storage::redis {

// What a read or a write came to.
struct transfer {
  enum class kind { moved, wait_to_read, wait_to_write, closed, failed };
  kind what = kind::failed;
  std::size_t bytes = 0;  // of moved: at least one
  std::string why = {};   // of failed
};

class tls_session {
public:
  // `fd` outlives the session. The files are read now; an error names the one that cannot be used.
  static result<std::unique_ptr<tls_session>> over(int fd, const address& to, const tls_options& options);
  ~tls_session();
  tls_session(const tls_session&) = delete;

  // Goes on with the handshake: `moved` when it is over. Nothing else is sent before.
  transfer shake_hands();
  // Takes some of it, never less than it says: what is behind that was not sent, not even in part.
  transfer write(const char* bytes, std::size_t size);
  transfer read(char* into, std::size_t size);
  // Something was received that nobody has read.
  bool has_unread() const;

private:
  struct free_it {
    void operator()(ssl_ctx_st* c) const;
    void operator()(ssl_st* s) const;
  };
  tls_session(int fd, std::unique_ptr<ssl_ctx_st, free_it> context, std::unique_ptr<ssl_st, free_it> session);
  transfer outcome(int returned);

  int fd_;
  const std::unique_ptr<ssl_ctx_st, free_it> context_;
  const std::unique_ptr<ssl_st, free_it> session_;
  std::size_t waiting_ = 0;  // of the record that is to be written again
};

}  // namespace sluice::storage::redis
