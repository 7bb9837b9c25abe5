// Whether the rows of a file agree with each other, which no key can tell: a member stands where its row says, and a
// key is as large as it says.
#pragma once

#include <string>
#include <vector>

#include "storage/sqlite/database.hpp"

namespace sluice::storage::sqlite {

class rows_check {
public:
  // Looks at some hundred rows, from one snapshot, and adds what is wrong. False: all was looked at.
  bool check_some(database& db, std::vector<std::string>& findings);

private:
  enum class part : std::uint8_t { members, scores, keys, done };
  std::int64_t check_members(database& db, std::vector<std::string>& findings);
  std::int64_t check_scores(database& db, std::vector<std::string>& findings);
  static void check_texts(database& db, std::vector<std::string>& findings);
  std::int64_t check_keys(database& db, std::vector<std::string>& findings);

  part at_ = part::members;
  std::int64_t id_ = 0;  // of the last row of `members` or `keys`
  struct {
    std::int64_t key = 0;
    double score = 0;
    std::string member;
  } last_;  // of `scores`
};

}  // namespace sluice::storage::sqlite
