// One connection to a Redis server: bytes go out, replies come in, each by a deadline. hiredis connects and takes
// the replies apart; sending and waiting are done here, since hiredis waits per read and may raise SIGPIPE; TLS, which
// the hiredis of Debian 12 does not have, is tls.hpp's. One error ends a connection: what was asked and not answered is
// unknown, and nothing is read from it again.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <sluice/error.hpp>

#include "core/clock.hpp"
#include "storage/machine/reply.hpp"
#include "storage/redis/stop_signal.hpp"
#include "storage/redis/tls.hpp"
#include "storage/redis/url.hpp"

struct redisContext;
struct redisReply;

namespace sluice::storage::redis {

// What Redis said, with the texts that it owns.
class owned_reply {
public:
  explicit owned_reply(redisReply* from);  // takes it over

  // Of use as long as this stays where it is.
  machine::item root() const { return all_.root(); }

private:
  struct free_it {
    void operator()(redisReply* r) const;
  };
  std::unique_ptr<redisReply, free_it> from_;
  machine::reply all_;
};

// A command in the protocol's words.
class command {
public:
  command(std::initializer_list<std::string_view> words) {
    for (const auto word : words)
      add(word);
  }
  command() = default;

  command& add(std::string_view word);
  command& add(std::uint64_t n) { return add(std::string_view(std::to_string(n))); }
  command& add(std::int64_t n) { return add(std::string_view(std::to_string(n))); }
  command& add(std::uint32_t n) { return add(std::string_view(std::to_string(n))); }
  std::string encoded() const;

private:
  std::size_t words_ = 0;
  std::string body_;
};

class connection {
public:
  // Connects, without a word said but those of TLS. `stop` outlives the connection and ends its waits.
  static result<std::unique_ptr<connection>> open(const address& to, const std::optional<tls_options>& tls,
                                                  steady_point deadline, const stop_signal& stop);
  ~connection();
  connection(const connection&) = delete;

  // Sends what the socket takes at once and keeps the rest for `next`.
  void post(std::string_view bytes);
  // The next reply, in the order of what was posted. Nothing yet by the deadline is an error, too: whoever goes on
  // reading after it must not take a late reply for another.
  result<owned_reply> next(steady_point deadline);

  // Where it leads, as people are told it.
  const std::string& server() const { return server_; }
  // Bytes posted, and of these handed to the kernel: a command that ends behind `sent` was never seen by Redis.
  std::uint64_t posted() const { return posted_; }
  std::uint64_t sent() const { return sent_; }
  std::uint64_t received() const { return received_; }
  // Nothing more can come.
  bool is_broken() const { return !broken_.empty(); }
  // The other side has closed, or has said something that nobody asked for.
  bool is_stale() const;

private:
  connection(redisContext* context, const stop_signal& stop) : context_(context), stop_(stop) {}
  result<void> wait(short events, steady_point deadline);
  result<void> begin_tls(const address& to, const tls_options& options, steady_point deadline);
  transfer write(const char* bytes, std::size_t size);
  transfer read(char* into, std::size_t size);
  void send_some();
  void read_some();

  redisContext* context_;
  std::string server_;
  const stop_signal& stop_;
  std::unique_ptr<tls_session> tls_;
  std::string out_;  // posted and not sent yet, from `out_at_`
  std::size_t out_at_ = 0;
  std::uint64_t posted_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  std::string broken_;  // why nothing more comes
  bool is_port_without_tls_ = false;
  bool has_answered_ = false;
};

// Sends one command and waits for its reply; an error reply is an error.
result<owned_reply> ask(connection& c, const command& what, steady_point deadline);

}  // namespace sluice::storage::redis
