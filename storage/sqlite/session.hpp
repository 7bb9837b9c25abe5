// What the transitions of one batch share: the connection, the instant, the growing number, lines and
// counts. One session is one transaction at a time.
#pragma once

#include <map>
#include <unordered_map>

#include "core/codec.hpp"
#include "core/job_state.hpp"
#include "storage/sqlite/database.hpp"
#include "storage/store.hpp"

namespace sluice::storage::sqlite {

enum class line_kind : std::uint8_t { main = 0, woken = 1, suspect = 2, type = 3 };

struct line {
  std::int64_t id = 0;
  std::string queue;
  line_kind kind = line_kind::main;
  std::string name;
};

// A job's row without its content.
struct job_row {
  std::int64_t seq = 0;
  job_id id;
  job_state state = job_state::enqueued;
  std::int64_t line = 0;
  std::int64_t pos = 0;
  std::uint32_t attempt = 0;
  std::uint32_t losses = 0;
  std::uint64_t fence = 0;
  std::uint64_t settled = 0;
  std::string server;
  std::int64_t lease = 0;
  std::uint64_t renewals = 0;
  std::int64_t started = 0;
  std::string progress;
  std::string took;
};

class session {
public:
  explicit session(database& connection) : db(connection) {}

  database& db;
  time_point now{};
  bool made_work = false;
  // Once that was asked, whether any job has an admission, and whether any waits for a throttler.
  std::optional<bool> admissions, waiters;

  std::int64_t now_us() const { return micros(now); }

  // The store's one growing number, below 2^53: at least now in µs, never the same twice.
  std::uint64_t draw();

  // The line, made when missing.
  std::int64_t line_id(const std::string& queue, line_kind kind, const std::string& name = {});
  // Nothing when there is no such line.
  std::optional<line> find_line(std::int64_t id);
  std::vector<line> lines_of(const std::string& queue);
  bool paused(const std::string& queue);

  // When the body of a running job began that had waited so long since its claim: not after now, wherever the clock
  // went.
  time_point began(const job_row& row, duration waited = {}) const {
    return from_micros(row.started) + std::min(waited, duration(now_us() - row.started));
  }

  // Where a job of a queue waits behind all others.
  std::int64_t tail_line(const std::string& queue, std::uint32_t losses) {
    return line_id(queue, is_suspect(losses) ? line_kind::suspect : line_kind::main);
  }

  void count(int state, std::int64_t line, std::int64_t by) { counted_[{state, line}] += by; }
  void count(job_state state, std::int64_t line, std::int64_t by) { count(static_cast<int>(state), line, by); }
  // How many permits of a resource are held.
  void count_held(const std::string& resource, std::int64_t by) { held_[resource] += by; }
  std::uint64_t held(const std::string& resource);
  // Waiters woken by this transaction and not claimed by it either, by queue: work for others.
  std::map<std::string, std::int64_t> woken;
  // Permits that came free and were not passed on yet, see pass_on_freed of admission.hpp.
  std::vector<std::string> freed;
  // Lines in which jobs are in `state`, with their numbers.
  std::vector<std::pair<std::int64_t, std::int64_t>> counted_lines(int state);

  // Moves a row to another place and keeps the counts.
  void move(const job_row& row, job_state to, std::int64_t line, std::int64_t pos);

  std::optional<job_row> find(const job_id& id);
  job assemble(const job_row& row, job_content content, job_progress progress);

  // A record that cannot be decoded: noted now, moved aside by `quarantine_damaged`.
  void damaged(std::int64_t seq) { damaged_.push_back(seq); }
  bool has_damaged() const { return !damaged_.empty(); }
  void quarantine_damaged();

  void begin(time_point at);
  void flush();   // before the commit: writes counts, permits held and the growing number
  void forget();  // after a rollback: nothing read in the transaction holds

private:
  std::optional<std::uint64_t> last_number_;
  bool drawn_ = false;
  std::map<std::pair<int, std::int64_t>, std::int64_t> counted_;
  std::map<std::string, std::int64_t> held_;  // as counted_, what is not written yet
  std::map<std::tuple<std::string, line_kind, std::string>, std::int64_t> line_ids_;
  std::unordered_map<std::int64_t, line> lines_;
  std::vector<std::int64_t> damaged_;
};

// The columns of `job_row` in the order that `read_row` expects.
#define SLUICE_JOB_COLUMNS \
  "seq,id,state,line,pos,attempt,losses,fence,settled,server,lease,renewals,started,progress,took"
job_row read_row(const query& q);

}  // namespace sluice::storage::sqlite
