// The OpenAPI text and the router say the same.
#include <fstream>
#include <iterator>
#include "dashboard/dashboard_world.hpp"

#include "support/catch.hpp"
#include "support/places.hpp"

namespace sluice::test {

TEST_CASE("each route stands in the OpenAPI text with its parameters, and each operation of the text is a route") {
  using shape = std::map<std::string, std::set<std::string>>;  // "GET /path" -> names of its query
  shape routed, told;
  for (const auto& route : web::routes())
    if (!route.is_for_people)
      routed[std::string(route.method) + " " + std::string(route.pattern)] = {route.parameters.begin(),
                                                                              route.parameters.end()};
  std::set<std::string> ids;
  for (const auto& [path, methods] : openapi_check::here().text().at("paths").items())
    for (const auto& [method, operation] : methods.items()) {
      std::string name = method + " " + path;
      for (std::size_t i = 0; i < method.size(); ++i)
        name[i] = static_cast<char>(std::toupper(name[i]));
      auto& parameters = told[name];
      for (const auto& one : operation.value("parameters", nlohmann::json::array()))
        if (const auto& p = openapi_check::here().resolved(one); p.value("in", "") == "query")
          parameters.insert(p.at("name").get<std::string>());
      CHECK(ids.insert(operation.at("operationId").get<std::string>()).second);
      CHECK(operation.at("responses").contains("default"));
    }
  CHECK(routed == told);
}

TEST_CASE("the headers by which a definition is compared stand in the OpenAPI text") {
  const auto& text = openapi_check::here().text();
  const auto has = [&](const std::string& method, const std::string& path, const std::string& name) {
    const auto of = text.at("paths").at(path).at(method).value("parameters", nlohmann::json::array());
    return std::find(of.begin(), of.end(), nlohmann::json{{"$ref", "#/components/parameters/" + name}}) != of.end();
  };
  for (const auto* path : {"/api/v1/throttlers/{kind}/{name}", "/api/v1/schedules/{name}"})
    for (const auto* method : {"put", "delete"})
      CHECK(has(method, path, "IfMatch"));
  for (const auto& route : web::routes())
    if (route.method == "GET" && !route.is_for_people) CHECK(has("get", std::string(route.pattern), "IfNoneMatch"));
}

TEST_CASE("the OpenAPI text is served as it stands, and each of its references is there") {
  dashboard_world w;
  const auto served = w.get("/api/v1/openapi.json");
  CHECK(served.at("openapi") == "3.1.0");
  const auto text = served.dump();
  int references = 0;
  for (std::size_t at = 0; (at = text.find("\"$ref\":\"#", at)) != std::string::npos; ++references) {
    at += 9;
    const auto pointer = text.substr(at, text.find('"', at) - at);
    CHECK(served.contains(nlohmann::ordered_json::json_pointer(pointer)));
  }
  CHECK(references > 50);
}

// The API promises these: a member that goes or changes its name breaks who reads it.
TEST_CASE("each member that is shown is one of those that were promised") {
  std::string told;
  for (const auto& [name, schema] : openapi_check::here().text().at("components").at("schemas").items()) {
    if (!schema.contains("properties")) continue;
    told += name + ":";
    for (const auto& [member, of_it] : schema.at("properties").items())
      told += " " + member;
    told += "\n";
  }
  std::ifstream file(source_path("tests/dashboard/shown_members.txt"));
  CHECK(told == std::string(std::istreambuf_iterator<char>(file), {}));
}

TEST_CASE("what does not fit its schema is noticed") {
  const auto asked = dashboard_world::request("GET", "/api/v1/queues");
  const auto& check = openapi_check::here();
  web::http_response said;
  said.body = R"({"queues":[],"next":""})";
  CHECK(check.fault_of(asked, said).empty());
  for (const auto* wrong : {R"({"queues":[]})", R"({"queues":[],"next":7})", R"({"queues":[{}],"next":""})",
                            R"({"queues":[],"next":"","more":1})", "nonsense"}) {
    said.body = wrong;
    CHECK_FALSE(check.fault_of(asked, said).empty());
  }
}

}  // namespace sluice::test
