#include "storage/redis/connection.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "core/text.hpp"
#include "storage/redis/name_lookup.hpp"

namespace sluice::storage::redis {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t read_size = 256 * 1024;
constexpr std::size_t keep_buffer = 1024 * 1024;

error unavailable(std::string what) { return {errc::storage_unavailable, std::move(what)}; }

void set(int fd, int level, int option, int value) { ::setsockopt(fd, level, option, &value, sizeof value); }

void fill(machine::reply& into, std::size_t place, const redisReply& from) {
  switch (from.type) {
    case REDIS_REPLY_INTEGER: into.set_number(place, from.integer); break;
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS: into.set_text(place, {from.str, from.len}); break;
    case REDIS_REPLY_ERROR: into.set_error(place, {from.str, from.len}); break;
    case REDIS_REPLY_ARRAY: {
      const auto first = into.set_list(place, from.elements);
      for (std::size_t i = 0; i < from.elements; ++i)
        fill(into, first + i, *from.element[i]);
      break;
    }
    default: break;  // nothing
  }
}

}  // namespace

owned_reply::owned_reply(redisReply* from) : from_(from) { fill(all_, 0, *from); }

void owned_reply::free_it::operator()(redisReply* r) const { freeReplyObject(r); }

command& command::add(std::string_view word) {
  std::array<char, 24> head{};
  head[0] = '$';
  const auto end = std::to_chars(head.data() + 1, head.data() + head.size(), word.size()).ptr;
  body_.append(head.data(), end);
  body_ += "\r\n";
  body_ += word;
  body_ += "\r\n";
  ++words_;
  return *this;
}

std::string command::encoded() const { return "*" + std::to_string(words_) + "\r\n" + body_; }

result<std::unique_ptr<connection>> connection::open(const address& to, const std::optional<tls_options>& tls,
                                                     steady_point deadline, const stop_signal& stop) {
  const auto failed = [&](const std::string& why) { return unavailable(cat("Redis at ", to_string(to), ": ", why)); };
  redisContext* context = nullptr;
  if (to.path.empty()) {
    const auto ip = ip_of(to.host, deadline, stop);
    if (!ip) return failed(ip.error().message);
    context = redisConnectNonBlock(ip->c_str(), to.port);
  } else context = redisConnectUnixNonBlock(to.path.c_str());
  if (!context) return unavailable("out of memory");
  std::unique_ptr<connection> made(new connection(context, stop));
  made->server_ = to_string(to);
  made->is_port_without_tls_ = to.path.empty() && !tls;
  if (context->err != 0) return failed(context->errstr);
  ::fcntl(context->fd, F_SETFD, FD_CLOEXEC);
  if (auto ready = made->wait(POLLOUT, deadline); !ready) return failed("it does not answer");
  int why = 0;
  socklen_t size = sizeof why;
  if (::getsockopt(context->fd, SOL_SOCKET, SO_ERROR, &why, &size) != 0 || why != 0) return failed(std::strerror(why));
  if (to.path.empty()) {
    set(context->fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set(context->fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set(context->fd, IPPROTO_TCP, TCP_KEEPIDLE, 10);
    set(context->fd, IPPROTO_TCP, TCP_KEEPINTVL, 5);
    set(context->fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
  }
  if (tls)
    if (auto begun = made->begin_tls(to, *tls, deadline); !begun)
      return error{begun.error().code, failed(begun.error().message).message};
  return made;
}

connection::~connection() { redisFree(context_); }

result<void> connection::wait(short events, steady_point deadline) {
  return stop_.wait(context_->fd, events, deadline);
}

result<void> connection::begin_tls(const address& to, const tls_options& options, steady_point deadline) {
  auto made = tls_session::over(context_->fd, to, options);
  if (!made) return made.error();
  tls_ = std::move(*made);
  for (;;) {
    const auto done = tls_->shake_hands();
    if (done.what == transfer::kind::moved) return {};
    if (done.what == transfer::kind::failed) return unavailable(done.why);
    if (auto ready = wait(done.what == transfer::kind::wait_to_write ? POLLOUT : POLLIN, deadline); !ready)
      return unavailable(
          "no answer to the TLS handshake: its port may speak no TLS; without TLS the URL begins with redis");
  }
}

transfer connection::write(const char* bytes, std::size_t size) {
  using enum transfer::kind;
  if (tls_) return tls_->write(bytes, size);
  const auto n = ::send(context_->fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (n >= 0) return {moved, static_cast<std::size_t>(n)};
  if (errno == EPIPE || errno == ECONNRESET) return {closed};
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return {wait_to_write};
  return {failed, 0, std::strerror(errno)};
}

transfer connection::read(char* into, std::size_t size) {
  using enum transfer::kind;
  if (tls_) return tls_->read(into, size);
  const auto n = ::recv(context_->fd, into, size, MSG_DONTWAIT);
  if (n > 0) return {moved, static_cast<std::size_t>(n)};
  if (n == 0) return {closed};
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return {wait_to_read};
  return {failed, 0, std::strerror(errno)};
}

void connection::send_some() {
  while (out_at_ < out_.size()) {
    const auto done = write(out_.data() + out_at_, out_.size() - out_at_);
    // That it has closed is told by the end of what it said before: often the reason.
    if (done.what == transfer::kind::failed) broken_ = done.why;
    if (done.what != transfer::kind::moved) return;
    out_at_ += done.bytes;
    sent_ += done.bytes;
  }
  out_.clear();
  out_at_ = 0;
  if (out_.capacity() > keep_buffer) out_.shrink_to_fit();
}

void connection::read_some() {
  static thread_local std::array<char, read_size> buffer;
  do {
    const auto done = read(buffer.data(), buffer.size());
    if (done.what == transfer::kind::closed) broken_ = "it closed the connection";
    else if (done.what == transfer::kind::failed) broken_ = done.why;
    if (done.what != transfer::kind::moved) return;
    received_ += done.bytes;
    if (redisReaderFeed(context_->reader, buffer.data(), done.bytes) != REDIS_OK) broken_ = context_->reader->errstr;
  } while (broken_.empty() && tls_ && tls_->has_unread());  // of which the socket will not tell
}

void connection::post(std::string_view bytes) {
  posted_ += bytes.size();
  out_ += bytes;
  if (broken_.empty()) send_some();
}

result<owned_reply> connection::next(steady_point deadline) {
  for (;;) {
    void* got = nullptr;
    if (redisReaderGetReply(context_->reader, &got) != REDIS_OK)
      broken_ = cat("what it says is not the Redis protocol (", context_->reader->errstr, ")");
    else if (got) {
      has_answered_ = true;
      return owned_reply(static_cast<redisReply*>(got));
    }
    // Said before it closed, replies count; only then its end does.
    if (!broken_.empty()) {
      const bool may_want_tls = is_port_without_tls_ && !has_answered_;
      return unavailable(
          cat(broken_, may_want_tls ? "; if its port speaks TLS, the URL has to begin with rediss" : ""));
    }
    if (auto ready = wait(out_.empty() ? POLLIN : POLLIN | POLLOUT, deadline); !ready) return ready.error();
    send_some();
    read_some();
  }
}

bool connection::is_stale() const {
  if (!broken_.empty()) return true;
  if (tls_ && tls_->has_unread()) return true;
  char byte = 0;
  const auto n = ::recv(context_->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return n >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

result<owned_reply> ask(connection& c, const command& what, steady_point deadline) {
  c.post(what.encoded());
  auto got = c.next(deadline);
  if (got && got->root().is_error()) return error{errc::storage_unavailable, std::string(got->root().text())};
  return got;
}

}  // namespace sluice::storage::redis
