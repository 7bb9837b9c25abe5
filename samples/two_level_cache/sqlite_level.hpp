// The shared level in an SQLite file of its own, for the processes of one machine.
#pragma once

#include <mutex>

#include "two_level_cache/shared_level.hpp"

struct sqlite3;

namespace sample {

class sqlite_level : public shared_level {
public:
  // Makes the file if there is none; its folder must be there. Throws std::runtime_error.
  explicit sqlite_level(const std::string& file);
  ~sqlite_level() override;
  sqlite_level(const sqlite_level&) = delete;

  std::optional<cached_head> head(const std::string& key) override;
  std::optional<cached_page> page(const std::string& key, std::uint32_t number) override;
  bool store(const std::string& key, std::uint32_t number, const cached_page& content) override;
  bool complete(const std::string& key, const cached_head& head, sluice::time_point ends) override;
  void prune(sluice::time_point now) override;

private:
  std::mutex mutex_;
  sqlite3* database_ = nullptr;
};

}  // namespace sample
