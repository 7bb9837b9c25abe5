#include "storage/machine/transitions.hpp"

namespace sluice::storage::machine {

void ask(steps& x, const promote_request& r, answer& into) {
  into = promote_answer{};
  call c(verb::promote);
  c.add(r.limit).add(r.reservation.count());
  x.send(
      std::move(c),
      [&](const item& reply) {
        auto* filled = filling<promote_answer>(into);
        if (!filled || reply.size() < 4) return;
        filled->moved = static_cast<std::uint32_t>(reply[0].number());
        if (!reply[1].text().empty()) filled->next_in = duration(reply[1].number());
        for (std::size_t i = 0; i < reply[3].size(); ++i)
          filled->open.emplace_back(reply[3][i].text());
        if (reply.size() > 4 && !reply[4].text().empty()) filled->schedule_in = duration(reply[4].number());
        x.made_work.add_encoded(reply[2].text());
      },
      fails(into));
}

}  // namespace sluice::storage::machine
