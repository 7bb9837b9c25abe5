// A sample that is killed again and again and started again with the same words, on an SQLite file or on a Redis of its
// own.
#pragma once

#include <filesystem>
#include <memory>

#include "samples/common/book.hpp"
#include "support/catch.hpp"
#include "support/redis_server.hpp"
#include "system/work_world.hpp"

namespace sluice::test {

class killed_sample {
public:
  killed_sample(std::string program, const std::string& store)
      : redis_(store == "Redis" ? std::make_unique<redis_server>() : nullptr),
        program_(std::move(program)),
        w(nlohmann::json::object(), redis_ ? redis_->url() : std::string()),
        book(w.folder.file("book.db")) {}

private:
  std::unique_ptr<redis_server> redis_;
  std::string program_;

public:
  work_world w;
  sample::book book;  // what the sample notes

  int kills = 0;

  // Killed as soon as this is seen; on a busy machine it may have come to its end by then.
  void kill_when(const std::string& moment, const std::function<bool()>& is_seen) {
    CAPTURE(moment);
    process p(words(), w.folder.file("killed.log"));
    const bool seen = eventually([&] { return is_seen() || !p.alive(); }, 60s);
    p.signal(SIGKILL);
    INFO(p.log());
    REQUIRE(seen);
    const auto code = p.exit_code(30s);
    REQUIRE((code == -SIGKILL || code == 0));
    kills += code == 0 ? 0 : 1;
  }
  ran to_its_end() const { return run(words(), w.folder.path().string()); }

private:
  std::vector<std::string> words() const { return {program_, "--folder", w.folder.path().string(), "--store", w.url}; }
};

}  // namespace sluice::test
