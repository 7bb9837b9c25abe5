#include "core/text.hpp"
#include "storage/machine/transitions.hpp"

namespace sluice::storage::machine {
namespace {

void read_view(const item& told, cell_view& cell) {
  if (told.size() < 5) return;
  cell.version = static_cast<std::uint64_t>(told[0].number());
  cell.state = told[1].text();
  cell.now = from_micros(told[2].number());
  cell.definition = told[3].text();
  const auto lines = told[4];
  for (std::size_t i = 0; i + 2 <= lines.size(); i += 2)
    cell.lines.push_back({std::string(lines[i].text()), static_cast<std::uint64_t>(lines[i + 1].number())});
}

}  // namespace

void ask(steps& x, const cell_request& r, answer& into) {
  into = cell_answer{};
  call c(script::cell);
  c.add(r.cell);
  x.send(
      std::move(c),
      [&](const item& reply) {
        if (auto* filled = filling<cell_answer>(into)) read_view(reply, filled->cell);
      },
      fails(into));
}

// One script, however much it is: nobody may see a part of it.
void ask(steps& x, const swap_request& r, answer& into) {
  if (r.state.size() > longest_state) {
    into = error{errc::too_large, cat("the state of throttler ", printable(r.cell, 200), " has ", r.state.size(),
                                      " bytes; at most ", longest_state)};
    return;
  }
  into = swap_answer{};
  call c(script::swap);
  c.add(r.cell).add(r.version).add(r.state).add(micros(r.from)).add(micros(r.until));
  c.add(static_cast<std::uint64_t>(r.wakes.size()));
  for (const auto& w : r.wakes)
    c.add(w.resource).add(w.count);
  c.add(static_cast<std::uint64_t>(r.parks.size()));
  for (const auto& p : r.parks)
    c.add(p.start.id.value).add(p.start.fence.value).add(p.resource);
  c.add(static_cast<std::uint64_t>(r.let_in.size()));
  for (const auto& start : r.let_in)
    c.add(start.id.value).add(start.fence.value);
  for (const auto& o : r.openings) {
    c.add(o.resource);
    o.at ? c.add(micros(*o.at)) : c.add("");
  }
  x.send(
      std::move(c),
      [&](const item& reply) {
        auto* filled = filling<swap_answer>(into);
        if (!filled || reply.size() < 6) return;
        filled->swapped = reply[0].number() != 0;
        filled->woken = static_cast<std::uint64_t>(reply[1].number());
        x.made_work.add_words(reply[2].text());
        const auto parks = reply[3];
        for (std::size_t i = 0; i + 2 <= parks.size(); i += 2)
          filled->parked.push_back(
              {parks[i].text() == "p" ? admission::parked : admission::gone, std::string(parks[i + 1].text())});
        filled->let_in.resize(reply[4].text().size());
        read_codes(reply[4].text(), filled->let_in, 0);
        read_view(reply[5], filled->cell);
      },
      fails(into));
}

}  // namespace sluice::storage::machine
