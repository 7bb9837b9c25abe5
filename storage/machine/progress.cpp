#include "storage/machine/transitions.hpp"

namespace sluice::storage::machine {

void ask(steps& x, const progress_request& r, answer& into) {
  into = progress_answer{std::vector<errc>(r.runs.size())};
  for (std::size_t from = 0; from < r.runs.size(); from += jobs_a_call) {
    call c(verb::progress);
    for (std::size_t i = from; i < std::min(from + jobs_a_call, r.runs.size()); ++i) {
      const auto& [run, report] = r.runs[i];
      c.add(run.id.value).add(run.fence.value).add(write_report(report));
    }
    x.send(
        std::move(c),
        [&r, &into, from](const item& reply) {
          if (auto* filled = filling<progress_answer>(into))
            read_held(
                reply.text(), filled->each, from, [&r](auto i) { return r.runs[i].run; }, filled->cancelled);
        },
        fails(into));
  }
}

}  // namespace sluice::storage::machine
