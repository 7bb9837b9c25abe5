#include "storage/redis/scripts.hpp"

#include <initializer_list>

#include "storage/redis/lua_texts.hpp"

namespace sluice::storage::redis {
namespace {

std::string joined(std::initializer_list<std::string_view> parts) {
  std::string all;
  for (const auto part : parts)
    all.append(part).append("\n");
  return all;
}

}  // namespace

std::string text_of(script s) {
  switch (s) {
    case script::open: return joined({lua::prelude, lua::open});
    case script::enqueue: return joined({lua::prelude, lua::enqueue});
    case script::claim: return joined({lua::prelude, lua::claim, lua::claim_alone});
    case script::settle: return joined({lua::prelude, lua::claim, lua::settle});
    case script::renew: return joined({lua::prelude, lua::renew});
    case script::progress: return joined({lua::prelude, lua::progress});
    case script::promote: return joined({lua::prelude, lua::promote});
    case script::expired: return joined({lua::prelude, lua::expired});
    case script::reap: return joined({lua::prelude, lua::reap});
    case script::prune: return joined({lua::prelude, lua::prune});
    case script::change: return joined({lua::prelude, lua::change});
    case script::pause: return joined({lua::prelude, lua::pause});
    case script::beat: return joined({lua::prelude, lua::beat});
    case script::leave: return joined({lua::prelude, lua::leave});
    case script::servers: return joined({lua::prelude, lua::servers});
    case script::get: return joined({lua::prelude, lua::get});
    case script::list: return joined({lua::prelude, lua::list});
    case script::queues: return joined({lua::prelude, lua::queues});
    case script::put_aside: return joined({lua::prelude, lua::put_aside});
    case script::mark: return joined({lua::prelude, lua::mark});
    case script::audit: return joined({lua::prelude, lua::audit});
  }
  return {};
}

}  // namespace sluice::storage::redis
