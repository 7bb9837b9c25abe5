#include <algorithm>

#include "storage/machine/transitions.hpp"

namespace sluice::storage::machine {
namespace {

using start = take_request::start;

bool alike(const start& a, const start& b) {
  return a.strict == b.strict && a.park == b.park && a.permits == b.permits;
}

// Runs of alike starts, in the order they came.
void add(call& c, const start* from, const start* to) {
  while (from != to) {
    const auto* end = std::find_if(from, to, [&](const start& s) { return !alike(s, *from); });
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
    case 'b': return admission::later;
    case 'u': return admission::refused;
    default: return admission::gone;
  }
}

}  // namespace

void ask(steps& x, const take_request& r, answer& into) {
  into = take_answer{std::vector<take_answer::one>(r.starts.size())};
  for (std::size_t from = 0; from < r.starts.size(); from += jobs_a_script) {
    call c(script::take);
    add(c, r.starts.data() + from, r.starts.data() + std::min(from + jobs_a_script, r.starts.size()));
    x.send(
        std::move(c),
        [&x, &into, from](const item& reply) {
          if (reply.size() < 3) return;
          x.made_work.add_words(reply[1].text());
          auto* filled = filling<take_answer>(into);
          if (!filled) return;
          std::size_t named = 0;
          const auto letters = reply[0].text();
          for (std::size_t i = 0; i < letters.size() && from + i < filled->each.size(); ++i) {
            auto& one = filled->each[from + i];
            one.what = meaning(letters[i]);
            if (one.what == admission::granted || one.what == admission::gone) continue;
            if (named < reply[2].size()) one.resource = reply[2][named++].text();
          }
        },
        fails(into));
  }
}

}  // namespace sluice::storage::machine
