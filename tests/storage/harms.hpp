// Stores that are harmed by hand, for what the audit tells of them and the repair mends.
#pragma once

#include <algorithm>

#include "storage/flow_words.hpp"
#include "storage/raw_store.hpp"

namespace sluice::test {

// What stands in the store before the harm: a job "a", and what it needs.
inline void waiting(world& w) { put_all(w, {"a"}); }
inline void scheduled(world& w) { REQUIRE(put(w, {.id = "a", .delay = 1h}) == errc::none); }
inline void running(world& w) { started(w, "a"); }

// Above every number that was drawn, and still exact.
inline const std::string never_drawn = "9007199254740990";

struct harm {
  std::string rule;
  void (*before)(world&);
  std::vector<names> commands;
  names findings;                  // in order; P is the prefix
  void (*then)(world&) = nullptr;  // what holds when it was mended
};

template <class World>
std::string without_prefix(World& w, std::string text) {
  const auto prefix = w.key("");
  for (auto at = text.find(prefix); at != std::string::npos; at = text.find(prefix))
    text.replace(at, prefix.size(), "P:");
  return text;
}
// What the audit tells, in order.
template <class World>
names told(World& w) {
  const auto found = w.store().audit();
  REQUIRE(found.ok());
  names all;
  for (const auto& finding : *found)
    all.push_back(without_prefix(w, finding));
  std::sort(all.begin(), all.end());
  return all;
}
template <class World>
void harm_by(World& w, const harm& h) {
  h.before(w);
  REQUIRE(told(w) == names{});
  for (const auto& c : h.commands)
    w.command(c);
}

}  // namespace sluice::test

#define ON_HARMED_STORES(name) TEMPLATE_TEST_CASE(name, "[contract]", harmed_file_world, harmed_redis_world)
