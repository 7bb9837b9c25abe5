#include "storage/machine/transitions.hpp"

namespace sluice::storage::machine {
namespace {

std::pair<verb, std::string_view> words_for(lock_request::verb what) {
  switch (what) {
    case lock_request::verb::take: return {verb::lock, "take"};
    case lock_request::verb::renew: return {verb::keep_lock, "renew"};
    case lock_request::verb::release: return {verb::keep_lock, "release"};
    case lock_request::verb::read: break;
  }
  return {verb::look_at_lock, "look"};
}

errc code_of(std::int64_t digit) { return digit == 0 ? errc::none : digit == 1 ? errc::stale_fence : errc::lock_held; }

}  // namespace

void ask(steps& x, const lock_request& r, answer& into) {
  into = lock_answer{};
  const auto [asked, what] = words_for(r.what);
  call c(asked);
  c.add(what).add(r.resource).add(r.fence.value).add(r.lease.count()).add(r.token).add(r.holder);
  x.send(
      std::move(c),
      [&](const item& reply) {
        auto* filled = filling<lock_answer>(into);
        if (!filled || reply.size() == 0) return;
        filled->code = code_of(reply[0].number());
        if (reply.size() < 5) return;
        filled->now = lock_holder{fence{static_cast<std::uint64_t>(reply[1].number())}, std::string(reply[4].text()),
                                  from_micros(reply[2].number()), duration(reply[3].number())};
      },
      fails(into));
}

}  // namespace sluice::storage::machine
