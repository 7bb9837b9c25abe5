#include <algorithm>

#include "core/text.hpp"
#include "storage/machine/transitions.hpp"

namespace sluice::storage::machine {
namespace {

// "pid running", then as "length:bytes" the name, the host, each queue, and the mark of one with filters.
std::string written(const server_info& info) {
  auto text = cat(info.pid, " ", info.running, " ") + counted(info.name) + counted(info.host);
  for (const auto& q : info.queues)
    text += counted(q);
  if (info.has_filters) text += counted(filters_mark);
  return text;
}

}  // namespace

void ask(steps& x, const heartbeat_request& r, answer& into) {
  into = heartbeat_answer{};
  call c(verb::heartbeat);
  c.add(r.server.id.value).add(written(r.server));
  for (const auto& q : r.server.queues)  // "name:workers"
    c.add(q.substr(0, q.rfind(':')));
  x.send(
      std::move(c),
      [&](const item& reply) {
        if (auto* filled = filling<heartbeat_answer>(into)) filled->known = reply.number() > 0;
      },
      fails(into));
}

void ask(steps& x, const deregister_request& r, answer& into) {
  into = done_answer{};
  call c(verb::deregister);
  c.add(r.server.value);
  x.send(
      std::move(c), [](const item&) {}, fails(into));
}

void ask(steps& x, const servers_request&, answer& into) {
  into = servers_answer{};
  x.send(
      call(verb::servers),
      [&](const item& reply) {
        auto* filled = filling<servers_answer>(into);
        if (!filled) return;
        auto& all = filled->servers;
        for (std::size_t i = 0; i + 2 <= reply.size(); i += 2)
          if (auto info = read_server(reply[i].text(), reply[i + 1].text())) all.push_back(std::move(*info));
        std::sort(all.begin(), all.end(), [](const server_info& a, const server_info& b) {
          return std::tie(a.name, a.id.value) < std::tie(b.name, b.id.value);
        });
      },
      fails(into));
}

}  // namespace sluice::storage::machine
