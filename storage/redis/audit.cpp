#include "storage/redis/audit.hpp"

#include <functional>

#include "core/text.hpp"

namespace sluice::storage::redis {
namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto slice_patience = 10s;
constexpr std::size_t most_findings = 1'000;
constexpr int most_reloads = 3;  // of the script, each time Redis has forgotten it

class auditor {
public:
  auditor(connection& c, const exchange::shas& scripts, std::string prefix)
      : connection_(c), shas_(scripts), prefix_(std::move(prefix)) {}

  result<std::vector<std::string>> run() {
    for (const char* hash : {"jobs", "starts", "past", "admission", "taken", "locks", "places"})
      if (auto done = scan({"HSCAN", prefix_ + ":" + hash}, 2,
                           [&](const std::vector<std::string>& ids) { return look({hash}, ids); });
          !done)
        return done.error();
    for (const char* names : {"busy", "waiting", "reserved", "lock_ends", "firing"})
      if (auto done = scan({"ZSCAN", prefix_ + ":" + names}, 2,
                           [&](const std::vector<std::string>& members) { return look({names}, members); });
          !done)
        return done.error();
    std::vector<std::string> many;
    auto keys = scan({"SCAN"}, 1, [&](const std::vector<std::string>& found) {
      for (const auto& key : found)
        if (kind_of(key)) many.push_back(key);
      return look({"key"}, found);
    });
    if (!keys) return keys.error();
    for (const auto& key : many)
      if (const auto* kind = kind_of(key))
        if (auto done = scan({kind->command, key}, kind->stride,
                             [&](const std::vector<std::string>& found) {
                               return look({kind->look, key}, found);
                             });
            !done)
          return done.error();
    return std::move(findings_);
  }

private:
  using slice = std::function<result<void>(const std::vector<std::string>&)>;

  // Keys of which there are many, and how each is gone through.
  struct key_kind {
    const char* name;
    const char* look;
    const char* command = "ZSCAN";
    std::size_t stride = 2;
  };
  const key_kind* kind_of(const std::string& key) const {
    static constexpr key_kind kinds[] = {
        {"ready", "line"},
        {"woken", "line"},
        {"suspect", "line"},
        {"scheduled", "line"},
        {"processing", "line"},
        {"throttled", "line"},
        {"succeeded", "line"},
        {"failed", "line"},
        {"deleted", "line"},
        {"type", "line"},
        {"wait", "wait"},
        {"holders", "holders", "HSCAN"},
        {"waits", "waits", "SSCAN", 1},
    };
    for (const auto& kind : kinds)
      if (key.starts_with(prefix_ + ":" + kind.name + ":")) return &kind;
    return nullptr;
  }

  // Every `stride`th of what a SCAN tells, slice by slice.
  result<void> scan(const std::vector<std::string>& words, std::size_t stride, const slice& each) {
    std::string cursor = "0";
    do {
      command c;
      for (const auto& word : words)
        c.add(word);
      c.add(cursor);
      if (words.front() == "SCAN") c.add("MATCH").add(prefix_ + ":*");
      c.add("COUNT").add("100");
      auto got = ask(connection_, c, steady_clock::now() + slice_patience);
      if (!got) return got.error();
      const auto reply = got->root();
      if (reply.size() != 2) return error{errc::storage_damaged, "Redis answers a scan with something else"};
      cursor = reply[0].text();
      std::vector<std::string> found;
      for (std::size_t i = 0; i < reply[1].size(); i += stride)
        found.emplace_back(reply[1][i].text());
      if (found.empty()) continue;
      if (auto looked = each(found); !looked) return looked;
    } while (cursor != "0" && findings_.size() < most_findings);
    return {};
  }

  result<void> look(const std::vector<std::string>& what, const std::vector<std::string>& ids) {
    command c{"EVALSHA", shas_[static_cast<std::size_t>(machine::script::audit)], "1", prefix_, "", ""};
    for (const auto& word : what)
      c.add(word);
    for (const auto& id : ids)
      c.add(id);
    auto got = ask(connection_, c, steady_clock::now() + slice_patience);
    for (int tries = 0; !got && read_refusal(got.error().message).reload && tries < most_reloads; ++tries) {
      const command load{"SCRIPT", "LOAD", machine::text_of(machine::script::audit)};
      if (auto loaded = ask(connection_, load, steady_clock::now() + slice_patience); !loaded) return loaded.error();
      got = ask(connection_, c, steady_clock::now() + slice_patience);
    }
    if (!got) return got.error();
    const auto reply = got->root();
    for (std::size_t i = 0; i < reply.size(); ++i)
      findings_.push_back(printable(reply[i].text(), 500));
    return {};
  }

  connection& connection_;
  const exchange::shas& shas_;
  const std::string prefix_;
  std::vector<std::string> findings_;
};

}  // namespace

result<std::vector<std::string>> audit(connection& c, const exchange::shas& scripts, const std::string& prefix) {
  return auditor(c, scripts, prefix).run();
}

}  // namespace sluice::storage::redis
