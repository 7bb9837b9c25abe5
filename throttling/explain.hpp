// Why a job does not run, made of what a store says of it. Pure.
#pragma once

#include <sluice/explanation.hpp>

#include "storage/store.hpp"

namespace sluice::throttling {

// Of a job that was found; `now` by the store's clock.
explanation explain(const storage::explain_answer& seen, time_point now);

}  // namespace sluice::throttling
