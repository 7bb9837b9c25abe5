// Which job types this server can run now, and which of them by an actor of the host. A type whose actor
// has died is not known, and so not claimed, until the host names another. Thread-safe.
#pragma once

#include <mutex>
#include <set>
#include <unordered_map>

#include <sluice/actors.hpp>

namespace sluice::actors {

class type_table {
public:
  using names = std::shared_ptr<const std::set<std::string, std::less<>>>;

  explicit type_table(const handler_registry& handlers);

  names known() const;

  struct place {
    caf::actor actor;  // null: it is gone
    std::shared_ptr<const actor_route> route;
    caf::actor_id was = 0;  // whose death made it null
  };
  place place_of(const std::string& type) const;

  // The types that actors of the host run, with those actors; null where it is gone.
  std::vector<std::pair<std::string, caf::actor>> handled_by_actor() const;

  // From now on this actor runs the type. False: the type is none that an actor runs.
  bool name_actor(const std::string& type, const caf::actor& actor);
  // The types that this actor ran; they are not known any more. Asked again, it answers the same.
  std::vector<std::string> actor_gone(caf::actor_id gone);

private:
  void change_known(const std::string& type, bool known);

  mutable std::mutex mutex_;
  names known_;
  std::unordered_map<std::string, place> places_;
};

}  // namespace sluice::actors
