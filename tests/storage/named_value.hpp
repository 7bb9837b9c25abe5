// Values that are stored by their names, as bytes, to put them where the rules will find them.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace sluice::test {

inline std::string packed(const nlohmann::json& value) {
  std::string bytes;
  nlohmann::json::to_msgpack(value, bytes);
  return bytes;
}

inline std::string schedule_value(const nlohmann::json& version, const nlohmann::json& runs = nlohmann::json::array()) {
  return packed({{"version", version}, {"record", ""}, {"runs", runs}});
}
inline std::string place_value(std::uint64_t number) {
  return packed({{"offset", 0}, {"span", 60'000'000}, {"number", number}});
}
// What anna did in the dashboard.
inline std::string act_value(std::uint64_t number) {
  return packed({{"number", number},
                 {"at", 1},
                 {"until", 1},
                 {"count", 1},
                 {"by", {{"name", "anna"}, {"through", "dashboard"}}},
                 {"what", "pause"},
                 {"about", {"idle"}}});
}

}  // namespace sluice::test
