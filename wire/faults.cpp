#include "wire/faults.hpp"

#include "core/log.hpp"
#include "core/text.hpp"

namespace sluice::wire {

bool is_for_clients(errc code) {
  switch (code) {
    case errc::invalid_argument:
    case errc::not_served:
    case errc::too_large:
    case errc::refused:
    case errc::id_conflict:
    case errc::not_found:
    case errc::illegal_transition:
    case errc::stale_fence:
    case errc::lock_held:
    case errc::unique_conflict:
    case errc::group_closed:
    case errc::damaged_record:
    case errc::overloaded:
    case errc::timed_out: return true;
    default: return false;
  }
}

std::string told_of(const error& why) {
  if (!is_for_clients(why.code)) return std::string(describe(why.code));
  return bounded_utf8(log::redact(why.message), max_of_a_detail);
}

}  // namespace sluice::wire
