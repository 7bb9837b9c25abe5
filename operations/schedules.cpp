#include "operations/schedules.hpp"

#include <iterator>
#include <memory>
#include <set>

#include <sluice/cron.hpp>

#include "core/log.hpp"
#include "core/no_job.hpp"
#include "core/recurring.hpp"
#include "core/text.hpp"
#include "scheduler/recurrence.hpp"

namespace sluice::operations {
namespace {

constexpr int max_tries = 100;

struct changing_schedule : std::enable_shared_from_this<changing_schedule> {
  async_store store;
  std::string name;
  scheduler::schedule_change how;
  callback<storage::update_schedule_answer> then;
  int tries = 0;

  void begin() {
    if (++tries > max_tries)
      return then(error{errc::storage_busy,
                        cat("schedule ", printable(name, 200), " is being changed by others all the time")});
    storage::ask_for<storage::schedule_answer>(store, storage::schedule_request{name},
                                               [me = shared_from_this()](const result<storage::schedule_answer>& seen) {
                                                 if (seen) me->swap(*seen);
                                                 else me->then(seen.error());
                                               });
  }

  void swap(const storage::schedule_answer& seen) {
    auto wanted = how(seen);
    if (!wanted && !seen.row && wanted.error().code == errc::not_found)
      return tell_missing_schedule(store, name, [me = shared_from_this()](error why) { me->then(std::move(why)); });
    if (!wanted) return then(wanted.error());
    if (!*wanted) return then(storage::update_schedule_answer{false, seen.now, seen.row, {}});
    storage::ask_for<storage::update_schedule_answer>(
        store, std::move(**wanted), [me = shared_from_this()](result<storage::update_schedule_answer> told) {
          if (told && !told->updated) me->begin();
          else me->then(std::move(told));
        });
  }
};

void read_on(const async_store& store, std::string after, std::vector<storage::schedule_row> so_far,
             const callback<std::vector<storage::schedule_row>>& then) {
  storage::schedules_request wanted;
  wanted.after = std::move(after);
  storage::ask_for<storage::schedules_answer>(
      store, std::move(wanted),
      [store, so_far = std::move(so_far), then](result<storage::schedules_answer> page) mutable {
        if (!page) return then(page.error());
        std::move(page->rows.begin(), page->rows.end(), std::back_inserter(so_far));
        if (page->next.empty()) then(std::move(so_far));
        else read_on(store, std::move(page->next), std::move(so_far), then);
      });
}

}  // namespace

void tell_missing_schedule(const async_store& store, const std::string& name, const std::function<void(error)>& then) {
  all_schedules(store, [name, then](const result<std::vector<storage::schedule_row>>& all) {
    if (!all) return then(all.error());
    std::vector<std::string> names;
    for (const auto& row : *all)
      names.push_back(row.name);
    auto missing = scheduler::no_schedule(name);
    missing.message += instead_of(name, names);
    then(std::move(missing));
  });
}

void change_schedule(const async_store& store, const std::string& name, const scheduler::schedule_change& how,
                     const callback<storage::update_schedule_answer>& then) {
  const auto one = std::make_shared<changing_schedule>();
  one->store = store;
  one->name = name;
  one->how = how;
  one->then = then;
  one->begin();
}

void all_schedules(const async_store& store, const callback<std::vector<storage::schedule_row>>& then) {
  read_on(store, {}, {}, then);
}

namespace {

error of_schedule(const std::string& name, const error& e) {
  return {e.code, cat("schedule ", printable(name, 60), ": ", e.message)};
}

// Before any is stored.
result<void> check_all(const std::vector<recurring>& all) {
  std::set<std::string> known;
  for (const auto& one : all) {
    if (const auto fine = scheduler::check(one); !fine) return of_schedule(one.name, fine.error());
    if (!known.insert(one.name).second)
      return of_schedule(one.name, {errc::invalid_argument, "another has this name; give each its own"});
  }
  return {};
}

}  // namespace

result<void> apply_configuration(const std::vector<recurring>& all, bool prune, const storage::asker& ask) {
  const auto change = [&](const std::string& name, const scheduler::schedule_change& how) {
    return storage::carry_out<storage::update_schedule_answer>(
        ask, [&](const auto& store, const auto& then) { change_schedule(store, name, how, then); });
  };
  if (auto fine = check_all(all); !fine) return fine;
  const auto zones = all.empty() ? std::string() : time_zone_version();
  std::set<std::string> named;
  for (const auto& definition : all) {
    named.insert(definition.name);
    const auto text = write_recurring(definition);
    const auto changed = change(definition.name, scheduler::putting(definition, zones, text));
    if (!changed) return of_schedule(definition.name, changed.error());
    if (changed->updated)
      log::info("schedule ", definition.name, " is now ", write_recurring(without_content(definition)));
  }
  if (!prune) return {};
  const auto stored = storage::carry_out<std::vector<storage::schedule_row>>(ask, all_schedules);
  if (!stored) return stored.error();
  for (const auto& row : *stored) {
    if (named.contains(row.name) || !scheduler::is_configured(row)) continue;
    const auto removed = change(row.name, scheduler::removing(row.name));
    if (!removed) return removed.error();
    if (removed->updated) log::info("schedule ", row.name, " is removed: the configuration does not name it any more");
  }
  return {};
}

}  // namespace sluice::operations
