// The words for jobs that have to do with others, beside those of contract.hpp.
#pragma once

#include "storage/contract.hpp"

namespace sluice::test {

inline job_state state(world& w, const std::string& id) { return get(w, id).state; }

// A job that waits, is started and ends so; the rest is settled by the same step.
inline void end(world& w, const std::string& id, how by = how::succeeded) {
  for (auto one = claim(w, {.free = 1}); one.jobs.size() == 1; one = claim(w, {.free = 1})) {
    const auto& found = one.jobs[0].job;
    if (found.id.value != id) {
      REQUIRE(settle(w, found, how::given_back) == errc::none);
      FAIL("job " << found.id.value << " goes before " << id);
    }
    REQUIRE(settle(w, found, by) == errc::none);
    return;
  }
  FAIL("job " << id << " cannot be claimed");
}

// Until nothing is owed any more; answers in how many steps.
inline int work_off(world& w) {
  int steps = 0;
  while (promote(w).next_in == std::optional(duration(0)))
    REQUIRE(++steps < 1000);
  return steps + 1;
}

// A job that is changed before it is stored.
template <class Change>
prepared_job changed(const job_words& words, Change&& change) {
  auto made = prepared(words);
  change(made);
  return made;
}
inline storage::enqueue_answer put_jobs(world& w, std::vector<prepared_job> jobs) {
  return ask(w, storage::enqueue_request{std::move(jobs)});
}
// What came of one: "stored", "same", "duplicate ID", "extended ID", "replaced ID", or the code of the refusal.
inline std::string report(const storage::enqueue_answer& told, std::size_t place = 0) {
  const auto said = storage::report_of(job_id("asked"), told, place);
  if (!said) return std::string(name_of(said.error().code));
  std::string text(name_of(said->what));
  if (said->what == enqueue_result::duplicate || said->what == enqueue_result::extended) text += " " + said->id.value;
  if (!said->is_kept) text += ", not kept";
  if (said->what == enqueue_result::replaced) text += " " + said->replaced.value;
  return text;
}

// Groups.
inline prepared_job member(const std::string& id, const std::string& group) {
  return changed({.id = id}, [&](prepared_job& j) { flow_of(j).group = group_name(group); });
}
inline void put_members(world& w, const std::string& group, const names& ids) {
  std::vector<prepared_job> all;
  for (const auto& id : ids)
    all.push_back(member(id, group));
  for (const auto code : put_jobs(w, std::move(all)).each)
    REQUIRE(code == errc::none);
}
inline prepared_job behind(const std::string& id, const std::string& group, parent_end on,
                           when_unmet unless = when_unmet::remove) {
  return changed({.id = id}, [&](prepared_job& j) {
    flow_of(j).after.groups = {group_name(group)};
    flow_of(j).after.on = on;
    flow_of(j).after.unless = unless;
  });
}
inline storage::change_answer change_group(world& w, storage::change_group_request::what what, new_group group) {
  return w.ask<storage::change_answer>(storage::change_group_request{what, std::move(group)});
}
inline storage::change_answer create(world& w, const std::string& name, const std::string& in = "") {
  return change_group(w, storage::change_group_request::what::create, {group_name(name), group_name(in)});
}
inline storage::change_answer seal(world& w, const std::string& name) {
  return change_group(w, storage::change_group_request::what::seal, {group_name(name)});
}
inline storage::change_answer cancel_group(world& w, const std::string& name) {
  return change_group(w, storage::change_group_request::what::cancel, {group_name(name)});
}
inline std::optional<group_status> group_now(world& w, const std::string& name) {
  auto page = w.ask<storage::groups_answer>(storage::groups_request{group_name(name), 1}).page;
  if (page.groups.empty()) return std::nullopt;
  return page.groups[0];
}
// "open 1 of 4, 2 succeeded, 1 failed", and in the end "sealed", "cancelled" or "finished".
inline std::string group_in_words(world& w, const std::string& name) {
  const auto g = group_now(w, name);
  if (!g) return "none";
  auto text = cat(g->open, " open, ", g->succeeded, " succeeded, ", g->failed, " failed, ", g->deleted, " deleted");
  if (g->cancelled) text += ", cancelled";
  else if (g->sealed) text += ", sealed";
  if (g->finished_at) text += ", finished";
  return text;
}

}  // namespace sluice::test
