// The built-in job type `exec`: runs a command. Args: {"argv": ["tar", "cf", …], "timeout": "30s",
// "env": {"NAME": "value"}}. The command is a process group of its own, without a shell. Its output (stdout and stderr
// together, a byte that is no UTF-8 as \xNN, at most 64 KiB and then a mark) is the job's result; an exit other than 0
// is a failure, and args that say nothing runnable, or a program that is not allowed, are one that is not retried. The
// group is killed at the timeout, when the job is asked to stop, and when this process dies.
#pragma once

#include <string>
#include <vector>

#include <sluice/handler.hpp>
#include <sluice/options.hpp>

#include "cli/exec/guard.hpp"

namespace sluice::exec {

// `watch` must outlive the handler. An error names what of the options cannot be: a user, a folder, a key file. No
// command gets the variables of the server's environment that `secrets` names.
result<handler> make_handler(guard& watch, const exec_options& options, const std::vector<std::string>& secrets);

// Why a job with these args would fail wherever it runs; empty: it would not.
std::string fault_of_args(const std::string& args);

// Allowed programs that cannot be run on this machine, and schedules whose jobs would fail, a sentence for each.
std::vector<std::string> doubts_of(const server_options& options);

}  // namespace sluice::exec
