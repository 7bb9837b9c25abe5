// Any bytes to a dashboard's port, on a connection each: no crash, no leak, what is answered is HTTP, and who comes
// next is answered. {PORT} in them becomes its port, so that requests for its own name can be made.
#include <cstdio>
#include <cstdlib>
#include <optional>

#include <sluice/dashboard.hpp>
#include <sluice/log.hpp>

#include "tests/dashboard/raw_client.hpp"
#include "tests/support/temp_dir.hpp"

namespace {

using sluice::test::raw_client;

constexpr std::size_t between_checks = 50;

[[noreturn]] void fail(const char* what, const std::string& said) {
  std::fprintf(stderr, "%s: '%s'\n", what, said.c_str());
  std::abort();
}

// Never ended: libFuzzer leaves by _Exit.
struct target {
  sluice::test::temp_dir folder;
  std::optional<sluice::dashboard> page;
  std::string port;

  target() {
    sluice::set_log_level(sluice::log_level::off);
    sluice::client_options store;
    store.storage = folder.url();
    sluice::dashboard_options options;
    options.listen = "localhost:0";
    options.allow_changes = true;
    options.reads_a_second = 1000;
    auto started = sluice::dashboard::start(store, options);
    if (!started) fail("no dashboard", to_string(started.error()));
    page.emplace(std::move(*started));
    port = page->url().substr(page->url().rfind(':') + 1);
  }
  raw_client connect() const {
    raw_client made(static_cast<unsigned>(std::stoul(port)));
    made.reset_at_end();  // else ten thousand sockets wait a minute each
    return made;
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static auto& on = *new target;
  static std::size_t asked = 0;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  constexpr std::string_view mark = "{PORT}";
  for (auto at = bytes.find(mark); at != std::string::npos; at = bytes.find(mark, at))
    bytes.replace(at, mark.size(), on.port);
  auto any = on.connect();
  any.write(bytes);
  any.end_of_writing();
  const auto said = any.read_all();
  if (!said.empty() && !said.starts_with("HTTP/1.")) fail("an answer that is none", said);
  if (++asked % between_checks != 0) return 0;
  auto next = on.connect();
  next.write("GET /health/live HTTP/1.1\r\nHost: localhost:" + on.port + "\r\n\r\n");
  const auto answer = next.read_answer();
  if (!answer.starts_with("HTTP/1.1 200")) fail("the next request is not answered", answer);
  return 0;
}
