#include "execution/limiter_steps.hpp"

#include <algorithm>

namespace sluice::execution {
namespace {

struct line {
  std::string resource;
  std::uint64_t waiting = 0;
  std::vector<std::size_t> asks{};
};

std::vector<line> lines_of(const storage::limiter_record& seen, std::span<const limiter_ask> asks) {
  std::vector<line> lines;
  for (const auto& l : seen.lines)
    lines.push_back({l.resource, l.waiting});
  for (std::size_t i = 0; i < asks.size(); ++i) {
    const auto has = [&](const line& l) { return l.resource == asks[i].resource; };
    auto at = std::find_if(lines.begin(), lines.end(), has);
    if (at == lines.end()) at = lines.insert(lines.end(), {asks[i].resource});
    at->asks.push_back(i);
  }
  return lines;
}

}  // namespace

std::string key_of(const std::string& limiter, const std::string& resource) {
  return resource.size() > limiter.size() ? resource.substr(limiter.size() + 1) : std::string();
}

limiter_update plan_limiter_update(const limiter& by, const std::string& limiter, const storage::limiter_record& seen,
                                   time_point now, std::span<const limiter_ask> asks) {
  const auto lines = lines_of(seen, asks);
  std::vector<limiter_request> wanted;
  for (const auto& l : lines) {
    const bool all = l.waiting <= wakes_in_a_step;
    wanted.push_back({key_of(limiter, l.resource), all ? l.waiting + l.asks.size() : wakes_in_a_step});
  }
  auto said = by.take(seen.state, now, wanted);
  said.each.resize(wanted.size());  // a limiter of the user's may say too little: the others get nothing

  limiter_update step;
  step.each.resize(asks.size());
  step.update.limiter = limiter;
  step.update.version = seen.version;
  step.update.state = std::move(said.state);
  step.update.from = said.from;
  step.update.until = said.until;
  for (std::size_t n = 0; n < lines.size(); ++n) {
    const auto& l = lines[n];
    const auto granted = std::min(said.each[n].granted, wanted[n].count);
    const auto woken = std::min(granted, l.waiting);
    const auto next = std::max(said.each[n].next.value_or(said.until), now + duration(1));
    if (woken > 0) step.update.wakes.push_back({l.resource, woken});
    bool has_waiters = woken < l.waiting;
    for (std::size_t i = 0; i < l.asks.size(); ++i) {
      auto& verdict = step.each[l.asks[i]];
      if (woken + i < granted) {
        step.update.let_in.push_back(asks[l.asks[i]].run);
        continue;
      }
      if (!asks[l.asks[i]].may_park) {
        verdict = {admission::deferred, std::chrono::duration_cast<duration>(next - now)};
        continue;
      }
      verdict.what = admission::parked;
      step.update.parks.push_back({asks[l.asks[i]].run, l.resource});
      has_waiters = true;
    }
    // When all that one step may wake were let in, there may be room for more of them at once.
    const bool more_at_once = granted == wanted[n].count && has_waiters;
    if (has_waiters) step.update.next_checks.push_back({l.resource, more_at_once ? now : next});
    else if (l.waiting > 0) step.update.next_checks.push_back({l.resource, std::nullopt});
  }
  return step;
}

}  // namespace sluice::execution
