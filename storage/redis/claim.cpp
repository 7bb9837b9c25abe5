#include "storage/redis/transitions.hpp"

namespace sluice::storage::redis {
namespace {

void add(command& c, const std::shared_ptr<const std::set<std::string, std::less<>>>& names) {
  c.add(static_cast<std::uint64_t>(names ? names->size() : 0));
  if (!names) return;
  for (const auto& name : *names)
    c.add(name);
}

}  // namespace

void add(command& c, const claim_request& r) {
  c.add(r.server.value).add(r.queue.value).add(r.lane).add(r.op).add(r.free).add(r.ahead);
  c.add(r.suspect_too ? "1" : "0").add(r.lease.count());
  add(c, r.types);
  add(c, r.at_once);
}

void read_claim(exchange& x, const item& reply, std::size_t from, claim_answer& into) {
  if (from >= reply.size()) return;
  x.made_work = x.made_work || reply[from].number() > 0;
  if (from + 1 >= reply.size()) return;
  const auto admitted = read_admitted(reply[from + 1].text());
  from += 2;
  const auto first = from;
  constexpr std::size_t values = 5;
  into.jobs.reserve((reply.size() - from) / values);
  for (; from + values <= reply.size(); from += values) {
    const told_job told{reply[from].text(),     "processing",           reply[from + 1].text(),
                        reply[from + 2].text(), reply[from + 3].text(), reply[from + 4].text()};
    auto known = read_job(told);
    if (!known) {
      x.damaged(told);
      continue;
    }
    const auto has = admitted.find((from - first) / values + 1);
    into.admitted.push_back(has == admitted.end() ? std::vector<std::string>() : has->second);
    into.failures.push_back(known->failures);
    into.jobs.push_back(std::move(known->about));
  }
}

void ask(exchange& x, const claim_request& r, answer& into) {
  into = claim_answer{};
  if (r.free + r.ahead == 0) return;
  auto c = x.begin(script::claim);
  add(c, r);
  x.send(
      script::claim, std::move(c),
      [&](const item& reply) {
        if (auto* filled = filling<claim_answer>(into)) read_claim(x, reply, 0, *filled);
      },
      fails(into));
}

}  // namespace sluice::storage::redis
