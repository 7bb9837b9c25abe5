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

namespace sluice::storage::redis {
namespace {

using std::chrono::steady_clock;
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

result<std::unique_ptr<connection>> connection::open(const address& to, steady_point deadline,
                                                     const stop_signal& stop) {
  auto* context =
      to.path.empty() ? redisConnectNonBlock(to.host.c_str(), to.port) : redisConnectUnixNonBlock(to.path.c_str());
  if (!context) return unavailable("out of memory");
  std::unique_ptr<connection> made(new connection(context, stop));
  const auto failed = [&](const std::string& why) { return unavailable(cat("Redis at ", to_string(to), ": ", why)); };
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
  return made;
}

connection::~connection() { redisFree(context_); }

result<void> connection::wait(short events, steady_point deadline) {
  for (;;) {
    const auto left = stop_.bounded(deadline) - steady_clock::now();
    if (left <= 0s) return unavailable(stop_.is_set() ? "the program is stopping" : "no answer in time");
    const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(left).count();
    const timespec ts{ns / 1'000'000'000, ns % 1'000'000'000};
    pollfd p[] = {{context_->fd, events, 0}, {stop_.descriptor(), POLLIN, 0}};
    const int got = ::ppoll(p, stop_.is_set() ? 1 : 2, &ts, nullptr);
    if (got < 0 && errno != EINTR) return unavailable(std::strerror(errno));
    if (got > 0 && p[0].revents != 0) return {};
  }
}

void connection::send_some() {
  while (out_at_ < out_.size()) {
    const auto n = ::send(context_->fd, out_.data() + out_at_, out_.size() - out_at_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0) {
      if (errno == EINTR) continue;
      // That it has closed is told by the end of what it said before: often the reason.
      const bool closed = errno == EPIPE || errno == ECONNRESET;
      if (!closed && errno != EAGAIN && errno != EWOULDBLOCK) broken_ = std::strerror(errno);
      return;
    }
    out_at_ += static_cast<std::size_t>(n);
    sent_ += static_cast<std::uint64_t>(n);
  }
  out_.clear();
  out_at_ = 0;
  if (out_.capacity() > keep_buffer) out_.shrink_to_fit();
}

void connection::read_some() {
  static thread_local std::array<char, read_size> buffer;
  const auto n = ::recv(context_->fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (n < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) return;
  if (n <= 0) {
    broken_ = n == 0 ? "it closed the connection" : std::strerror(errno);
    return;
  }
  received_ += static_cast<std::uint64_t>(n);
  if (redisReaderFeed(context_->reader, buffer.data(), static_cast<std::size_t>(n)) != REDIS_OK)
    broken_ = context_->reader->errstr;
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
    else if (got) return owned_reply(static_cast<redisReply*>(got));
    // Said before it closed, replies count; only then its end does.
    if (!broken_.empty()) return unavailable(broken_);
    if (auto ready = wait(out_.empty() ? POLLIN : POLLIN | POLLOUT, deadline); !ready) return ready.error();
    send_some();
    read_some();
  }
}

bool connection::is_stale() const {
  if (!broken_.empty()) return true;
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
