#include <array>

#include <sluice/error.hpp>

namespace sluice {
namespace {

struct row {
  errc code;
  std::string_view name;
  std::string_view sentence;
  bool is_transient;
};

constexpr std::array rows{
    row{errc::none, "none", "Nothing went wrong.", false},
    row{errc::invalid_argument, "invalid_argument", "A value is outside what is allowed.", false},
    row{errc::invalid_config, "invalid_config", "The configuration has faults; nothing was started.", false},
    row{errc::not_served, "not_served", "This version does not do that yet.", false},
    row{errc::too_large, "too_large", "A size limit was exceeded; nothing was stored.", false},
    row{errc::refused, "refused",
        "An enqueue filter refused the job, or another job of its enqueue_all was refused; nothing was stored.", false},
    row{errc::id_conflict, "id_conflict", "A job with this id and other content exists.", false},
    row{errc::unique_conflict, "unique_conflict", "Another job has the unique key of this one.", false},
    row{errc::group_closed, "group_closed", "The group was sealed or cancelled.", false},
    row{errc::not_found, "not_found", "There is no such job, queue, group, throttler or store.", false},
    row{errc::illegal_transition, "illegal_transition", "The job's state does not allow that.", false},
    row{errc::stale_fence, "stale_fence", "This run or lock is no longer yours; another may have it now.", false},
    row{errc::lock_held, "lock_held", "Another holds the lock.", true},
    row{errc::damaged_record, "damaged_record", "The stored record cannot be decoded; it is in quarantine.", false},
    row{errc::storage_full, "storage_full", "The store has no room; nothing was stored.", true},
    row{errc::storage_busy, "storage_busy", "Another process holds the store; nothing was stored.", true},
    row{errc::storage_unavailable, "storage_unavailable", "The store did not answer; nothing was stored.", true},
    row{errc::storage_lost, "storage_lost", "The store's file was removed or replaced.", false},
    row{errc::storage_damaged, "storage_damaged", "The store is damaged, or not one of Sluice's.", false},
    row{errc::storage_newer, "storage_newer", "The store has the layout of a newer version.", false},
    row{errc::storage_older, "storage_older", "The store has the layout of an older version.", false},
    row{errc::unknown_outcome, "unknown_outcome", "The store failed while committing: it may have happened.", true},
    row{errc::overloaded, "overloaded", "Too much is waiting for the store in this process.", true},
    row{errc::timed_out, "timed_out", "The deadline passed first.", true},
    row{errc::not_running, "not_running", "The server or client is stopped.", false},
    row{errc::io_error, "io_error", "The operating system refused.", false},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (static_cast<std::size_t>(rows[i].code) != i) return false;
  return true;
}
static_assert(in_order(), "one row for each code, in the order of the enum");

const row& row_of(errc code) noexcept {
  const auto at = static_cast<std::size_t>(code);
  return at < rows.size() ? rows[at] : rows[0];
}

}  // namespace

std::string_view describe(errc code) noexcept { return row_of(code).sentence; }
std::string_view name_of(errc code) noexcept { return row_of(code).name; }
bool is_transient(errc code) noexcept { return row_of(code).is_transient; }

bad_result::bad_result(sluice::error e) : std::logic_error(to_string(e)), error_(std::move(e)) {}
void throw_bad_result(const error& e) { throw bad_result(e); }

std::string to_string(const error& e) {
  std::string text(name_of(e.code));
  text += ": ";
  text += e.message.empty() ? std::string(describe(e.code)) : e.message;
  return text;
}

}  // namespace sluice
