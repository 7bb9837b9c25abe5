#include "storage/sqlite/file_watch.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "core/log.hpp"
#include "core/thread_name.hpp"

namespace sluice::storage::sqlite {
namespace {

class inotify_watch final : public watch {
public:
  inotify_watch(int events, int stop, std::function<void()> changed)
      : events_(events), stop_(stop), thread_([this, changed = std::move(changed)] { run(changed); }) {}

  ~inotify_watch() override {
    const std::uint64_t one = 1;
    if (::write(stop_, &one, sizeof one) < 0) log::error("cannot stop a file watch: ", std::strerror(errno));
    thread_.join();
    ::close(events_);
    ::close(stop_);
  }

private:
  void run(const std::function<void()>& changed) {
    name_this_thread("sluice-hints");
    std::array<pollfd, 2> both{pollfd{events_, POLLIN, 0}, pollfd{stop_, POLLIN, 0}};
    alignas(inotify_event) std::array<char, 4096> buffer{};
    for (;;) {
      if (::poll(both.data(), both.size(), -1) < 0 && errno != EINTR)
        return log::error("file watch ended: ", std::strerror(errno));
      if (both[1].revents != 0) return;
      if ((both[0].revents & POLLIN) != 0 && ::read(events_, buffer.data(), buffer.size()) > 0) changed();
    }
  }

  int events_;
  int stop_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<watch> watch_file(const std::string& path, std::function<void()> changed) {
  const int events = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  const int stop = ::eventfd(0, EFD_CLOEXEC);
  if (events < 0 || stop < 0 || ::inotify_add_watch(events, path.c_str(), IN_MODIFY) < 0) {
    log::warn("cannot watch ", path, " (", std::strerror(errno), "): work of other processes is found by the sweep");
    if (events >= 0) ::close(events);
    if (stop >= 0) ::close(stop);
    return nullptr;
  }
  return std::make_unique<inotify_watch>(events, stop, std::move(changed));
}

}  // namespace sluice::storage::sqlite
