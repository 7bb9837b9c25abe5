#include "storage/machine/transitions.hpp"

namespace sluice::storage::machine {
namespace {

void add(call& c, const std::shared_ptr<const std::set<std::string, std::less<>>>& names) {
  c.add(static_cast<std::uint64_t>(names ? names->size() : 0));
  if (!names) return;
  for (const auto& name : *names)
    c.add(name);
}

void add(call& c, const std::shared_ptr<const permits_by_type>& permits) {
  c.add(static_cast<std::uint64_t>(permits ? permits->size() : 0));
  if (!permits) return;
  for (const auto& [type, needed] : *permits) {
    c.add(type).add(needed.park ? "1" : "0").add(static_cast<std::uint64_t>(needed.resources.size()));
    for (const auto& resource : needed.resources)
      c.add(resource);
  }
}

}  // namespace

void add(call& c, const claim_request& r) {
  c.add(r.server.value).add(r.queue.value).add(r.slot).add(r.op).add(r.free).add(r.ahead);
  c.add(r.allow_suspect ? "1" : "0").add(r.lease.count());
  add(c, r.types);
  add(c, r.no_prefetch);
  add(c, r.permits);
}

void read_claim(steps& x, const item& reply, std::size_t from, claim_answer& into) {
  if (from >= reply.size()) return;
  x.made_work.add_encoded(reply[from].text());
  constexpr std::size_t before_jobs = 6;
  if (from + before_jobs > reply.size()) return;
  const auto admitted = read_admitted(reply[from + 1].text());
  into.parked = static_cast<std::uint32_t>(reply[from + 2].number());
  into.has_waiting_suspect = reply[from + 3].number() > 0;
  into.cut = reply[from + 4].number() > 0;
  if (!reply[from + 5].text().empty()) into.longest_wait_in_queue = duration(reply[from + 5].number());
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
    into.jobs.push_back({std::move(known->about), known->failures, std::move(all)});
  }
}

void ask(steps& x, const claim_request& r, answer& into) {
  into = claim_answer{};
  if (r.free + r.ahead == 0) return;
  call c(script::claim);
  add(c, r);
  x.send(
      std::move(c),
      [&](const item& reply) {
        if (auto* filled = filling<claim_answer>(into)) read_claim(x, reply, 0, *filled);
      },
      fails(into));
}

}  // namespace sluice::storage::machine
