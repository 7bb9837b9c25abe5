#include "core/text.hpp"
#include "storage/machine/transitions.hpp"

namespace sluice::storage::machine {
namespace {

void read_view(const item& told, limiter_record& limiter) {
  if (told.size() < 5) return;
  limiter.version = static_cast<std::uint64_t>(told[0].number());
  limiter.state = told[1].text();
  limiter.now = from_micros(told[2].number());
  limiter.definition = told[3].text();
  const auto lines = told[4];
  for (std::size_t i = 0; i + 2 <= lines.size(); i += 2)
    limiter.lines.push_back({std::string(lines[i].text()), static_cast<std::uint64_t>(lines[i + 1].number())});
}

}  // namespace

void ask(steps& x, const read_limiter_request& r, answer& into) {
  into = read_limiter_answer{};
  call c(verb::read_limiter);
  c.add(r.limiter);
  x.send(
      std::move(c),
      [&](const item& reply) {
        if (auto* filled = filling<read_limiter_answer>(into)) read_view(reply, filled->limiter);
      },
      fails(into));
}

// One call, however much it is: nobody may see a part of it.
void ask(steps& x, const update_limiter_request& r, answer& into) {
  if (r.state.size() > longest_state) {
    into = error{errc::too_large, cat("the state of throttler ", printable(r.limiter, 200), " has ", r.state.size(),
                                      " bytes; at most ", longest_state)};
    return;
  }
  into = update_limiter_answer{};
  call c(verb::update_limiter);
  c.add(r.limiter).add(r.version).add(r.state).add(micros(r.from)).add(micros(r.until));
  c.add(static_cast<std::uint64_t>(r.wakes.size()));
  for (const auto& w : r.wakes)
    c.add(w.resource).add(w.count);
  c.add(static_cast<std::uint64_t>(r.parks.size()));
  for (const auto& p : r.parks)
    c.add(p.run.id.value).add(p.run.fence.value).add(p.resource);
  c.add(static_cast<std::uint64_t>(r.let_in.size()));
  for (const auto& run : r.let_in)
    c.add(run.id.value).add(run.fence.value);
  for (const auto& o : r.next_checks) {
    c.add(o.resource);
    o.at ? c.add(micros(*o.at)) : c.add("");
  }
  x.send(
      std::move(c),
      [&](const item& reply) {
        auto* filled = filling<update_limiter_answer>(into);
        if (!filled || reply.size() < 6) return;
        filled->updated = reply[0].number() != 0;
        filled->woken = static_cast<std::uint64_t>(reply[1].number());
        x.made_work.add_encoded(reply[2].text());
        const auto parks = reply[3];
        for (std::size_t i = 0; i + 2 <= parks.size(); i += 2)
          filled->parked.push_back(
              {parks[i].text() == "p" ? admission::parked : admission::stale, std::string(parks[i + 1].text())});
        filled->let_in.resize(reply[4].text().size());
        read_codes(reply[4].text(), filled->let_in, 0);
        read_view(reply[5], filled->limiter);
      },
      fails(into));
}

}  // namespace sluice::storage::machine
