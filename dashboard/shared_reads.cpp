#include "dashboard/shared_reads.hpp"

#include <algorithm>
#include <set>

#include "core/log.hpp"
#include "dashboard/problem.hpp"

namespace sluice::web {
namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto shared_for = 1s;
constexpr auto kept_for = 5s;  // for those who ask while it is read anew
constexpr std::size_t max_kept = 8, max_bytes_kept = 8 * 1024 * 1024;
constexpr auto timeout = 2s;  // with who reads the same

}  // namespace

http_response shared_reads::get(const std::string& question, const std::string& who,
                                const std::function<http_response()>& read) {
  std::unique_lock hold(mutex_);
  const auto now = steady_clock::now();
  forget_old(now);
  const auto same = std::find_if(known_.begin(), known_.end(), [&](const auto& e) { return e->question == question; });
  const auto one = same == known_.end() ? std::make_shared<entry>(entry{question}) : *same;
  if (one->said && now - one->read_at <= (one->is_being_read ? kept_for : shared_for)) return *one->said;
  if (one->is_being_read) {
    if (waiting_ == max_waiting) return problem(503, "others wait for the same answer; ask again");
    ++waiting_;
    const bool is_there = read_.wait_for(hold, timeout, [&] { return !one->is_being_read; });
    --waiting_;
    return is_there && one->said ? *one->said : problem(errc::timed_out, "the store is slow; ask again");
  }
  if (!may_read(who, now)) return problem(errc::overloaded, "the store is asked often enough; ask again in a second");
  if (same != known_.end()) known_.erase(same);
  known_.push_front(one);
  one->is_being_read = true;
  hold.unlock();
  http_response said;
  try {
    said = read();
  } catch (const std::exception& thrown) {
    log::error("a request could not be answered: ", message_of(thrown));
    said = problem(500, "the answer could not be made");
  } catch (...) {
    said = problem(500, "the answer could not be made");
  }
  hold.lock();
  one->is_being_read = false;
  one->said = said;
  one->read_at = now;
  if (said.status == 400 && !reads_.empty()) reads_.pop_back();  // a wrong question is no read
  if (said.status >= 500) known_.remove(one);                    // those who wait are told; who comes next reads anew
  read_.notify_all();
  return said;
}

void shared_reads::forget_all() {
  std::lock_guard hold(mutex_);
  known_.clear();  // who waits for an answer holds it
}

bool shared_reads::may_read(const std::string& who, steady_point now) {
  while (!reads_.empty() && now - reads_.front().at >= 1s)
    reads_.pop_front();
  std::set<std::string_view> askers{who};
  std::size_t own = 0;
  for (const auto& one : reads_) {
    askers.insert(one.who);
    own += one.who == who ? 1 : 0;
  }
  const auto share = std::max<std::size_t>(1, max_reads_ / askers.size());
  if (reads_.size() >= 2 * std::size_t{max_reads_} || (reads_.size() >= max_reads_ && own >= share)) return false;
  reads_.push_back({now, who});
  return true;
}

void shared_reads::forget_old(steady_point now) {
  std::size_t kept = 0, bytes = 0;
  known_.remove_if([&](const auto& e) {
    if (!e->said || e->is_being_read) return false;
    bytes += e->said->body.size();
    return now - e->read_at > kept_for || ++kept > max_kept || bytes > max_bytes_kept;
  });
}

}  // namespace sluice::web
