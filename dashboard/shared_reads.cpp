#include "dashboard/shared_reads.hpp"

#include <algorithm>

#include "dashboard/problem.hpp"

namespace sluice::web {
namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto shared_for = 1s;
constexpr std::size_t most_kept = 8;  // pages of up to some 4 MiB
constexpr auto patience = 10s;        // with who reads the same

}  // namespace

http_response shared_reads::get(const std::string& question, const std::function<http_response()>& read) {
  std::unique_lock hold(mutex_);
  const auto now = steady_clock::now();
  forget_old(now);
  const auto same = std::find_if(known_.begin(), known_.end(), [&](const auto& e) { return e->question == question; });
  if (same != known_.end()) {
    const auto theirs = *same;
    if (theirs->is_read) return theirs->said;
    if (waiting_ == most_waiting) return problem(503, "others wait for the same answer; ask again");
    ++waiting_;
    const bool is_there = read_.wait_for(hold, patience, [&] { return theirs->is_read; });
    --waiting_;
    return is_there ? theirs->said : problem(errc::timed_out, "the store is slow; ask again");
  }
  if (!may_read(now)) return problem(errc::overloaded, "the store is asked often enough; ask again in a second");
  const auto mine = std::make_shared<entry>(entry{question, now});
  known_.push_front(mine);
  hold.unlock();
  http_response said;
  try {
    said = read();
  } catch (...) {
    said = problem(500, "the answer could not be made");
  }
  hold.lock();
  mine->said = said;
  mine->is_read = true;
  read_.notify_all();
  return said;
}

void shared_reads::forget_all() {
  std::lock_guard hold(mutex_);
  known_.clear();  // who waits for an answer holds it
}

bool shared_reads::may_read(steady_point now) {
  const std::chrono::duration<double> since = now - counted_at_;
  allowed_ = std::min(rate_, allowed_ + since.count() * rate_);
  counted_at_ = now;
  if (allowed_ < 1) return false;
  allowed_ -= 1;
  return true;
}

void shared_reads::forget_old(steady_point now) {
  std::size_t kept = 0;
  known_.remove_if([&](const auto& e) { return e->is_read && (now - e->began > shared_for || ++kept > most_kept); });
}

}  // namespace sluice::web
