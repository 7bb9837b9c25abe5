// What people and actors ask about throttlers, behind both doors. What each means, and its errors, stand in
// <sluice/client.hpp>.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <sluice/explanation.hpp>
#include <sluice/throttler_status.hpp>

#include "storage/courier.hpp"

namespace sluice::throttling {

using storage::courier;
using storage::told;

// Tells "KIND:name", by which the store knows it.
void set_throttler(const courier& store, const throttler& definition, const told<std::string>& then);
void remove_throttler(const courier& store, throttler_kind kind, const std::string& name,
                      const told<std::string>& then);
void all_throttlers(const courier& store, const told<std::vector<throttler_status>>& then);
void one_throttler(const courier& store, throttler_kind kind, const std::string& name,
                   const told<throttler_status>& then);
// `now`: the store's clock, looked at when the answer is there.
void explain_job(const courier& store, const job_id& id, const std::function<time_point()>& now,
                 const told<explanation>& then);

}  // namespace sluice::throttling
