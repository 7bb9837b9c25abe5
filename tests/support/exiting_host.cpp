// exiting_host return|exit|quick_exit: a program whose server is of static lifetime, on the store that EXITING_STORE
// names. It ends so, once four of its jobs run; each runs until it is asked to stop.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <latch>
#include <memory>
#include <string>
#include <thread>

#include <sluice/server.hpp>

namespace {

using namespace std::chrono_literals;

std::latch four_run(4);

sluice::server_options options() {
  sluice::server_options made;
  if (const char* store = std::getenv("EXITING_STORE")) made.storage = store;
  made.grace = 10s;
  made.queues["default"].workers = 4;
  return made;
}

bool start(sluice::server& s) {
  s.handle("held", [](sluice::job_context& c) {
    four_run.count_down();
    for (;;) {
      c.throw_if_stop_requested();
      std::this_thread::sleep_for(5ms);
    }
  });
  const auto up = s.start();
  if (!up) std::fprintf(stderr, "exiting_host: %s\n", to_string(up.error()).c_str());
  return up.ok();
}

sluice::server global(options());

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc == 2 ? argv[1] : "";
  if (how == "exit") {
    static auto of_main = std::make_unique<sluice::server>(options());
    if (!start(*of_main)) return 1;
    four_run.wait();
    std::exit(0);
  }
  if (!start(global)) return 1;
  four_run.wait();
  if (how == "quick_exit") std::quick_exit(0);
  return 0;
}
