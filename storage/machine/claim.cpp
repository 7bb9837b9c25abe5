#include <charconv>

#include "storage/machine/transitions.hpp"

namespace sluice::storage::machine {
namespace {

void add(call& c, const std::shared_ptr<const std::set<std::string, std::less<>>>& names) {
  c.add(static_cast<std::uint64_t>(names ? names->size() : 0));
  if (!names) return;
  for (const auto& name : *names)
    c.add(name);
}

void add_permits(call& c, const claim_request& r) {
  c.add(static_cast<std::uint64_t>(r.permits ? r.permits->size() : 0));
  if (!r.permits) return;
  for (const auto& [type, needed] : *r.permits) {
    const auto found = needed.resources.size() == 1 ? r.chains.find(type) : r.chains.end();
    const auto chain = found == r.chains.end() ? claim_request::chain{.most = 0} : found->second;
    c.add(type).add(needed.park ? "1" : "0").add(chain.most).add(chain.wants_turn ? "1" : "0");
    c.add(static_cast<std::uint64_t>(chain.growing.size()));
    for (const auto& one : chain.growing)
      c.add(one.first.value).add(one.by);
    c.add(static_cast<std::uint64_t>(needed.resources.size()));
    for (const auto& resource : needed.resources)
      c.add(resource);
  }
}

// Pairs of numbers, each behind a space.
std::map<std::size_t, std::int64_t> read_times(std::string_view text) {
  std::map<std::size_t, std::int64_t> times;
  const auto next = [&text] {
    std::uint64_t n = 0;
    text.remove_prefix(std::min<std::size_t>(1, text.size()));
    const auto end = std::from_chars(text.data(), text.data() + text.size(), n).ptr;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return n;
  };
  while (!text.empty()) {
    const auto place = next();
    times[place] = static_cast<std::int64_t>(next());
  }
  return times;
}

}  // namespace

void add(call& c, const claim_request& r) {
  c.add(r.server.value).add(r.queue.value).add(r.slot).add(r.op).add(r.free).add(r.ahead);
  c.add(r.allow_suspect ? "1" : "0").add(r.lease.count());
  add(c, r.types);
  add(c, r.no_prefetch);
  add_permits(c, r);
}

void read_claim(steps& x, const item& reply, std::size_t from, claim_answer& into) {
  if (from >= reply.size()) return;
  x.made_work.add_encoded(reply[from].text());
  constexpr std::size_t before_jobs = 8;
  if (from + before_jobs > reply.size()) return;
  const auto admitted = read_admitted(reply[from + 1].text());
  into.parked = static_cast<std::uint32_t>(reply[from + 2].number());
  into.has_waiting_suspect = reply[from + 3].number() > 0;
  into.cut = reply[from + 4].number() > 0;
  if (!reply[from + 5].text().empty()) into.longest_wait_in_queue = duration(reply[from + 5].number());
  into.left_to_another = reply[from + 6].number() > 0;
  const auto left = read_times(reply[from + 7].text());
  from += before_jobs;
  const auto first = from;
  constexpr std::size_t values = 5;
  into.jobs.reserve((reply.size() - from) / values);
  for (; from + values <= reply.size(); from += values) {
    const job_values told{reply[from].text(),     "processing",           reply[from + 1].text(),
                          reply[from + 2].text(), reply[from + 3].text(), reply[from + 4].text()};
    auto known = read_job(told);
    if (!known) {
      damaged(x, told);
      continue;
    }
    const auto has = admitted.find((from - first) / values + 1);
    auto all = has == admitted.end() ? std::move(known->inline_permits)
                                     : all_of(std::move(known->inline_permits), has->second);
    into.jobs.push_back({std::move(known->about), known->failures, std::move(all), known->chain});
    if (const auto found = left.find((from - first) / values + 1); found != left.end())
      into.jobs.back().finish_in = duration(found->second);
  }
}

void ask(steps& x, const claim_request& r, answer& into) {
  into = claim_answer{};
  if (r.free + r.ahead == 0) return;
  call c(verb::claim);
  add(c, r);
  x.send(
      std::move(c),
      [&](const item& reply) {
        if (auto* filled = filling<claim_answer>(into)) read_claim(x, reply, 0, *filled);
      },
      fails(into));
}

}  // namespace sluice::storage::machine
