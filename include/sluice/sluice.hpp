/// Client, server, options, typed args and results. <sluice/dashboard.hpp>, <sluice/exec_key.hpp>, <sluice/testing.hpp>
/// and <sluice/actors.hpp> stand beside it.
#pragma once

#include <sluice/client.hpp>
#include <sluice/config.hpp>
#include <sluice/cron.hpp>
#include <sluice/job_graph.hpp>
#include <sluice/json.hpp>
#include <sluice/lock.hpp>
#include <sluice/log.hpp>
#include <sluice/server.hpp>
#include <sluice/stop_signal.hpp>
#include <sluice/version.hpp>
