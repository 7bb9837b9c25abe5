// Whatever a user types, a dashboard connects to its store and to nothing else.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/text.hpp"
#include "dashboard/dashboard_world.hpp"
#include "dashboard/raw_client.hpp"
#include "support/catch.hpp"

namespace sluice::test {
namespace {

using json = nlohmann::ordered_json;

// Listens, and knows whether anybody has ever connected.
class bait {
public:
  bait() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    auto* const address = reinterpret_cast<sockaddr*>(&at);
    if (::bind(fd_, address, size) != 0 || ::listen(fd_, 100) != 0 || ::getsockname(fd_, address, &size) != 0)
      throw std::runtime_error("cannot listen");
    port_ = ntohs(at.sin_port);
  }
  ~bait() { ::close(fd_); }
  bait(const bait&) = delete;

  unsigned port() const { return port_; }
  // The kernel connects a client before anybody accepts it, and keeps one that has gone again.
  bool was_connected() const {
    const int client = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client >= 0) ::close(client);
    return client >= 0;
  }

private:
  int fd_;
  unsigned port_ = 0;
};

std::string with_names(std::string_view pattern, const std::string& kind, const std::string& other) {
  std::string target(pattern);
  for (auto at = target.find('{'); at != std::string::npos; at = target.find('{'))
    target.replace(at, target.find('}') - at + 1,
                   target.compare(at, 6, "{kind}") == 0 ? kind : web::path_segment(other));
  return target;
}

// Bodies that are carried out, with each text that one may have.
const std::map<std::string, std::vector<json>> bodies{
    {"POST /api/v1/jobs",
     {{{"type", "noop"},
       {"queue", "q"},
       {"id", "a"},
       {"args", {{"to", "x"}}},
       {"headers", {{"name", "x"}}},
       {"at", "2030-01-01T00:00:00Z"}},
      {{"type", "noop"}, {"args_text", "{}"}}}},
    {"POST /api/v1/jobs/actions",
     {{{"action", "requeue"}, {"ids", {"a"}}},
      {{"action", "delete"},
       {"filter",
        {{"state", "failed"},
         {"queue", "q"},
         {"type", "noop"},
         {"id_begins", "a"},
         {"server", "s"},
         {"since", "1h"},
         {"until", "1s"},
         {"match", "a=b"},
         {"error", "e"},
         {"headers", {{"name", "x"}}}}},
       {"expected_count", 1},
       {"after", ""}}}},
    {"PUT /api/v1/throttlers/{kind}/{name}", {{{"limit", 4}, {"mode", "enforce"}}}},
    {"PUT /api/v1/schedules/{name}",
     {{{"job", "noop"},
       {"queue", "q"},
       {"cron", "0 3 * * *"},
       {"zone", "UTC"},
       {"args", {{"to", "x"}}},
       {"headers", {{"name", "x"}}},
       {"overlap", "skip"}}}},
    {"POST /api/v1/schedules/{name}/trigger", {{{"id", "a"}}}},
    {"PUT /api/v1/groups/{name}", {{{"in", "a"}}}},
};

}  // namespace

TEST_CASE("nothing that a user types makes the dashboard connect anywhere") {
  const bait listening;
  dashboard_world w;
  const auto ask = [&](const web::route& route, const std::string& target, const json& body,
                       const dashboard_world::header_list& headers = {}) {
    const bool looks = route.method == "GET";
    const auto said = w.ask(std::string(route.method), target, looks ? json() : body, headers);
    CAPTURE(route.method, target, body, said.body);
    CHECK(said.status != 500);
  };
  std::set<std::string> with_body;
  for (const auto* begins : {"http://", "redis://", "//", ""}) {
    const auto typed = cat(begins, "127.0.0.1:", listening.port(), "/");
    for (const auto& route : web::routes()) {
      const auto name = cat(route.method, " ", route.pattern);
      const auto plain = with_names(route.pattern, "semaphore", "some");
      const auto told = bodies.find(name);
      const auto all = told == bodies.end() ? std::vector<json>{json::object()} : told->second;
      ask(route, with_names(route.pattern, "semaphore", typed), all[0]);
      ask(route, with_names(route.pattern, web::path_segment(typed), "some"), all[0]);
      std::vector<std::string> parameters(route.parameters.begin(), route.parameters.end());
      if (route.is_for_people) parameters = {"url", "next"};
      for (const auto& parameter : parameters)
        for (const auto* more : {"", "a%3D"})  // what takes NAME=VALUE
          ask(route, cat(plain, "?", parameter, "=", more, web::path_segment(typed)), all[0]);
      ask(route, plain, all[0],
          {{"x-forwarded-host", typed}, {"x-original-url", typed}, {"referer", typed}, {"forwarded", typed}});
      ask(route, plain, all[0], {{"host", typed}});
      ask(route, plain, all[0], {{"origin", typed}});
      if (told == bodies.end()) continue;
      with_body.insert(name);
      for (const auto& body : all) {
        const auto texts = body.flatten();
        for (const auto& [pointer, value] : texts.items()) {
          if (!value.is_string()) continue;
          auto changed = body;
          changed[json::json_pointer(pointer)] = typed;
          ask(route, plain, changed);
        }
      }
    }
  }
  CHECK(with_body.size() == bodies.size());
  CHECK_FALSE(listening.was_connected());
  { raw_client somebody(listening.port()); }
  CHECK(listening.was_connected());  // it would have been seen
}

}  // namespace sluice::test
