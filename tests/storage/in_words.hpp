// What stores say, in words that are easy to compare.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "storage/store.hpp"

namespace sluice::test {

using names = std::vector<std::string>;

// Whatever an answer says, the store's own words too: what two stores that run the same scripts must say alike. Not of
// servers and schedules, which programs do not ask about.
std::string in_full(const storage::answer& a);
// What an answer promises, as the model says it too. Leases and open limiters are put in order, since theirs is not
// promised; and of the store's own words only is promised that there are some.
std::string in_words(const storage::answer& a);

// What stands for the store's own words.
inline const std::string stores_words = "(the store's words)";

// All that the store says about a job, to see that nothing of it changed; and what of that is promised.
std::string portrait(const job& j);
std::string face(job j);

std::string in_words(const storage::limiter_record& c);
std::string in_words(const group_status& g);
std::string in_words(const std::vector<parent_state>& parents);
std::string in_words(const std::optional<lock_holder>& held);
// Permits: "granted", "stale", or "parked", "busy" and "undefined" with a resource.
std::string in_words(const storage::acquire_permits_answer::verdict& one);
names in_words(const std::vector<storage::acquire_permits_answer::verdict>& each);
// "a" runs with its permit, "a reserved" was woken with it, "a kept" has it without running.
names in_words(const std::vector<storage::throttler_answer::holder>& holders);

}  // namespace sluice::test
