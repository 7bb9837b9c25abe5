// Where a job is asked for and there is none: what else is called so.
#pragma once

#include <sluice/client.hpp>

#include "core/text.hpp"

namespace sluice {

// "there is no job sweep; a schedule is called so: AT_SCHEDULE"; or a group.
inline error or_namesake(client& store, error why, const std::string& name, const std::string& at_schedule,
                         const std::string& at_group) {
  if (why.code != errc::not_found) return why;
  if (store.recurring_job(name)) why.message += cat("; a schedule is called so: ", at_schedule);
  else if (store.group(group_name(name))) why.message += cat("; a group is called so: ", at_group);
  return why;
}

}  // namespace sluice
