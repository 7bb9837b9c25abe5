#include <algorithm>

#include "storage/machine/transitions.hpp"

namespace sluice::storage::machine {
namespace {

using run = acquire_permits_request::run;

bool alike(const run& a, const run& b) { return a.strict == b.strict && a.park == b.park && a.permits == b.permits; }

// Runs of alike runs, in the order they came.
void add(call& c, const run* from, const run* to) {
  while (from != to) {
    const auto* end = std::find_if(from, to, [&](const run& s) { return !alike(s, *from); });
    c.add(static_cast<std::uint64_t>(end - from)).add(from->strict ? "s" : "").add(from->park ? "1" : "0");
    c.add(static_cast<std::uint64_t>(from->permits.size()));
    for (const auto& resource : from->permits)
      c.add(resource);
    for (; from != end; ++from)
      c.add(from->key.id.value).add(from->key.fence.value);
  }
}

admission meaning(char letter) {
  switch (letter) {
    case 'g': return admission::granted;
    case 'p': return admission::parked;
    case 'b': return admission::deferred;
    case 'u': return admission::undecided;
    default: return admission::stale;
  }
}

}  // namespace

void ask(steps& x, const acquire_permits_request& r, answer& into) {
  into = acquire_permits_answer{std::vector<acquire_permits_answer::verdict>(r.runs.size())};
  for (std::size_t from = 0; from < r.runs.size(); from += jobs_a_call) {
    call c(verb::acquire_permits);
    add(c, r.runs.data() + from, r.runs.data() + std::min(from + jobs_a_call, r.runs.size()));
    x.send(
        std::move(c),
        [&x, &into, from](const item& reply) {
          if (reply.size() < 3) return;
          x.made_work.add_encoded(reply[1].text());
          auto* filled = filling<acquire_permits_answer>(into);
          if (!filled) return;
          std::size_t named = 0;
          const auto letters = reply[0].text();
          for (std::size_t i = 0; i < letters.size() && from + i < filled->each.size(); ++i) {
            auto& one = filled->each[from + i];
            one.what = meaning(letters[i]);
            if (one.what == admission::granted || one.what == admission::stale) continue;
            if (named < reply[2].size()) one.resource = reply[2][named++].text();
          }
        },
        fails(into));
  }
}

}  // namespace sluice::storage::machine
