#include <charconv>

#include "core/text.hpp"
#include "storage/machine/transitions.hpp"

namespace sluice::storage::machine {

call raise_from(std::uint64_t by_tables) {
  call c(verb::raise);
  c.add(by_tables > 0 ? std::to_string(by_tables) : std::string());
  return c;
}

raising read_raising(const item& reply, std::uint64_t known) {
  raising said;
  said.to = known;
  const auto found = reply[0].text();
  std::from_chars(found.data(), found.data() + found.size(), said.from);
  for (std::size_t i = 1; i < reply.size(); ++i)
    said.waits_for.emplace_back(reply[i].text());
  return said;
}

}  // namespace sluice::storage::machine
