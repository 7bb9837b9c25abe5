// Cells, slots, and when lines open. What windows let in is counted beside it, by what they promise.
#include "core/text.hpp"
#include "core/throttlers.hpp"
#include "storage/model.hpp"

namespace sluice::test {

using enum job_state;

std::string line_for(const std::string& limiter, const job_id& id) {
  if (kind_of(limiter) != throttler_kind::dynamic_window) return limiter;
  return limiter + (id.value < "d" ? "/x" : "/y");
}

storage::read_limiter_answer model::apply(const storage::read_limiter_request& r) const { return {view(r.limiter)}; }

storage::limiter_record model::view(const std::string& limiter) const {
  storage::limiter_record seen;
  seen.now = clock_.now();
  if (const auto known = limiters_.find(limiter); known != limiters_.end()) {
    seen.version = known->second.version;
    seen.state = known->second.state;
  }
  if (const auto known = definitions_.find(limiter); known != definitions_.end()) seen.definition = known->second.text;
  std::set<std::string> lines;
  for (const auto& [id, j] : jobs_)
    if (j.seen.state == throttled && (j.seen.line == limiter || j.seen.line.starts_with(limiter + "/")))
      lines.insert(j.seen.line);
  for (const auto& line : lines)
    if (const auto n = waiting_in(line, true); n > 0) seen.lines.push_back({line, n});
  return seen;
}

std::uint64_t model::waiting_in(const std::string& resource, bool running) const {
  return static_cast<std::uint64_t>(std::count_if(jobs_.begin(), jobs_.end(), [&](const auto& one) {
    const auto& j = one.second.seen;
    return j.state == throttled && j.line == resource && !(running && paused_.contains(j.queue.value));
  }));
}

bool model::stands_still(const std::string& resource) const {
  return waiting_in(resource, false) > 0 && waiting_in(resource, true) == 0;
}

storage::update_limiter_answer model::apply(const storage::update_limiter_request& r) {
  storage::update_limiter_answer answer;
  auto& limiter = limiters_[r.limiter];
  answer.updated = limiter.version == r.version && r.from <= clock_.now() && clock_.now() < r.until;
  if (answer.updated) {
    count(r);
    ++limiter.version;
    limiter.state = r.state;
    begin_step();
    for (const auto& p : r.parks)
      if (auto* j = running(p.run); j && j->asked_to_end) end_before_begin(*j);
    end_step();
    for (const auto& p : r.parks)
      answer.parked.push_back(park_one(p));
    for (const auto& run : r.let_in)
      answer.let_in.push_back(running(run) ? errc::none : errc::stale_fence);
    for (const auto& w : r.wakes) {
      auto line = waiters(w.resource);
      line.resize(std::min<std::size_t>(line.size(), w.count));
      for (auto* j : line) {
        wake(*j);
        j->slots[w.resource] = r.until;
      }
      answer.woken += line.size();
    }
    for (const auto& o : r.next_checks)
      open_at(o, r.until);
  }
  answer.limiter = view(r.limiter);
  return answer;
}

storage::acquire_permits_answer::verdict model::park_one(const storage::update_limiter_request::park& asked) {
  using enum admission;
  auto* j = find(asked.run.id);
  if (!j || asked.run.fence.value == 0 || j->seen.fence != asked.run.fence) return {stale, ""};
  if (j->seen.state == throttled) return {parked, j->seen.line};
  if (j->seen.state != processing) return {stale, ""};
  park(*j, asked.resource, {});
  return {parked, asked.resource};
}

// Nobody need look at a line in which nobody waits. Whoever was not seen is looked at again: at once, or when their
// queues have had this step's time to run again.
void model::open_at(const storage::update_limiter_request::next_check& o, time_point until) {
  moved_checks_ = true;
  if (waiting_in(o.resource, false) == 0) next_checks_.erase(o.resource);
  else next_checks_[o.resource] = o.at ? *o.at : stands_still(o.resource) ? until : clock_.now();
}

// A line that stands still when it opens loses its next check, unless enough others are in front of it.
names model::open_limiters(const storage::promote_request& r) {
  std::vector<std::pair<time_point, std::string>> lines;
  for (const auto& [line, at] : next_checks_)
    if (at <= clock_.now()) lines.emplace_back(at, line);
  std::sort(lines.begin(), lines.end());
  std::set<std::string> limiters;
  std::uint32_t open = 0;
  for (const auto& [at, line] : lines) {
    if (open == r.limit) break;
    if (stands_still(line)) {
      next_checks_.erase(line);
      continue;
    }
    limiters.insert(line.substr(0, line.find('/')));
    ++open;
  }
  return {limiters.begin(), limiters.end()};
}

// What was decided by another definition is not carried out, and who waits is looked at again.
void model::redefine_window(const std::string& limiter, bool changed) {
  if (changed) ++limiters_[limiter].version;
  for (const auto& [id, j] : jobs_)
    if (j.seen.state == throttled && (j.seen.line == limiter || j.seen.line.starts_with(limiter + "/"))) {
      next_checks_[j.seen.line] = clock_.now();
      moved_checks_ = true;
    }
}

// Its count ends with it, but no version of it comes again.
void model::forget_window(const std::string& limiter, bool was_defined) {
  if (auto& known = limiters_[limiter]; was_defined || !known.state.empty()) {
    ++known.version;
    known.state.clear();
  }
  counted_.erase(limiter);
  std::erase_if(next_checks_, [&](const auto& o) { return o.first == limiter || o.first.starts_with(limiter + "/"); });
}

names model::admitted(const stored_job& j) const {
  auto all = permits_of(j);
  for (const auto& [resource, until] : j.slots)
    all.push_back(resource);
  std::sort(all.begin(), all.end());
  return all;
}

// Of a window that is defined: a custom throttler lets in whom it likes.
void model::count(const storage::update_limiter_request& r) {
  const auto known = definitions_.find(r.limiter);
  if (known == definitions_.end()) return;
  const auto key_of = [&](const std::string& line) { return line.substr(std::min(line.size(), r.limiter.size())); };
  std::map<std::string, std::uint64_t> let_in;
  for (const auto& w : r.wakes)
    let_in[key_of(w.resource)] += w.count;
  for (const auto& run : r.let_in)
    let_in[key_of(line_for(r.limiter, run.id))] += 1;
  counted_[r.limiter].step(read_throttler(known->second.text).value(), clock_.now(), let_in, !r.parks.empty());
}

// --- Windows by the book.

std::uint64_t window_count::summed(std::int64_t first_bucket, const std::string* key) const {
  std::uint64_t n = 0;
  for (const auto& s : all_)
    if (s.bucket >= first_bucket && (!key || s.key == *key)) n += s.count;
  return n;
}

void window_count::step(const throttler& by, time_point now, const std::map<std::string, std::uint64_t>& let_in,
                        bool denied) {
  const bool is_fixed = by.kind == throttler_kind::fixed_window;
  const std::int64_t buckets = is_fixed ? 1 : by.buckets;
  const auto width = by.interval.count() / buckets;
  const auto spans = is_fixed ? 0 : buckets;  // one more than an interval has
  const auto bucket = micros(now) / width;
  // Set back by more than all that counts and an interval: then nothing is known, and an interval is waited.
  if (newest_ && *newest_ * width - micros(now) > (spans + buckets) * width) {
    all_.clear();
    newest_.reset();
    full_until_ = micros(now) + buckets * width;
  }
  newest_ = std::max(newest_.value_or(bucket), bucket);
  const auto stands = std::max<std::int64_t>(micros(now), *newest_ * width);
  const bool full = full_until_ && stands < *full_until_;
  const bool keyed = by.kind == throttler_kind::dynamic_window;
  const auto oldest = *newest_ - spans;
  for (const auto& [key, n] : let_in) {
    if (n == 0) continue;
    if (full) throw std::runtime_error(by.name + " let somebody in before its interval was over");
    all_.push_back({*newest_, key, n});
    if (summed(oldest, &key) > (keyed ? by.max_limit : by.limit))
      throw std::runtime_error(cat(by.name, key, " let in ", summed(oldest, &key)));
  }
  if (keyed && summed(oldest, nullptr) > by.capacity && !let_in.empty())
    throw std::runtime_error(cat(by.name, " let in ", summed(oldest, nullptr), " in all"));
  if (!keyed && denied && !full && summed(oldest, nullptr) < by.limit)
    throw std::runtime_error(by.name + " deferred somebody although there was room");
}

}  // namespace sluice::test
