// A board on a store of its own, asked without a network: as its server asks it, once the bytes have been read.
#pragma once

#include <chrono>

#include <nlohmann/json.hpp>

#include <sluice/dashboard.hpp>

#include "dashboard/openapi_check.hpp"
#include "dashboard/routes.hpp"
#include "dashboard/site.hpp"
#include "support/temp_dir.hpp"

namespace sluice::test {

class dashboard_world {
public:
  using json = nlohmann::ordered_json;
  using header_list = std::map<std::string, std::string, std::less<>>;

  explicit dashboard_world(dashboard_options options = changing(), const std::string& store = {})
      : url(store.empty() ? folder.url() : store) {
    auto opened = client::open(storage_options());
    auto shared_store = storage::open_shared_store(url);
    if (!opened || !shared_store) throw std::runtime_error("the store could not be opened");
    auto access = web::access_rules::make(options, 8080);
    if (!access) throw std::runtime_error(to_string(access.error()));
    client_.emplace(std::move(*opened));
    auto second = client::open(storage_options());
    on.reset(new web::board{std::move(*second),
                            std::move(options),
                            std::move(*access),
                            *shared_store,
                            std::make_unique<sluice::snapshot>(*shared_store),
                            {},
                            "sqlite",
                            web::shared_reads(1'000'000'000)});
    site.emplace(*on);
  }

  static dashboard_options changing() {
    dashboard_options options;
    options.allow_changes = true;
    return options;
  }

  client& store() { return *client_; }

  static web::http_request request(const std::string& method, const std::string& target, const std::string& body = {},
                                   const header_list& more = {}) {
    web::http_request made;
    made.method = method;
    made.target = target;
    const auto read = web::parse_target(target);
    if (!read) throw std::runtime_error("no target: " + target);
    made.path = read->path;
    made.query = read->query;
    made.peer = "127.0.0.1";
    made.headers = {{"host", "localhost:8080"}};
    if (method != "GET" && method != "HEAD") made.headers["content-type"] = "application/json";
    if (!body.empty()) made.headers["content-length"] = std::to_string(body.size());
    for (const auto& [name, value] : more)
      made.headers[name] = value;
    made.body = body;
    return made;
  }

  // Every answer must fit what the OpenAPI text says of it.
  web::http_response ask(const web::http_request& r) {
    auto refused = site->refuse(r);
    auto said = refused ? std::move(*refused) : site->answer(r);
    if (const auto fault = openapi_check::here().fault_of(r, said); !fault.empty())
      throw std::runtime_error(r.method + " " + r.target + ": " + fault + " in " + said.body.substr(0, 500));
    return said;
  }
  web::http_response ask(const std::string& method, const std::string& target, const json& body = nullptr,
                         const header_list& more = {}) {
    return ask(request(method, target, body.is_null() ? std::string() : body.dump(), more));
  }
  // What was answered with 200, as JSON.
  json get(const std::string& target) {
    const auto said = ask("GET", target);
    if (said.status != 200) throw std::runtime_error(target + ": " + std::to_string(said.status) + " " + said.body);
    return json::parse(said.body);
  }

  // The store is asked for a moment only, from now on.
  void be_impatient() {
    auto options = storage_options();
    options.deadline = std::chrono::milliseconds(200);
    auto opened = client::open(options);
    if (!opened) throw std::runtime_error(to_string(opened.error()));
    on->store = std::move(*opened);
  }

  // Stored, and known to the snapshot.
  void enqueue(std::vector<new_job> jobs) {
    for (const auto& r : store().enqueue(std::move(jobs)))
      if (!r) throw std::runtime_error(to_string(r.error()));
  }
  static new_job job(const std::string& id, const std::string& queue = "default") {
    new_job made;
    made.id = job_id(id);
    made.queue = queue_name(queue);
    made.type = job_type("noop");
    return made;
  }

  temp_dir folder;
  const std::string url;
  std::unique_ptr<web::board> on;
  std::optional<web::site> site;

private:
  client_options storage_options() const {
    client_options options;
    options.storage = url;
    return options;
  }
  std::optional<client> client_;
};

inline std::string header_of(const web::http_response& said, std::string_view name) {
  for (const auto& [key, value] : said.headers)
    if (key == name) return value;
  return {};
}

}  // namespace sluice::test
