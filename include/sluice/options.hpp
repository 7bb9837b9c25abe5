/// What an operator may turn, as plain values. docs/configuration.md explains each key; a JSON file
/// is read into these by config/.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sluice/recurring.hpp>
#include <sluice/retry.hpp>
#include <sluice/throttling.hpp>
#include <sluice/types.hpp>
#include <sluice/unique.hpp>

namespace sluice {

using namespace std::chrono_literals;

/// What opening a store may do to it.
enum class open_mode : std::uint8_t {
  may_make,    ///< A store that is not there is made.
  must_exist,  ///< A store that is not there is not_found, and nothing is made.
  read_only,   ///< As must_exist; and nothing is ever written, so whatever would write is invalid_argument.
};

struct queue_options {
  std::uint32_t workers = 0;     ///< 1 to 1000. 0: special_queue_workers if named *-queue, else the usable processors.
  std::uint32_t prefetch = 256;  ///< 0 to 1000: most claimed ahead of free workers.
  retry_policy retry{};
  std::optional<duration> timeout{};
  std::optional<duration> start_within{}, finish_within{};  ///< As `new_job` has them, for jobs that say none.
};

struct type_options {
  queue_name queue{};  ///< Where jobs of this type go when the enqueuer names no queue.
  retry_policy retry{};
  std::optional<duration> timeout{};
  std::optional<duration> start_within{}, finish_within{};  ///< As `new_job` has them, for jobs that say none.
  std::optional<unique_rule> unique{};                      ///< The same.
  /// All of these must let a job in: `KIND:NAME`, where a mutex's name may be a template over args, as
  /// `mutex:order:{order_id}`. At most 8.
  std::vector<std::string> throttle{};
  throttle_action when_throttled = throttle_action::wait;
  duration throttle_delay = 1min;  ///< throttle_action::retry: 15 s to 1 day.
  /// Permits stay with the job until it is final, through its retries. Else they go back at the end of each run.
  bool strict = false;
  /// One at a time, of all servers on the store: whoever comes meanwhile waits, without a worker. An empty text: of
  /// this type. Else a template over args, and only jobs for which it comes out alike wait for each other:
  /// `{customer_id}`. It counts as one of `throttle`, and is the mutex `overlap:TYPE` or `overlap:TYPE/TEMPLATE`.
  std::optional<std::string> without_overlap{};
};

/// How long final jobs are kept. Whatever is exceeded first removes the oldest.
struct retention_rule {
  std::optional<duration> age{};
  std::optional<std::uint64_t> count{};
};

struct retention_options {
  retention_rule succeeded{duration(24h), 100'000};
  retention_rule failed{duration(24h * 30), std::nullopt};
  retention_rule deleted{duration(24h), 100'000};
  /// So much is kept in each of these states, over all queues: records and histories, and 200 bytes for each job.
  std::uint64_t bytes = 256ULL * 1024 * 1024;
};

/// What a user of the dashboard may do; each may do what stands before it, too.
enum class dashboard_role : std::uint8_t {
  viewer,     ///< Looks.
  operator_,  ///< Enqueues, requeues and deletes jobs, pauses queues and schedules, triggers schedules.
  admin,      ///< Defines throttlers and schedules.
};

struct dashboard_user {
  std::string name{};
  dashboard_role role = dashboard_role::viewer;
  /// The first line of the file, or the environment's variable, is the password of Basic and the token of Bearer: at
  /// least 8 bytes. Neither: whom only a proxy names.
  std::string secret_file{};
  std::string secret_variable{};
};

/// What is answered over HTTP (docs/dashboard.md): by <sluice/dashboard.hpp> or a configuration's `dashboard`.
struct dashboard_options {
  std::string listen = "localhost:8080";  ///< ADDRESS:PORT; localhost: both loopback addresses. Port 0: a free one.
  std::vector<std::string> hosts{};  ///< By which names it is reached besides; with ":PORT" or with that of listen.
  bool allow_changes = false;        ///< False: it only looks, whoever asks.
  /// Whether those who may enqueue here may enqueue commands (type `exec`), and schedules of them. Needs `users`.
  bool allow_exec = false;
  /// Whoever asks must be one of these. Empty: anybody who reaches it, which must then be a loopback address.
  std::vector<dashboard_user> users{};
  bool behind_tls_proxy = false;       ///< A proxy before it speaks TLS; else secrets are taken on loopback only.
  std::string user_header{};           ///< The header in which `proxies` name the user, who logged in there.
  std::vector<std::string> proxies{};  ///< Their addresses.
  /// Its first line stands in the header X-Proxy-Secret of what comes through them, whose `user_header` is not believed
  /// otherwise. Empty: whoever connects from such an address can be any user.
  std::string proxy_secret_file{};
  /// Of the store, for lists and jobs, whoever asks; beyond: 429, but for who has had less than his share of them, up
  /// to twice as many in all. 1 to 1000.
  std::uint32_t reads_a_second = 5;
  bool hide_args = false;            ///< No arguments, headers, results and error texts in any answer.
  bool store_metrics = true;         ///< /metrics tells of the store, too: of many processes one should.
  std::string metrics_token_file{};  ///< Its first line, as bearer token, reads /metrics without a user.
};

/// What `exec` jobs of `sluice work` may do; a server of yours registers handlers of its own. Where nothing is said it
/// is what the server may do.
struct exec_options {
  std::vector<std::string> allow{};  ///< The programs, by their whole paths. Empty: any.
  std::string user{};                ///< As whom; the server must be root then.
  std::string folder{};              ///< The working folder.
  /// Which variables of the server's environment they get, beside those of docs/configuration.md; "*": all.
  std::vector<std::string> variables{};
  /// Of each process of theirs.
  std::optional<duration> processor_time{};
  std::optional<std::uint64_t> memory_mib{};
  std::optional<std::uint64_t> file_mib{};  ///< How big a file may become that it writes.
  std::optional<std::uint64_t> open_files{};
  std::optional<std::uint64_t> processes{};  ///< Of the user, whoever started them.
  /// Whether they may gain rights by the program that they run: of another user (sudo, su), or of the file (ping).
  bool new_privileges = false;
  /// Jobs run only when they are signed with a key of this file (<sluice/exec_key.hpp>). The schedules of these options
  /// are signed with its first. Empty: any job runs.
  std::string key_file{};

  bool operator==(const exec_options&) const = default;
};

struct server_options {
  std::string storage = "sqlite:sluice.db";
  std::string server_name{};  ///< Empty: host name and pid.
  /// How long a run is held without renewal. Shorter: dead servers are noticed sooner. Longer:
  /// pauses cause fewer double runs. 1 s to 1 h.
  duration lease = 30s;
  duration renew_every{0};       ///< 0: a third of the lease. At most half of it.
  duration grace = 25s;          ///< How long running jobs may go on after `stop`. 0 to 1 h.
  std::uint32_t max_losses = 3;  ///< Lost runs after which a job is failed. 1 to 100.
  duration sweep_interval = 5s;  ///< How soon a lost wake-up is found. 100 ms to 1 min.
  std::uint32_t special_queue_workers = 1;
  /// That run handlers, of all queues together. When all are at work, queues claim in turn. 1 to 10,000. 0: 256, or
  /// as many as the queues that are named without a pattern have workers.
  std::uint32_t threads = 0;
  std::optional<duration> timeout{};  ///< Of one run, where nothing narrower says one.
  retry_policy retry{};
  retention_options retention{};
  durability require_durability = durability::volatile_;
  bool allow_exec = false;  ///< Whether `sluice work` runs `exec` jobs.
  exec_options exec{};
  /// Served queues by name, or by pattern with '*': one pool for each queue that matches.
  std::map<std::string, queue_options> queues{{"default", {}}};
  std::map<std::string, type_options> jobs{};
  /// Stored at the start of a server when they differ from what was stored last time; never removed by leaving them
  /// out.
  std::vector<throttler> throttlers{};
  /// Stored at the start of a server when they differ from what a configuration said of them last time.
  std::vector<sluice::recurring> recurring{};
  /// Whether the start of a server removes schedules that a configuration made and `recurring` does not name.
  bool prune_recurring = false;
  /// What `sluice work` answers over HTTP; a server of yours leaves that to <sluice/dashboard.hpp>.
  std::optional<dashboard_options> dashboard{};
};

}  // namespace sluice
