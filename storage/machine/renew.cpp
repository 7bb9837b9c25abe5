#include "storage/machine/transitions.hpp"

namespace sluice::storage::machine {

void ask(steps& x, const renew_request& r, answer& into) {
  into = renew_answer{std::vector<errc>(r.runs.size())};
  for (std::size_t from = 0; from < r.runs.size(); from += jobs_a_call) {
    call c(verb::renew);
    c.add(r.lease.count());
    for (std::size_t i = from; i < std::min(from + jobs_a_call, r.runs.size()); ++i)
      c.add(r.runs[i].id.value).add(r.runs[i].fence.value);
    x.send(
        std::move(c),
        [&r, &into, from](const item& reply) {
          if (auto* filled = filling<renew_answer>(into))
            read_held(
                reply.text(), filled->each, from, [&r](auto i) { return r.runs[i]; }, filled->cancelled);
        },
        fails(into));
  }
}

}  // namespace sluice::storage::machine
