// What goes round the transitions of one batch.
#include <charconv>

#include "core/log.hpp"
#include "core/text.hpp"
#include "storage/machine/transitions.hpp"

namespace sluice::storage::machine {
namespace {

// A named one: the name of a lambda would hold those of all requests and answers, once for each.
struct asking_one {
  steps& x;
  answer& into;

  void operator()(const enqueue_request&) const {}  // are asked together
  template <class Request>
  void operator()(const Request& r) const {
    ask(x, r, into);
  }
};

}  // namespace

std::vector<enqueue_part> ask_all(steps& x, std::span<const request> batch, std::span<answer> answers) {
  std::vector<enqueue_part> joined;
  for (std::size_t i = 0; i < batch.size();) {
    std::vector<enqueue_part> together;
    for (; i < batch.size() && std::holds_alternative<enqueue_request>(batch[i]); ++i)
      together.push_back({&std::get<enqueue_request>(batch[i]), &answers[i]});
    if (!together.empty()) {
      ask(x, together);
      if (together.size() > 1) joined.insert(joined.end(), together.begin(), together.end());
      continue;
    }
    std::visit(asking_one{x, answers[i]}, batch[i]);
    ++i;
  }
  return joined;
}

std::vector<enqueue_part> to_retry_singly(const std::vector<enqueue_part>& joined) {
  std::vector<enqueue_part> again;
  for (const auto& part : joined)
    if (const auto* failed = std::get_if<error>(part.into); failed && failed->code == errc::storage_damaged)
      again.push_back(part);
  return again;
}

std::vector<std::string> keys_of_work(const call& c, std::string_view prefix) {
  std::vector<std::string> keys;
  if (c.what() == verb::claim)
    for (const auto* line : {"ready", "front", "suspect", "types"})
      keys.push_back(cat(prefix, ":", line, ":", c[1]));
  return keys;
}

std::optional<error> unknown_layout(std::string_view said, std::string_view store) {
  constexpr std::string_view begin = "LAYOUT ";
  const auto at = said.find(begin);
  if (at == std::string_view::npos) return std::nullopt;
  const auto words = said.substr(at + begin.size());
  const auto last = words.rfind(' ');
  const auto number = [](std::string_view word) {
    std::uint64_t n = 0;
    const auto end = std::from_chars(word.data(), word.data() + word.size(), n).ptr;
    return word.starts_with('0') || end != word.data() + word.size() ? 0 : n;
  };
  const auto its = number(words.substr(0, last)), ours = number(words.substr(last + 1));
  if (its == 0)
    return error{errc::storage_damaged, cat("what stands in ", store, " is not Sluice's; it was left as it is")};
  return layout_error(store, its, ours);
}

error layout_error(std::string_view store, std::uint64_t found, std::uint64_t known) {
  if (found > known)
    return {errc::storage_newer, cat(store, " has layout ", found, ", of a newer Sluice; this version knows layout ",
                                     known, ". Nothing was touched: end this program and start it with the newer one")};
  if (found < first_layout)
    return {errc::storage_older,
            cat(store, " has layout ", found, ", of a Sluice before its first release; this version knows layout ",
                known, ". It was left as it is: finish its jobs with the older version, or name another store")};
  return {errc::storage_older,
          cat(store, " has layout ", found, ", of an older Sluice; this version knows layout ", known,
              ". It was left as it is: `sluice upgrade` raises it, and so does the first server of this version when "
              "none of the older works on it any more")};
}

void leave_broken(const std::vector<steps::broken_record>& broken) {
  for (const auto& b : broken)
    log::error("the record of job ", b.id, " cannot be decoded; it was left where it is");
}

error only_read(std::string_view store) { return {errc::invalid_argument, cat(store, " was opened to look only")}; }

void move_to_quarantine(steps& x, const std::vector<steps::broken_record>& broken) {
  // Each by itself: what keeps one of them from it must not keep the others.
  for (const auto& b : broken) {
    log::error("the record of job ", b.id, " cannot be decoded; its bytes are kept in quarantine");
    call c(verb::move_to_quarantine);
    c.add(b.id).add(b.record).add(b.history);
    x.send(
        std::move(c), [&x](const item& reply) { x.made_work.add_encoded(reply.text()); }, [](const error&) {});
  }
}

}  // namespace sluice::storage::machine
