// How a store and the model look, in words that are easy to compare.
#include "core/last_run.hpp"
#include "core/text.hpp"
#include "storage/model.hpp"

namespace sluice::test {
namespace {

using enum job_state;

// What `look` says beside the jobs themselves.
struct overview {
  std::map<std::pair<std::string, std::string>, names> lines;                // by queue and line
  std::map<std::pair<std::string, std::string_view>, std::uint64_t> counts;  // by queue and state
  std::set<std::string> paused;
  std::map<std::string, std::string> throttlers;
  std::map<std::string, std::string> locks;
  std::map<std::string, std::string> limiters;  // and when their lines open
  std::map<std::string, std::string> parents;   // by job
  names groups;
};

// Who has a permit, and of which run.
std::string holder(const std::string& id, sluice::fence run, bool reserved) {
  return cat(' ', id, reserved ? " reserved" : run.value == 0 ? " kept" : cat(" start ", run.value));
}
std::string about(const std::string& definition, names holders, const names& waiters) {
  std::sort(holders.begin(), holders.end());
  auto text = cat(definition, ", held by");
  for (const auto& h : holders)
    text += h;
  text += ", waited for by";
  for (const auto& id : waiters)
    text += ' ' + id;
  return text;
}

std::string line_in_words(const std::optional<time_point>& opens, const std::string& state) {
  return cat(opens ? cat("a check at ", micros(*opens)) : "no check", " and state ", state);
}
std::string limiter_of(const std::string& line) { return line.substr(0, line.find('/')); }

std::string in_words(const overview& o) {
  std::string text;
  for (const auto& [at, standing] : o.lines) {
    text += cat("line ", at.first, '/', at.second, ':');
    for (const auto& id : standing)
      text += ' ' + id;
    text += '\n';
  }
  for (const auto& [at, n] : o.counts)
    if (n > 0) text += cat("queue ", at.first, ' ', at.second, ' ', n, '\n');
  for (const auto& queue : o.paused)
    text += cat("queue ", queue, " is paused\n");
  for (const auto& [resource, said] : o.throttlers)
    text += cat(resource, ' ', said, '\n');
  for (const auto& [resource, said] : o.locks)
    text += cat(resource, " is ", said, '\n');
  for (const auto& [name, said] : o.limiters)
    text += cat(name, " has ", said, '\n');
  for (const auto& [id, said] : o.parents)
    if (!said.empty()) text += cat(id, " runs after ", said, '\n');
  for (const auto& said : o.groups)
    text += cat(said, '\n');
  return text;
}

}  // namespace

std::string model::look() const {
  std::vector<const stored_job*> all;
  for (const auto& [id, j] : jobs_)
    all.push_back(&j);
  std::string text;
  for (const auto* j : all) {  // by id
    auto shown = j->seen;
    if (shown.line.starts_with("type:") || shown.state == throttled) shown.reason = stores_words;
    // Once a throttled job goes on, its run is as if it had never been.
    const auto* last = last_run(shown);
    if (shown.state != processing && shown.state != throttled) shown.fence = last ? last->fence : sluice::fence{};
    text += face(shown) + '\n';
  }
  overview rest;
  rest.paused = paused_;
  std::sort(all.begin(), all.end(), [](auto* a, auto* b) { return a->place < b->place; });
  for (const auto* j : all) {
    const auto& queue = j->seen.queue.value;
    if (j->seen.state == enqueued) rest.lines[{queue, j->seen.line}].push_back(j->seen.id.value);
    ++rest.counts[{queue, name_of(j->seen.state)}];
  }
  std::set<std::string> resources;
  std::map<std::string, names> waiters;
  for (const auto* j : all)
    if (j->seen.state == throttled) waiters[j->seen.line].push_back(j->seen.id.value);
  for (const auto& [resource, d] : definitions_)
    resources.insert(resource);
  for (const auto& [resource, standing] : waiters)
    resources.insert(resource);
  for (const auto& [resource, holders] : permits_)
    if (!holders.empty()) resources.insert(resource);
  for (const auto& resource : resources) {
    names held;
    if (const auto has = permits_.find(resource); has != permits_.end())
      for (const auto& one : has->second) {
        const auto& p = one.second;
        const bool is_first = std::none_of(has->second.begin(), has->second.end(), [&p](const auto& other) {
          return other.second.chain.value > 0 && other.second.chain == p.chain && other.second.run < p.run;
        });
        if (is_first) held.push_back(holder(one.first, p.run, p.reserved));
      }
    const auto written = definitions_.find(resource);
    rest.throttlers[resource] =
        about(written == definitions_.end() ? "" : written->second.text, held, waiters[resource]);
  }
  for (const auto& resource : lock_names)
    rest.locks[resource] = in_words(holder_of(resource));
  for (const auto& limiter : limiter_names)
    rest.limiters[limiter] = in_words(view(limiter));
  for (const auto& line : limiter_lines) {
    const auto opens = next_checks_.find(line);
    rest.limiters["line " + line] = line_in_words(
        opens == next_checks_.end() ? std::nullopt : std::optional(opens->second), view(limiter_of(line)).state);
  }
  for (const auto& [id, j] : jobs_) {
    std::vector<parent_state> its;
    for (const auto& p : j.parents) {
      parent_state shown;
      p.name.starts_with('@') ? shown.group.value = p.name.substr(1) : shown.id.value = p.name;
      shown.met = p.met;
      its.push_back(shown);
    }
    rest.parents[id] = in_words(its);
  }
  for (const auto& [name, g] : groups_) {
    const auto n = [&g = g](job_state s) { return g.ended.contains(s) ? g.ended.at(s) : 0; };
    group_status shown;
    shown.name.value = name;
    shown.in.value = g.in;
    shown.sealed = g.sealed;
    shown.cancelled = g.cancelled;
    shown.open = g.open;
    shown.succeeded = n(succeeded);
    shown.failed = n(failed);
    shown.deleted = n(deleted);
    if (g.finished) shown.finished_at = clock_.now();
    rest.groups.push_back(in_words(shown));
  }
  return text + in_words(rest);
}

std::string model::look(world& w) {
  std::map<std::string, std::string> faces;
  for (const auto& j : list(w)) {
    auto& text = faces[j.id.value];
    text += face(j) + '\n';
    const auto alone = test::look(w, j.id.value).found;
    if (!alone || portrait(*alone) != portrait(j)) text += "but looked at alone it is another\n";
  }
  std::string text;
  for (const auto& [id, one] : faces)
    text += one;
  overview rest;
  job_query waiting;
  waiting.state = enqueued;
  for (const auto& j : list(w, waiting))
    rest.lines[{j.queue.value, j.line}].push_back(j.id.value);
  for (const auto& q : queues(w)) {
    for (int n = 1; n <= 8; ++n) {
      const auto state = static_cast<job_state>(n);
      rest.counts[{q.queue.value, name_of(state)}] = count_of(q, state);
    }
    if (q.quarantined > 0) text += cat("quarantined ", q.quarantined, '\n');
    if (q.paused) rest.paused.insert(q.queue.value);
  }
  for (const auto& row : all_throttlers(w)) {
    const auto told = one_throttler(w, row.resource, 200);
    names held, waiters;
    for (const auto& h : told.holders)
      held.push_back(holder(h.id.value, h.fence, h.reserved));
    for (const auto& id : told.waiters)
      waiters.push_back(id.value);
    rest.throttlers[row.resource] = about(row.definition, held, waiters);
    if (row.held != held.size() || row.waiting != waiters.size()) text += row.resource + " is counted wrongly\n";
  }
  for (const auto& resource : lock_names)
    rest.locks[resource] = who_holds(w, resource);
  std::vector<storage::request> questions;  // all at once: each look costs a store some round trips
  for (const auto& limiter : limiter_names)
    questions.emplace_back(storage::read_limiter_request{limiter});
  for (const auto& line : limiter_lines)
    questions.emplace_back(storage::throttler_request{line});
  questions.emplace_back(storage::groups_request{});
  names ids;
  for (const auto& one : faces) {
    ids.push_back(one.first);
    questions.emplace_back(storage::parents_request{job_id(one.first)});
  }
  const auto told = w.store().apply(questions);
  for (std::size_t i = 0; i < limiter_names.size(); ++i)
    rest.limiters[limiter_names[i]] = in_words(std::get<storage::read_limiter_answer>(told.at(i)).limiter);
  for (std::size_t i = 0; i < limiter_lines.size(); ++i) {
    const auto& line = std::get<storage::throttler_answer>(told.at(limiter_names.size() + i));
    rest.limiters["line " + limiter_lines[i]] = line_in_words(line.about.next_at, line.state);
  }
  const auto of_groups = limiter_names.size() + limiter_lines.size();
  for (const auto& g : std::get<storage::groups_answer>(told.at(of_groups)).page.groups)
    rest.groups.push_back(in_words(g));
  for (std::size_t i = 0; i < ids.size(); ++i)
    rest.parents[ids[i]] = in_words(std::get<storage::parents_answer>(told.at(of_groups + 1 + i)).parents);
  return text + in_words(rest);
}
}  // namespace sluice::test
