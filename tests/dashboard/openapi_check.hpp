// Whether an answer fits what the OpenAPI text says of it: as much of JSON Schema as that text uses.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

#include "dashboard/routes.hpp"

namespace sluice::test {

class openapi_check {
public:
  using json = nlohmann::json;

  static const openapi_check& here() {
    static const openapi_check one;
    return one;
  }
  const json& text() const { return text_; }
  // What a part refers to, or the part itself.
  const json& resolved(const json& part) const {
    if (!part.contains("$ref")) return part;
    return text_.at(json::json_pointer(part.at("$ref").get<std::string>().substr(1)));
  }

  // What is wrong with it; empty: nothing is.
  std::string fault_of(const web::http_request& asked, const web::http_response& said) const {
    const auto found = web::find_route(asked);
    const auto& problem = text_.at("components").at("schemas").at("Problem");
    const auto& error = text_.at("components").at("responses").at("Problem");
    const json* responses = nullptr;
    if (found.way && found.way->is_for_people && said.status == 200) return {};
    if (found.way && !found.way->is_for_people) {
      std::string method(found.way->method);
      for (auto& c : method)
        c = static_cast<char>(std::tolower(c));
      const auto& operation = text_.at("paths").at(std::string(found.way->pattern)).at(method);
      responses = &operation.at("responses");
    }
    if (said.status == 304) return said.body.empty() ? "" : "a body with 304";
    const auto status = std::to_string(said.status);
    const auto& response = responses && responses->contains(status) ? resolved(responses->at(status)) : error;
    const auto type = said.type.substr(0, said.type.find(';'));
    if (!response.at("content").contains(type)) return status + " is not told as " + type;
    if (type == "text/plain" || type == "application/octet-stream") return {};
    const auto body = json::parse(said.body, nullptr, false);
    if (body.is_discarded()) return "no JSON";
    return fault(&response == &error ? problem : response.at("content").at(type).at("schema"), body, "");
  }

private:
  openapi_check() : text_(json::parse(web::openapi())) {}

  static bool is_a(const std::string& type, const json& value) {
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    return type == value.type_name();
  }

  std::string fault(const json& given, const json& value, const std::string& at) const {
    const auto& schema = resolved(given);
    if (schema.contains("anyOf")) {
      std::string why;
      for (const auto& one : schema.at("anyOf")) {
        why = fault(one, value, at);
        if (why.empty()) return {};
      }
      return why;
    }
    if (schema.contains("enum")) {
      for (const auto& one : schema.at("enum"))
        if (one == value) return {};
      return at + ": " + value.dump() + " is none of the words";
    }
    if (schema.contains("type")) {
      const auto& type = schema.at("type");
      bool fits = false;
      for (const auto& one : type.is_array() ? type : json::array({type}))
        fits = fits || is_a(one, value);
      if (!fits) return at + ": " + value.dump() + " is no " + type.dump();
    }
    if (value.is_array() && schema.contains("items"))
      for (std::size_t i = 0; i < value.size(); ++i)
        if (auto why = fault(schema.at("items"), value[i], at + "/" + std::to_string(i)); !why.empty()) return why;
    if (!value.is_object() || schema.value("type", json()) == "null") return {};
    const auto properties = schema.value("properties", json::object());
    for (const auto& name : schema.value("required", json::array()))
      if (!value.contains(name)) return at + " lacks " + name.get<std::string>();
    const auto others = schema.value("additionalProperties", json(true));
    for (const auto& [name, part] : value.items()) {
      if (!properties.contains(name) && others == false) return at + " has " + name;
      const auto& of = properties.contains(name) ? properties.at(name) : others;
      if (!of.is_object()) continue;
      if (auto why = fault(of, part, at + "/" + name); !why.empty()) return why;
    }
    return {};
  }

  json text_;
};

}  // namespace sluice::test
