/// All of Sluice that needs no actors of yours: client, server, options, typed args and results.
#pragma once

#include <sluice/client.hpp>
#include <sluice/config.hpp>
#include <sluice/cron.hpp>
#include <sluice/json.hpp>
#include <sluice/lock.hpp>
#include <sluice/log.hpp>
#include <sluice/server.hpp>
#include <sluice/stop_signal.hpp>
#include <sluice/version.hpp>
