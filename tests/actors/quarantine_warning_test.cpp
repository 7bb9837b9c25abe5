// A server tells people that much is in quarantine, which nothing removes by itself.
#include <algorithm>
#include <mutex>

#include <sluice/log.hpp>

#include "actors/server_world.hpp"
#include "core/text.hpp"
#include "storage/raw_store.hpp"
#include "support/catch.hpp"

namespace sluice::test {

TEST_CASE("a server warns when more than 64 MiB are in quarantine, and removes nothing of it") {
  struct heard {
    std::mutex mutex;
    std::vector<std::string> warnings;
    std::size_t of_quarantine() {
      std::lock_guard hold(mutex);
      return static_cast<std::size_t>(std::count_if(warnings.begin(), warnings.end(), [](const auto& line) {
        return line.find("65 MiB are in quarantine (1 job)") != std::string::npos;
      }));
    }
  };
  const auto lines = std::make_shared<heard>();
  set_log_sink([lines](log_level, std::string_view line) {
    std::lock_guard hold(lines->mutex);
    lines->warnings.emplace_back(line);
  });
  set_log_level(log_level::warn);
  {
    server_world w;
    w.handlers.handle("noop", [](job_context&) {});
    w.enqueue("noop");
    raw_store raw(w.folder.file("jobs.db"));
    const std::string record(65 << 20, 'x');
    raw.command({"HSET", "quarantine", "ghost", cat(record.size(), ':', record, "0:0:")});
    raw.command({"ZADD", "quarantined:default", "1", "ghost"});
    w.start();
    CHECK(eventually([&] { return lines->of_quarantine() == 1; }));
    CHECK(w.counts().quarantined == 1);
  }
  set_log_level(log_level::off);
  set_log_sink({});
  CHECK(lines->of_quarantine() == 1);
}

}  // namespace sluice::test
