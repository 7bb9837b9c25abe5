// Looks at all that is stored, slice by slice, each slice in one step: nothing that moves meanwhile looks wrong.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <sluice/error.hpp>

#include "storage/machine/call.hpp"
#include "storage/machine/reply.hpp"
#include "storage/store.hpp"

namespace sluice::storage::machine {

// Carries out one call and has its answer read before it returns.
using asking = std::function<result<void>(call c, const std::function<void(const item&)>& read)>;

// After so many it stops, and says so.
inline constexpr std::size_t max_findings = 1'000;
inline constexpr const char* words_for_more = "there may be more; nothing else was looked at";
// The repair goes on, and tells no more than so many of what it leaves.
inline constexpr const char* words_for_more_left = "there is more that cannot be mended";
// It may find something in each pass, when what it does about it does not last.
inline constexpr int max_passes = 20;
inline constexpr const char* words_for_more_passes = "there may be more to mend; the last pass still found something";

// No more than these, and a sentence that says so.
void cut_findings(std::vector<std::string>& findings);

// What should not be, as sentences.
result<std::vector<std::string>> audit(const asking& ask);
// The same, and what can be mended is: it goes through all until a pass has nothing to mend.
result<void> repair(const asking& ask, const telling& tell);

}  // namespace sluice::storage::machine
