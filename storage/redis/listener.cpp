#include "storage/redis/listener.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>

#include "core/log.hpp"
#include "core/text.hpp"
#include "core/thread_name.hpp"
#include "storage/redis/link.hpp"

namespace sluice::storage::redis {
namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto connect_timeout = 2s;
constexpr auto first_pause = 50ms;
constexpr auto last_pause = 1s;
// A peer that is gone without a word is noticed by its silence.
constexpr auto ping_every = 5s;

class listener final : public watch {
public:
  listener(location where, std::string token, std::function<void(const hint&)> callback)
      : where_(std::move(where)),
        token_(std::move(token)),
        callback_(std::move(callback)),
        thread_([this] { run(); }) {}

  ~listener() override {
    {
      std::lock_guard hold(mutex_);
      stop_.set();
    }
    stopping_.notify_all();
    thread_.join();
  }

private:
  void run() {
    name_this_thread("sluice-hints");
    auto pause = std::chrono::milliseconds(first_pause);
    while (!stop_.is_set()) {
      auto opened = open_plain(where_, steady_clock::now() + connect_timeout, stop_);
      if (opened && attend(**opened)) pause = first_pause;
      std::unique_lock hold(mutex_);
      stopping_.wait_for(hold, pause, [&] { return stop_.is_set(); });
      pause = std::min<std::chrono::milliseconds>(pause * 2, last_pause);
    }
  }

  // Until the connection ends. True when it listened at all.
  bool attend(connection& c) {
    c.post(command{"SUBSCRIBE", "{" + where_.prefix + "}:work"}.encoded());
    const auto listens = c.next(steady_clock::now() + connect_timeout);
    if (!listens) return false;
    if (listens->root().is_error()) {
      if (!refused_)
        log::warn("Redis refuses to tell of new work (", printable(listens->root().text(), 200),
                  "); it is looked for every sweep_interval");
      refused_ = true;
      return false;
    }
    callback_(hint::for_everybody());  // for what was said before we listened
    auto silent_since = steady_clock::now();
    bool pinged = false;
    while (!stop_.is_set()) {
      auto got = c.next(silent_since + ping_every);
      if (got) {
        silent_since = steady_clock::now();
        pinged = false;
        // All that has come is one hint: whoever is called may be at the store for a while.
        hint meant = meant_by(*got);
        while (const auto more = c.next(steady_point{}))
          meant.add(meant_by(*more));
        if (meant) callback_(meant);
        continue;
      }
      if (pinged || c.is_broken()) break;
      c.post(command{"PING"}.encoded());
      pinged = true;
      silent_since = steady_clock::now();
    }
    return true;
  }

  // Of a message: who said it, and a hint. Empty when we said it ourselves.
  hint meant_by(const owned_reply& reply) const {
    hint meant;
    const auto root = reply.root();
    if (root.size() != 3 || root[0].text() != "message") return meant;
    const auto said = root[2].text();
    const auto who = said.substr(0, said.find(' '));
    if (who == token_) return meant;
    meant.add_encoded(said.substr(std::min(who.size() + 1, said.size())));
    return meant ? meant : hint::for_everybody();
  }

  const location where_;
  const std::string token_;
  const std::function<void(const hint&)> callback_;
  stop_signal stop_{0ms};
  bool refused_ = false;
  std::mutex mutex_;
  std::condition_variable stopping_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<watch> listen(location where, std::string token, std::function<void(const hint&)> callback) {
  return std::make_unique<listener>(std::move(where), std::move(token), std::move(callback));
}

}  // namespace sluice::storage::redis
