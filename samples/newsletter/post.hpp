// Who sent how many mails in which second, and what can be told from it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <sluice/types.hpp>

namespace sample {

struct sent_mail {
  std::string tenant;
  sluice::time_point at;
};

class post {
public:
  void send(const std::string& tenant, const std::string& mail);
  std::vector<sent_mail> sent() const;  // in order of time

private:
  mutable std::mutex mutex_;
  std::vector<sent_mail> sent_;
};

// The most mails of `tenant`, or of all together for "", in any interval of this length, wherever it begins.
unsigned max_in_any(const std::vector<sent_mail>& sent, sluice::duration interval, const std::string& tenant);

using tally = std::map<std::string, unsigned>;  // by tenant

// A row for each second of the run: what was sent in it, and in the `summed` seconds that it ends.
struct second_row {
  std::int64_t second;  // since `first` of rows_of
  tally sent, summed;
};
std::vector<second_row> rows_of(const std::vector<sent_mail>& sent, sluice::time_point first, std::int64_t summed);

std::string table_of(const std::vector<second_row>& rows, const std::vector<std::string>& tenants,
                     const std::function<std::string(std::int64_t)>& remark);

}  // namespace sample
