#include "storage/machine/script.hpp"

#include "storage/machine/linked_scripts.hpp"

namespace sluice::storage::machine {

const linked_script& of(script s) {
  static const auto all = [] {
    std::array<linked_script, script_count> made;
    for (std::size_t i = 0; i < script_count; ++i)
      made[i] = linked(static_cast<script>(i));
    return made;
  }();
  return all[static_cast<std::size_t>(s)];
}

}  // namespace sluice::storage::machine
