// Cells, slots, and when lines open. What windows let in is counted beside it, by what they promise.
#include "core/text.hpp"
#include "core/throttlers.hpp"
#include "storage/model.hpp"

namespace sluice::test {

using enum job_state;

std::string line_for(const std::string& cell, const job_id& id) {
  if (kind_of(cell) != throttler_kind::dynamic_window) return cell;
  return cell + (id.value < "d" ? "/x" : "/y");
}

storage::cell_answer model::apply(const storage::cell_request& r) const { return {view(r.cell)}; }

storage::cell_view model::view(const std::string& cell) const {
  storage::cell_view seen;
  seen.now = clock_.now();
  if (const auto known = cells_.find(cell); known != cells_.end()) {
    seen.version = known->second.version;
    seen.state = known->second.state;
  }
  if (const auto known = definitions_.find(cell); known != definitions_.end()) seen.definition = known->second.text;
  std::set<std::string> lines;
  for (const auto& [id, j] : jobs_)
    if (j.seen.state == throttled && (j.seen.line == cell || j.seen.line.starts_with(cell + "/")))
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

storage::swap_answer model::apply(const storage::swap_request& r) {
  storage::swap_answer answer;
  auto& cell = cells_[r.cell];
  answer.swapped = cell.version == r.version && r.from <= clock_.now() && clock_.now() < r.until;
  if (answer.swapped) {
    count(r);
    ++cell.version;
    cell.state = r.state;
    for (const auto& p : r.parks)
      answer.parked.push_back(park_one(p));
    for (const auto& start : r.let_in)
      answer.let_in.push_back(running(start) ? errc::none : errc::stale_fence);
    for (const auto& w : r.wakes) {
      auto line = waiters(w.resource);
      line.resize(std::min<std::size_t>(line.size(), w.count));
      for (auto* j : line) {
        wake(*j);
        j->slots[w.resource] = r.until;
      }
      answer.woken += line.size();
    }
    for (const auto& o : r.openings)
      open_at(o, r.until);
  }
  answer.cell = view(r.cell);
  return answer;
}

storage::take_answer::one model::park_one(const storage::swap_request::park& asked) {
  using enum admission;
  auto* j = find(asked.start.id);
  if (!j || asked.start.fence.value == 0 || j->seen.fence != asked.start.fence) return {gone, ""};
  if (j->seen.state == throttled) return {parked, j->seen.line};
  if (j->seen.state != processing) return {gone, ""};
  park(*j, asked.resource, {});
  return {parked, asked.resource};
}

// Nobody need look at a line in which nobody waits. Whoever was not seen is looked at again: at once, or when their
// queues have had this step's time to run again.
void model::open_at(const storage::swap_request::opening& o, time_point until) {
  moved_openings_ = true;
  if (waiting_in(o.resource, false) == 0) openings_.erase(o.resource);
  else openings_[o.resource] = o.at ? *o.at : stands_still(o.resource) ? until : clock_.now();
}

// A line that stands still when it opens loses its opening, unless enough others are in front of it.
names model::open_cells(const storage::promote_request& r) {
  std::vector<std::pair<time_point, std::string>> lines;
  for (const auto& [line, at] : openings_)
    if (at <= clock_.now()) lines.emplace_back(at, line);
  std::sort(lines.begin(), lines.end());
  std::set<std::string> cells;
  std::uint32_t open = 0;
  for (const auto& [at, line] : lines) {
    if (open == r.limit) break;
    if (stands_still(line)) {
      openings_.erase(line);
      continue;
    }
    cells.insert(line.substr(0, line.find('/')));
    ++open;
  }
  return {cells.begin(), cells.end()};
}

// What was decided by another definition is not carried out, and who waits is looked at again.
void model::redefine_window(const std::string& cell, bool changed) {
  if (changed) ++cells_[cell].version;
  for (const auto& [id, j] : jobs_)
    if (j.seen.state == throttled && (j.seen.line == cell || j.seen.line.starts_with(cell + "/"))) {
      openings_[j.seen.line] = clock_.now();
      moved_openings_ = true;
    }
}

// Its count ends with it, but no version of it comes again.
void model::forget_window(const std::string& cell, bool was_defined) {
  if (auto& known = cells_[cell]; was_defined || !known.state.empty()) {
    ++known.version;
    known.state.clear();
  }
  counted_.erase(cell);
  std::erase_if(openings_, [&](const auto& o) { return o.first == cell || o.first.starts_with(cell + "/"); });
}

names model::admitted(const known_job& j) const {
  auto all = permits_of(j);
  for (const auto& [resource, until] : j.slots)
    all.push_back(resource);
  std::sort(all.begin(), all.end());
  return all;
}

// Of a window that is defined: a custom throttler lets in whom it likes.
void model::count(const storage::swap_request& r) {
  const auto known = definitions_.find(r.cell);
  if (known == definitions_.end()) return;
  const auto key_of = [&](const std::string& line) { return line.substr(std::min(line.size(), r.cell.size())); };
  std::map<std::string, std::uint64_t> let_in;
  for (const auto& w : r.wakes)
    let_in[key_of(w.resource)] += w.count;
  for (const auto& start : r.let_in)
    let_in[key_of(line_for(r.cell, start.id))] += 1;
  counted_[r.cell].step(read_throttler(known->second.text).value(), clock_.now(), let_in, !r.parks.empty());
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
