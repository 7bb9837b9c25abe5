// A way into a store beside it, to harm what it holds: commands of hashes, sets and sorted sets, on every store. Their
// keys are named without the prefix.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "storage/sqlite/keyspace.hpp"
#include "support/worlds.hpp"

namespace sluice::test {

// A second connection to a store's file.
class raw_store {
public:
  explicit raw_store(const std::string& path) : db_(path), keys_(db_, prefix) {}

  // Its answer, if it is one text or number.
  std::string command(std::vector<std::string> words) { return commands({std::move(words)}); }
  // In one step; the answer of the last.
  std::string commands(std::vector<std::vector<std::string>> all) {
    storage::sqlite::command_answer answer;
    try {
      db_.execute("BEGIN IMMEDIATE");
      keys_.begin();
      keys_.begin_call(true);
      for (auto& words : all) {
        words.at(1) = std::string(prefix).append(":").append(words[1]);
        keys_.call(std::vector<std::string_view>(words.begin(), words.end()), answer);
      }
      keys_.flush();
      db_.execute("COMMIT");
    } catch (const storage::sqlite::command_error& e) {
      throw std::runtime_error(e.message);
    } catch (const storage::sqlite::failure& f) {
      throw std::runtime_error(f.message);
    }
    using kind = storage::sqlite::command_answer::kind;
    if (answer.what() == kind::number) return std::to_string(answer.number());
    return answer.what() == kind::text ? std::string(answer.bytes(answer.parts().front())) : std::string();
  }

  void run(const std::string& sql) {
    try {
      db_.execute(sql.c_str());
    } catch (const storage::sqlite::failure& f) {
      throw std::runtime_error(f.message);
    }
  }

private:
  static constexpr std::string_view prefix = "{sluice}";
  storage::sqlite::database db_;
  storage::sqlite::keyspace keys_;
};

// Stores that a test may harm.
struct harmed_file_world : sqlite_file_world {
  raw_store raw{folder.file("jobs.db")};

  static std::string key(const std::string& name) { return "{sluice}:" + name; }
  std::string command(std::vector<std::string> words) { return raw.command(std::move(words)); }
  void commands(std::vector<std::vector<std::string>> all) { raw.commands(std::move(all)); }
};

struct harmed_redis_world : redis_world {
  std::string key(const std::string& name) const { return "{" + url().substr(url().find("prefix=") + 7) + "}:" + name; }
  std::string command(std::vector<std::string> words) {
    words.at(1) = key(words[1]);
    const auto told = server().command(words);
    if (told.is_error()) throw std::runtime_error(told.text);
    return told.type == reply_type::integer ? std::to_string(told.integer) : told.text;
  }
  // In one step: each is its number of words, and these.
  void commands(const std::vector<std::vector<std::string>>& all) {
    std::vector<std::string> asked = {"EVAL",
                                      "local at = 1 "
                                      "while ARGV[at] do "
                                      "  redis.call(unpack(ARGV, at + 1, at + ARGV[at])) "
                                      "  at = at + 1 + ARGV[at] "
                                      "end",
                                      "0"};
    for (const auto& words : all) {
      asked.push_back(std::to_string(words.size()));
      for (std::size_t i = 0; i < words.size(); ++i)
        asked.push_back(i == 1 ? key(words[i]) : words[i]);
    }
    if (const auto told = server().command(asked); told.is_error()) throw std::runtime_error(told.text);
  }
};

}  // namespace sluice::test
