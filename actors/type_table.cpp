#include "actors/type_table.hpp"

namespace sluice::actors {

type_table::type_table(const handler_registry& handlers) {
  auto known = std::make_shared<std::set<std::string, std::less<>>>();
  for (const auto& [type, entry] : handlers.entries()) {
    if (entry.route) places_[type] = {entry.route->to(), entry.route, 0};
    if (!entry.route || entry.route->to()) known->insert(type);
  }
  known_ = std::move(known);
}

type_table::names type_table::known() const {
  std::lock_guard hold(mutex_);
  return known_;
}

type_table::place type_table::place_of(const std::string& type) const {
  std::lock_guard hold(mutex_);
  const auto found = places_.find(type);
  return found == places_.end() ? place{} : found->second;
}

std::vector<std::pair<std::string, caf::actor>> type_table::handled_by_actor() const {
  std::lock_guard hold(mutex_);
  std::vector<std::pair<std::string, caf::actor>> all;
  for (const auto& [type, where] : places_)
    all.emplace_back(type, where.actor);
  return all;
}

bool type_table::name_actor(const std::string& type, const caf::actor& actor) {
  std::lock_guard hold(mutex_);
  const auto found = places_.find(type);
  if (found == places_.end()) return false;
  found->second.actor = actor;
  found->second.was = 0;
  change_known(type, static_cast<bool>(actor));
  return true;
}

std::vector<std::string> type_table::actor_gone(caf::actor_id gone) {
  std::lock_guard hold(mutex_);
  std::vector<std::string> types;
  for (auto& [type, where] : places_) {
    if (where.actor && where.actor.id() == gone) {
      where.actor = nullptr;
      where.was = gone;
      change_known(type, false);
    }
    if (where.was == gone) types.push_back(type);
  }
  return types;
}

void type_table::change_known(const std::string& type, bool known) {
  auto changed = std::make_shared<std::set<std::string, std::less<>>>(*known_);
  if (known) changed->insert(type);
  else changed->erase(type);
  known_ = std::move(changed);
}

}  // namespace sluice::actors
