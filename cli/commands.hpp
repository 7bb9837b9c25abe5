// What each command does. All answer the exit code.
#pragma once

#include <sluice/client.hpp>

#include "cli/command_line.hpp"

namespace sluice::cli {

int check(const command& c);
int work(const command& c);
int serve_dashboard(const command& c);
int show_top(const command& c);
// jobs, errors, show, locks, log, queues, totals, servers, pause, resume; and those that follow
int inspect(const command& c);
// Tells that there is no such job, and what else is called so.
int no_job_here(client& store, const error& why, const std::string& id);
int enqueue(client& store, const command& c);
int enqueue_all(client& store, const command& c);
int groups(client& store, const command& c);
// requeue, delete, cancel
int change_jobs(client& store, const command& c);
// quarantine list, show, requeue, drop
int quarantine(client& store, const command& c);
// throttlers, throttler set, remove, show, holders, waiters; explain
int throttle(const command& c);
// recurring list, show, set, remove, trigger, pause, resume
int recurring_jobs(const command& c);
int audit(const command& c);
int upgrade(const command& c);
int show_cron(const command& c);
// completion, manual
int describe(const command& c);

}  // namespace sluice::cli
