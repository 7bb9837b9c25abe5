#include "cache_refresh/jobs.hpp"

namespace sample {

bool is_heavy(const refresh& what) { return what.resource.starts_with("/catalogues/"); }

bool is_heavy(const std::string& args) {
  const auto read = nlohmann::json::parse(args, nullptr, false);
  const auto resource = read.is_object() ? read.find("resource") : read.end();
  return resource != read.end() && resource->is_string() && is_heavy(refresh{resource->get<std::string>()});
}

}  // namespace sample
