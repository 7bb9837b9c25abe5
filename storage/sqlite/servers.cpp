#include <sstream>

#include "storage/sqlite/admission.hpp"
#include "storage/sqlite/transitions.hpp"

namespace sluice::storage::sqlite {

beat_answer apply(session& s, const beat_request& r) {
  const bool known = s.db.prepare("SELECT 1 FROM servers WHERE id=?").with(r.server.id.value).step();
  std::string queues;
  for (const auto& q : r.server.queues)
    queues += queues.empty() ? q : " " + q;
  s.db.prepare(
          "INSERT INTO servers(id,name,host,pid,queues,running,started,beat) VALUES(?1,?2,?3,?4,?5,?6,?7,?7) "
          "ON CONFLICT(id) DO UPDATE SET queues=?5,running=?6,beat=?7")
      .with(r.server.id.value, r.server.name, r.server.host, r.server.pid, queues, r.server.running, s.now_us())
      .run();
  for (const auto& q : r.server.queues)
    mark_served(s, q.substr(0, q.rfind(':')));
  return {known};
}

done_answer apply(session& s, const leave_request& r) {
  s.db.prepare("DELETE FROM servers WHERE id=?").with(r.server.value).run();
  s.db.prepare("DELETE FROM claims WHERE server=?").with(r.server.value).run();
  return {};
}

servers_answer apply(session& s, const servers_request&) {
  servers_answer answer;
  auto q = s.db.prepare("SELECT id,name,host,pid,queues,running,started,beat FROM servers ORDER BY name,id");
  while (q.step()) {
    server_info info;
    info.id.value = q.text(0);
    info.name = q.text(1);
    info.host = q.text(2);
    info.pid = q.number(3);
    std::istringstream words(q.text(4));
    for (std::string word; words >> word;)
      info.queues.push_back(word);
    info.running = static_cast<std::uint32_t>(q.number(5));
    info.started_at = from_micros(q.number(6));
    info.beat_at = from_micros(q.number(7));
    answer.servers.push_back(std::move(info));
  }
  return answer;
}

}  // namespace sluice::storage::sqlite
