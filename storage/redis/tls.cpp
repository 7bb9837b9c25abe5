#include "storage/redis/tls.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/text.hpp"

namespace sluice::storage::redis {
namespace {

using enum transfer::kind;

constexpr std::size_t longest_record = 16 * 1024;

// OpenSSL's own socket BIO may raise SIGPIPE.
int socket_of(BIO* bio) { return *static_cast<const int*>(BIO_get_data(bio)); }
int with_retry(BIO* bio, ssize_t n, void (*retry)(BIO*)) {
  BIO_clear_retry_flags(bio);
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) retry(bio);
  return static_cast<int>(n);
}
int send_to(BIO* bio, const char* bytes, int size) {
  const auto n = ::send(socket_of(bio), bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL | MSG_DONTWAIT);
  return with_retry(bio, n, [](BIO* b) { BIO_set_retry_write(b); });
}
int receive_from(BIO* bio, char* into, int size) {
  const auto n = ::recv(socket_of(bio), into, static_cast<std::size_t>(size), MSG_DONTWAIT);
  return with_retry(bio, n, [](BIO* b) { BIO_set_retry_read(b); });
}
long control(BIO*, int what, long, void*) { return what == BIO_CTRL_FLUSH ? 1 : 0; }

BIO_METHOD* socket_without_signals() {
  static BIO_METHOD* const made = [] {
    auto* m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket without SIGPIPE");
    BIO_meth_set_write(m, send_to);
    BIO_meth_set_read(m, receive_from);
    BIO_meth_set_ctrl(m, control);
    return m;
  }();
  return made;
}

std::string last_error() {
  const auto code = ERR_peek_last_error();
  ERR_clear_error();
  const char* reason = code != 0 ? ERR_reason_error_string(code) : nullptr;
  return reason ? reason : "unknown error";
}

bool is_ip(const std::string& host) {
  in6_addr any{};
  return ::inet_pton(AF_INET, host.c_str(), &any) == 1 || ::inet_pton(AF_INET6, host.c_str(), &any) == 1;
}

const char* what_helps(long fault) {
  switch (fault) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH: return "; ?tls_name= says the name that it has";
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN: return "; ?ca= names the file of the authority that signed it";
    default: return "";
  }
}

// A file that is being renewed may be right a moment later.
error unusable(const char* what, const std::string& file) {
  const auto why = last_error();
  return {errc::storage_unavailable,
          cat("TLS: the file that ?", what, "= names, ", printable(file, 200),
              ", cannot be used: ", ::access(file.c_str(), R_OK) != 0 ? std::strerror(errno) : why)};
}

result<void> load_files(SSL_CTX* context, const tls_options& options) {
  if (options.ca.empty()) SSL_CTX_set_default_verify_paths(context);
  else if (SSL_CTX_load_verify_locations(context, options.ca.c_str(), nullptr) != 1) return unusable("ca", options.ca);
  if (options.cert.empty()) return {};
  if (SSL_CTX_use_certificate_chain_file(context, options.cert.c_str()) != 1) return unusable("cert", options.cert);
  if (SSL_CTX_use_PrivateKey_file(context, options.key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context) != 1)
    return unusable("key", options.key);
  return {};
}

}  // namespace

void tls_session::free_it::operator()(ssl_ctx_st* c) const { SSL_CTX_free(c); }
void tls_session::free_it::operator()(ssl_st* s) const { SSL_free(s); }

tls_session::tls_session(int fd, std::unique_ptr<ssl_ctx_st, free_it> context, std::unique_ptr<ssl_st, free_it> session)
    : fd_(fd), context_(std::move(context)), session_(std::move(session)) {}
tls_session::~tls_session() = default;

result<std::unique_ptr<tls_session>> tls_session::over(int fd, const address& to, const tls_options& options) {
  ERR_clear_error();
  // One for each connection, so that files which were renewed count from the next on.
  std::unique_ptr<SSL_CTX, free_it> context(SSL_CTX_new(TLS_client_method()));
  if (!context) return error{errc::storage_unavailable, cat("TLS: ", last_error())};
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  // Else a key that has a passphrase would be asked for on the terminal.
  SSL_CTX_set_default_passwd_cb(context.get(), [](char*, int, int, void*) { return -1; });
  if (auto loaded = load_files(context.get(), options); !loaded) return loaded.error();

  std::unique_ptr<SSL, free_it> session(SSL_new(context.get()));
  auto* bio = session ? BIO_new(socket_without_signals()) : nullptr;
  if (!bio) return error{errc::storage_unavailable, cat("TLS: ", last_error())};
  SSL_set_bio(session.get(), bio, bio);  // takes it over

  const auto& name = options.name.empty() ? to.host : options.name;
  const bool named = is_ip(name) ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session.get()), name.c_str()) == 1
                                 : SSL_set1_host(session.get(), name.c_str()) == 1 &&
                                       SSL_set_tlsext_host_name(session.get(), name.c_str()) == 1;
  if (!named) return error{errc::invalid_argument, cat("TLS: '", printable(name, 100), "' is no name of a server")};
  std::unique_ptr<tls_session> made(new tls_session(fd, std::move(context), std::move(session)));
  BIO_set_data(bio, &made->fd_);
  BIO_set_init(bio, 1);
  return made;
}

transfer tls_session::outcome(int returned) {
  if (returned > 0) return {moved};
  switch (SSL_get_error(session_.get(), returned)) {
    case SSL_ERROR_WANT_READ: return {wait_to_read};
    case SSL_ERROR_WANT_WRITE: return {wait_to_write};
    case SSL_ERROR_ZERO_RETURN: return {closed};
    case SSL_ERROR_SYSCALL: {
      const int why = errno;
      ERR_clear_error();
      if (why == 0 || why == ECONNRESET || why == EPIPE) return {closed};
      return {failed, 0, std::strerror(why)};
    }
    default: break;
  }
  const auto code = ERR_peek_last_error();
  if (ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
    ERR_clear_error();
    return {closed};
  }
  return {failed, 0, last_error()};
}

transfer tls_session::shake_hands() {
  ERR_clear_error();
  errno = 0;
  auto done = outcome(SSL_connect(session_.get()));
  if (done.what == closed)
    return {failed, 0, "it closed the connection during the TLS handshake; its port may not be that of TLS"};
  if (done.what != failed) return done;
  if (const auto fault = SSL_get_verify_result(session_.get()); fault != X509_V_OK)
    done.why = cat("its certificate is not accepted: ", X509_verify_cert_error_string(fault), what_helps(fault));
  else done.why = cat("TLS: ", done.why);
  return done;
}

// One record at a time, the same again until it is sent: in one call OpenSSL would send a record that waits, begin the
// next and tell of neither when that one has to wait.
transfer tls_session::write(const char* bytes, std::size_t size) {
  ERR_clear_error();
  errno = 0;
  std::size_t taken = 0;
  const auto record = waiting_ > 0 ? waiting_ : std::min(size, longest_record);
  auto done = outcome(SSL_write_ex(session_.get(), bytes, record, &taken));
  waiting_ = done.what == wait_to_write || done.what == wait_to_read ? record : 0;
  done.bytes = taken;
  return done;
}

transfer tls_session::read(char* into, std::size_t size) {
  ERR_clear_error();
  errno = 0;
  std::size_t got = 0;
  auto done = outcome(SSL_read_ex(session_.get(), into, size, &got));
  done.bytes = got;
  return done;
}

bool tls_session::has_unread() const { return SSL_has_pending(session_.get()) == 1; }

}  // namespace sluice::storage::redis
