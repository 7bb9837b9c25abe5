#include "storage/machine/reply.hpp"

#include <charconv>

#include "core/never_destroyed.hpp"

namespace sluice::storage::machine {

item reply::root() const { return {*this, 0}; }

item item::operator[](std::size_t i) const {
  static const auto& nothing = *never_destroyed<reply>();
  return i < size() ? item(*all_, static_cast<std::size_t>(at().number) + i) : nothing.root();
}

std::string_view item::text() const {
  if (at().what != reply::kind::text && at().what != reply::kind::error) return {};
  return {at().text, at().size};
}

std::int64_t item::number() const {
  if (at().what == reply::kind::number) return at().number;
  std::int64_t n = 0;
  const auto said = text();
  std::from_chars(said.data(), said.data() + said.size(), n);
  return n;
}

}  // namespace sluice::storage::machine
