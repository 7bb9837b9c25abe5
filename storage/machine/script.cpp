#include "storage/machine/script.hpp"

#include "storage/machine/linked_scripts.hpp"

namespace sluice::storage::machine {

const edition& current_edition() {
  static const auto made = [] {
    edition all{layout, {}};
    for (std::size_t i = 0; i < script_count; ++i)
      all.scripts[i] = linked(static_cast<script>(i));
    return all;
  }();
  return made;
}

}  // namespace sluice::storage::machine
