// What is asked of a lock, and how the answer is told. What each means stands in <sluice/lock.hpp>.
#pragma once

#include "storage/locks.hpp"

namespace sluice::operations {

// invalid_argument says what is allowed.
result<storage::lock_request> checked(storage::lock_request asked);

// Of an answer that is no error of the store: who has it now, or who has it instead.
result<std::optional<lock_holder>> holder_after(const std::string& resource, const storage::lock_answer& got);

}  // namespace sluice::operations
