#include "storage/machine/transitions.hpp"

namespace sluice::storage::machine {
namespace {

void add(call& c, const retention_rule& rule) {
  rule.age ? c.add(rule.age->count()) : c.add("");
  rule.count ? c.add(*rule.count) : c.add("");
}

}  // namespace

void ask(steps& x, const prune_request& r, answer& into) {
  into = prune_answer{};
  call c(verb::prune);
  c.add(r.limit);
  r.server_age > duration::zero() ? c.add(r.server_age.count()) : c.add("");
  c.add(r.retention.bytes);
  for (const auto* rule : {&r.retention.failed, &r.retention.succeeded, &r.retention.deleted})  // as final_kinds
    add(c, *rule);
  x.send(
      std::move(c),
      [&](const item& reply) {
        auto* filled = filling<prune_answer>(into);
        if (!filled || reply.size() < 4) return;
        filled->removed = static_cast<std::uint32_t>(reply[0].number());
        filled->more = reply[1].number() != 0;
        filled->quarantined = static_cast<std::uint64_t>(reply[2].number());
        filled->quarantined_bytes = static_cast<std::uint64_t>(reply[3].number());
      },
      fails(into));
}

}  // namespace sluice::storage::machine
