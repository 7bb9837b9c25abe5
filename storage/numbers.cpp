#include "storage/numbers.hpp"

#include <algorithm>

#include "core/per_process.hpp"

namespace sluice::storage {
namespace {

constexpr const char* others = "other";

std::size_t place_of(run_end end) {
  if (end == run_end::given_up) end = run_end::failed;
  return static_cast<std::size_t>(std::find(end_kinds.begin(), end_kinds.end(), end) - end_kinds.begin());
}

template <class... Requests>
constexpr std::array<std::string_view, sizeof...(Requests)> names_in(const std::variant<Requests...>*) {
  return {Requests::request_name...};
}
constexpr auto request_names = names_in(static_cast<const request::variant*>(nullptr));

void add(tally& to, std::uint64_t n) { to.fetch_add(n, std::memory_order_relaxed); }

std::uint64_t count_of(const std::vector<errc>& each, errc code) {
  return static_cast<std::uint64_t>(std::count(each.begin(), each.end(), code));
}

}  // namespace

void histogram::add(duration value, std::uint64_t times) {
  const auto at = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
  counts_[static_cast<std::size_t>(at)].fetch_add(times, std::memory_order_relaxed);
  sum_.fetch_add(value.count() * static_cast<std::int64_t>(times), std::memory_order_relaxed);
}

histogram::seen histogram::look() const {
  seen all{bounds_, {}, static_cast<double>(sum_.load(std::memory_order_relaxed)) / 1e6};
  for (const auto& n : counts_)
    all.counts.push_back(n.load(std::memory_order_relaxed));
  return all;
}

numbers& numbers::here() {
  static constinit per_process<numbers> all;  // for ever: threads that outlive main may count
  return all.here();
}

template <class Numbers>
Numbers& by_name<Numbers>::of(const std::string& name) {
  std::lock_guard hold(mutex_);
  auto known = known_.find(name);
  if (known == known_.end()) {
    has_others_ = has_others_ || known_.size() >= most_;
    auto made = std::make_unique<Numbers>();
    known = known_.try_emplace(has_others_ ? std::string(others) : name, std::move(made)).first;
  }
  return *known->second;
}

template <class Numbers>
std::vector<std::pair<std::string, const Numbers*>> by_name<Numbers>::all() const {
  std::lock_guard hold(mutex_);
  std::vector<std::pair<std::string, const Numbers*>> found;
  for (const auto& [name, of_it] : known_)
    found.emplace_back(name, of_it.get());
  return found;
}

template <class Numbers>
bool by_name<Numbers>::has_others() const {
  std::lock_guard hold(mutex_);
  return has_others_;
}

template class by_name<queue_numbers>;
template class by_name<type_numbers>;

std::vector<std::pair<std::string_view, std::uint64_t>> numbers::requests() const {
  std::vector<std::pair<std::string_view, std::uint64_t>> all;
  for (std::size_t i = 0; i < requests_.size(); ++i)
    all.emplace_back(request_names[i], requests_[i].load(std::memory_order_relaxed));
  return all;
}

std::map<std::string, std::uint64_t> numbers::errors() const {
  std::lock_guard hold(mutex_);
  return errors_;
}

void numbers::note(std::span<const request> asked, std::span<const answer> got, duration took) {
  commits.add(took);
  add(requests_in_commits, asked.size());
  for (std::size_t i = 0; i < asked.size(); ++i)
    note_one(asked[i], got[i]);
}

void numbers::note_claim(const claim_request& asked, const claim_answer& got) {
  add(parked_for_permits, got.parked);
  if (got.jobs.empty()) return;
  auto& queue = queues.of(asked.queue.value);
  add(queue.started, got.jobs.size());
  if (got.longest_wait_in_queue) queue.waited.add(*got.longest_wait_in_queue, got.jobs.size());
}

void numbers::note_ends(const settle_request& asked, const settle_answer& got) {
  if (asked.queue.empty()) return;
  auto& queue = queues.of(asked.queue.value);
  type_numbers* type = nullptr;
  const std::string* name = nullptr;  // those of a type mostly come together, and are looked up once
  for (std::size_t i = 0; i < asked.runs.size() && i < got.each.size(); ++i) {
    const auto& end = asked.runs[i];
    if (got.each[i] != errc::none) continue;
    const auto place = place_of(end.end);
    add(queue.ended.at(place), 1);
    if (!name || *name != end.type.value) {
      name = &end.type.value;
      type = name->empty() ? nullptr : &types.of(*name);
    }
    if (end.end == run_end::given_back) continue;
    if (type) add(type->ended.at(place), 1);
    if (end.end == run_end::deferred) continue;
    queue.ran.add(end.ran);
    if (type) type->ran.add(end.ran);
  }
}

void numbers::note_one(const request& asked, const answer& got) {
  add(requests_[asked.index()], 1);
  if (const auto* why = std::get_if<error>(&got)) {
    std::lock_guard hold(mutex_);
    ++errors_[std::string(name_of(why->code))];
    return;
  }
  if (const auto* e = std::get_if<enqueue_request>(&asked)) {
    const auto& each = std::get<enqueue_answer>(got).each;
    queue_numbers* last = nullptr;
    const std::string* name = nullptr;
    for (std::size_t i = 0; i < e->jobs.size(); ++i) {
      if (each[i] != errc::none) continue;
      if (!name || *name != e->jobs[i].queue.value) {
        name = &e->jobs[i].queue.value;
        last = &queues.of(*name);
      }
      add(last->enqueued, 1);
    }
  } else if (const auto* c = std::get_if<claim_request>(&asked)) {
    note_claim(*c, std::get<claim_answer>(got));
  } else if (const auto* s = std::get_if<settle_request>(&asked)) {
    const auto& answered = std::get<settle_answer>(got);
    add(stale_fences, count_of(answered.each, errc::stale_fence));
    note_ends(*s, answered);
    if (s->next) note_claim(*s->next, answered.next);
  } else if (std::holds_alternative<renew_request>(asked)) {
    add(stale_fences, count_of(std::get<renew_answer>(got).each, errc::stale_fence));
  } else if (std::holds_alternative<reap_request>(asked)) {
    add(leases_lost, count_of(std::get<reap_answer>(got).each, errc::none));
  } else if (std::holds_alternative<acquire_permits_request>(asked)) {
    for (const auto& one : std::get<acquire_permits_answer>(got).each)
      if (one.what == admission::parked) add(parked_for_permits, 1);
  } else if (std::holds_alternative<update_limiter_request>(asked)) {
    const auto& updated = std::get<update_limiter_answer>(got);
    if (updated.updated) add(parked_for_windows, updated.parked.size());
  } else if (const auto* f = std::get_if<update_schedule_request>(&asked)) {
    const auto& updated = std::get<update_schedule_answer>(got);
    for (std::size_t i = 0; i < updated.each.size() && i < f->enqueue.size(); ++i) {
      if (updated.each[i] != update_schedule_answer::how::enqueued) continue;
      add(queues.of(f->enqueue[i].job.queue.value).enqueued, 1);
      if (!f->by_hand) occurrence_delay.add(std::max(duration(0), updated.now - f->enqueue[i].at));
    }
  }
}

}  // namespace sluice::storage
