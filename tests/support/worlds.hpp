// The worlds that the store's contract suite runs in: a store and a clock that only the test moves.
#pragma once

#include <memory>

#include "storage/store.hpp"
#include "support/redis_server.hpp"
#include "support/temp_dir.hpp"

namespace sluice::test {

class manual_clock final : public clock {
public:
  time_point now() const override { return now_; }
  void advance(duration d) { now_ += d; }

private:
  time_point now_ = from_micros(1'780'000'000'000'000);  // some day in 2026
};

// What every world offers. `reopen` closes the store and opens it again; a memory store is empty then.
class world {
public:
  // `known`: of another version of Sluice.
  explicit world(std::string url, bool survives_reopening = true, const storage::machine::library* known = nullptr)
      : survives_reopen(survives_reopening), url_(std::move(url)), known_(known) {
    reopen();
  }
  virtual ~world() = default;

  manual_clock clock;
  const bool survives_reopen;

  storage::store& store() { return *store_; }
  const std::string& url() const { return url_; }

  void reopen() {
    store_.reset();
    auto opened = storage::open_store(url_, &clock, open_mode::may_make, known_);
    if (!opened) throw std::runtime_error(to_string(opened.error()));
    store_ = std::move(*opened);
  }

  // One request alone; an error of the whole request is a failure of the test.
  template <class Answer, class Request>
  Answer ask(Request r) {
    std::vector<storage::request> batch;
    batch.emplace_back(std::move(r));
    auto answers = store_->apply(batch);
    if (const auto* e = std::get_if<error>(&answers.at(0))) throw std::runtime_error(to_string(*e));
    return std::get<Answer>(std::move(answers[0]));
  }

private:
  std::string url_;
  const storage::machine::library* known_;
  std::unique_ptr<storage::store> store_;
};

struct sqlite_memory_world : world {
  sqlite_memory_world() : world("sqlite::memory:", false) {}
};

struct folder_holder {
  temp_dir folder;
};
struct sqlite_file_world : folder_holder, world {
  sqlite_file_world() : world(folder.url()) {}
};

// One server for all tests of a program; each world has the prefix of its own. It is emptied before a world that is
// alone, or whoever walks over its keys would walk over those of all worlds before.
struct redis_world : world {
  redis_world() : world(next_url()) {}
  ~redis_world() override { --alive; }

  static redis_server& server() {
    static redis_server one;
    return one;
  }

private:
  static std::string next_url() {
    if (alive++ == 0) server().command({"FLUSHALL"});
    return server().url() + "&prefix=w" + std::to_string(++worlds);
  }

  static inline int worlds = 0, alive = 0;
};

}  // namespace sluice::test
