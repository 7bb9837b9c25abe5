// What goes round the transitions of one batch.
#include "core/log.hpp"
#include "core/text.hpp"
#include "storage/machine/transitions.hpp"

namespace sluice::storage::machine {

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
    std::visit(
        [&](const auto& one) {
          if constexpr (!std::is_same_v<decltype(one), const enqueue_request&>) ask(x, one, answers[i]);
        },
        batch[i]);
    ++i;
  }
  return joined;
}

std::vector<enqueue_part> spoilt(const std::vector<enqueue_part>& joined) {
  std::vector<enqueue_part> again;
  for (const auto& part : joined)
    if (const auto* failed = std::get_if<error>(part.into); failed && failed->code == errc::storage_damaged)
      again.push_back(part);
  return again;
}

std::vector<std::string> keys_of_work(const call& c, std::string_view prefix) {
  std::vector<std::string> keys;
  if (c.what() == script::claim)
    for (const auto* line : {"ready", "woken", "suspect", "types"})
      keys.push_back(cat(prefix, ":", line, ":", c[1]));
  return keys;
}

void put_aside(steps& x, const std::vector<steps::broken_record>& broken) {
  call c(script::put_aside);
  for (const auto& b : broken) {
    log::error("the record of job ", b.id, " cannot be decoded; its bytes are kept in quarantine");
    c.add(b.id).add(b.record).add(b.past);
  }
  x.send(
      std::move(c), [](const item&) {}, [](const error&) {});
}

}  // namespace sluice::storage::machine
