#include "storage/redis/transitions.hpp"

namespace sluice::storage::redis {

void ask(exchange& x, const promote_request& r, answer& into) {
  into = promote_answer{};
  auto c = x.begin(script::promote);
  c.add(r.limit);
  x.send(
      script::promote, std::move(c),
      [&](const item& reply) {
        auto* filled = filling<promote_answer>(into);
        if (!filled || reply.size() < 2) return;
        filled->moved = static_cast<std::uint32_t>(reply[0].number());
        if (!reply[1].text().empty()) filled->next_in = duration(reply[1].number());
        if (filled->moved > 0) x.made_work = true;
      },
      fails(into));
}

}  // namespace sluice::storage::redis
