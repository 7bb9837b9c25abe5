#include "newsletter/post.hpp"

#include <algorithm>

#include "common/work.hpp"

namespace sample {
namespace {

constexpr std::uint32_t links = 200;  // of the signature

unsigned of(const tally& counts, const std::string& tenant) {
  const auto found = counts.find(tenant);
  return found == counts.end() ? 0 : found->second;
}

std::string padded(std::string text, std::size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

std::string cell(unsigned n) { return padded(n == 0 ? "." : std::to_string(n), 9); }

std::string cells(const tally& counts, const std::vector<std::string>& tenants) {
  std::string text;
  unsigned all = 0;
  for (const auto& tenant : tenants)
    text += cell(of(counts, tenant)), all += of(counts, tenant);
  return text + cell(all);
}

}  // namespace

void post::send(const std::string& tenant, const std::string& mail) {
  // Signing the mail is the work; where it would go is nobody's business here.
  static_cast<void>(checksum_chain(mail, links));
  std::lock_guard hold(mutex_);
  sent_.push_back({tenant, std::chrono::time_point_cast<sluice::duration>(std::chrono::system_clock::now())});
}

std::vector<sent_mail> post::sent() const {
  std::lock_guard hold(mutex_);
  auto all = sent_;
  std::sort(all.begin(), all.end(), [](const sent_mail& a, const sent_mail& b) { return a.at < b.at; });
  return all;
}

unsigned max_in_any(const std::vector<sent_mail>& sent, sluice::duration interval, const std::string& tenant) {
  std::vector<sluice::time_point> times;
  for (const auto& mail : sent)
    if (tenant.empty() || mail.tenant == tenant) times.push_back(mail.at);
  std::size_t most = 0;
  for (std::size_t begin = 0, end = 0; end < times.size(); ++end) {
    while (times[end] - times[begin] >= interval)
      ++begin;
    most = std::max(most, end - begin + 1);
  }
  return static_cast<unsigned>(most);
}

std::vector<second_row> rows_of(const std::vector<sent_mail>& sent, sluice::time_point first, std::int64_t summed) {
  std::vector<second_row> rows;
  for (const auto& mail : sent) {
    const auto second = std::chrono::floor<std::chrono::seconds>(mail.at - first).count();
    if (second < 0) continue;
    while (static_cast<std::int64_t>(rows.size()) <= second + summed - 1)
      rows.push_back({static_cast<std::int64_t>(rows.size()), {}, {}});
    ++rows[static_cast<std::size_t>(second)].sent[mail.tenant];
    for (std::int64_t later = second; later < second + summed; ++later)
      ++rows[static_cast<std::size_t>(later)].summed[mail.tenant];
  }
  return rows;
}

std::string table_of(const std::vector<second_row>& rows, const std::vector<std::string>& tenants,
                     const std::function<std::string(std::int64_t)>& remark) {
  std::string names;
  for (const auto& tenant : tenants)
    names += padded(tenant, 9);
  names += "      all";
  std::string text =
      "second  sent in it" + std::string(names.size() - 12, ' ') + "   | of the window, this second its last\n";
  text += "      " + names + "   |" + names + "\n";
  for (const auto& row : rows)
    text += padded(std::to_string(row.second), 6) + cells(row.sent, tenants) + "   |" + cells(row.summed, tenants) +
            "   " + remark(row.second) + "\n";
  return text;
}

}  // namespace sample
