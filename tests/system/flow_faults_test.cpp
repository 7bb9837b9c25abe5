// Groups, chains, children, unique keys and cancels, while four server processes are killed and stopped, and their
// Redis is killed. TEST_SECONDS says for how long.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <unordered_map>

#include "support/catch.hpp"
#include "system/worker_world.hpp"

namespace sluice::test {
namespace {

constexpr int members = 1'000, chain_length = 100, fans = 30, twins = 20, keys = 5;
const std::vector<std::string> names{"one", "two", "three", "four"};

struct perhaps_redis {
  std::unique_ptr<redis_server> redis;
};

struct flow_world : perhaps_redis, worker_world {
  explicit flow_world(const std::string& store)
      : perhaps_redis{store == "Redis" ? std::make_unique<redis_server>(redis_options{.appendonly = "always"})
                                       : nullptr},
        worker_world(settings(), redis ? redis->url() : std::string()) {}

  // Nobody fails for a fault of its servers, and nothing is pruned before it was looked at.
  static json settings() {
    const json keep{{"age", "24h"}, {"count", 10'000'000}};
    return {{"lease", "2s"},
            {"sweep_interval", "500ms"},
            {"max_losses", 20},
            {"retention", {{"succeeded", keep}, {"failed", keep}, {"deleted", keep}}},
            {"queues", {{"default", {{"workers", 8}}}, {"next", {{"workers", 4}}}}}};
  }

  bool is_anybody_at_work() {
    std::uint64_t all = 0;
    for (const auto* queue : {"default", "next"}) {
      const auto c = counts(queue);
      all += c.enqueued + c.scheduled + c.throttled + c.processing;
    }
    return all > 0;
  }
};

// Asked again until the store has answered.
template <class Ask>
auto insist(const Ask& ask) {
  auto told = ask();
  eventually(
      [&] {
        const bool open = !told && (is_transient(told.error().code) || told.error().code == errc::unknown_outcome);
        if (open) told = ask();
        return !open;
      },
      120s);
  return told;
}

// From a thread of its own: what happens to the servers and to their Redis, one after the other, to whom by chance,
// until it is told to end.
class faults {
public:
  faults(flow_world& w, unsigned seed) : w_(w), dice_(seed) {
    for (const auto& name : names)
      servers_.emplace_back(std::in_place, w.worker(name));
    thread_ = std::thread([this] { run(); });
  }
  ~faults() { end(); }

  // All servers run then.
  void end() {
    over_ = true;
    if (thread_.joinable()) thread_.join();
  }

  int kills = 0, stops = 0, restarts = 0;  // after `end`
  std::string trouble;

private:
  void run() {
    try {
      while (!over_) {
        one();
        pause(500, 1500);
      }
    } catch (const std::exception& e) {
      trouble = e.what();
    }
  }

  void one() {
    const auto which = roll(0, 3), other = (which + roll(1, 3)) % 4;
    switch (faults_++ % (w_.redis ? 5 : 4)) {
      case 0: stop(which, [&] { pause(100, 1500); }); break;   // its leases hold
      case 1: stop(which, [&] { pause(2500, 4000); }); break;  // they do not
      case 2: stop(which, [&] { kill(other); }); break;
      case 3: kill(which); break;
      default:
        w_.redis->kill();
        pause(0, 1000);
        w_.redis->start();
        ++restarts;
    }
  }

  template <class Meanwhile>
  void stop(std::size_t which, const Meanwhile& meanwhile) {
    if (!servers_[which]->stop()) throw std::runtime_error(names[which] + " ended: " + servers_[which]->log());
    meanwhile();
    servers_[which]->signal(SIGCONT);
    ++stops;
  }
  void kill(std::size_t which) {
    servers_[which]->signal(SIGKILL);
    if (servers_[which]->exit_code(20s) != -SIGKILL) throw std::runtime_error(names[which] + " ended before");
    pause(0, 1000);
    // Not waited for: one that is stopped may hold up the store.
    servers_[which].emplace(w_.words_of_worker(names[which]), w_.folder.file(names[which] + ".log"));
    ++kills;
  }

  std::size_t roll(std::size_t least, std::size_t most) {
    return std::uniform_int_distribution<std::size_t>(least, most)(dice_);
  }
  void pause(std::size_t least, std::size_t most) {
    eventually([&] { return over_.load(); }, std::chrono::milliseconds(roll(least, most)));
  }

  flow_world& w_;
  std::mt19937 dice_;
  int faults_ = 0;
  std::vector<std::optional<process>> servers_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

// What was stored, so that one can say how all of it has to end.
struct plan {
  struct group {
    std::vector<std::string> jobs, groups;
    bool may_lose_members = false;  // by its cancel, or to jobs with the same unique keys
  };
  struct child {
    std::string id;
    run_after after;
  };
  std::map<std::string, group> groups;
  std::vector<child> children;                            // with parents
  std::set<std::string> failing;                          // when they run
  std::set<std::string> cancelled;                        // or asked to
  std::map<std::string, std::vector<std::string>> twins;  // by the key that they have until they end
  std::uint64_t kept = 0;
};

// Round by round: a group of 1,000, some of it in groups in it; those who wait for it; a chain of 100; children of some
// members; a group of jobs with unique keys; cancels.
class load {
public:
  load(flow_world& w, unsigned seed) : w_(w), dice_(seed) {}

  plan made;
  int rounds = 0;

  void put_round() {
    const int r = rounds++;
    const auto name = "r" + std::to_string(r);
    const auto groups = make_groups(r, name);
    if (r % 2 == 0) put_callbacks(r, name);
    const auto jobs = put_members(r, groups);
    put(chain(r, name + "-chain"));
    put(children_of(name, jobs));
    if (r % 3 == 1) put_kept(name, jobs[7]);
    for (const auto& group : groups)
      must(insist([&] { return w_.client->seal_group(group_name(group)); }), "seal " + group);
    if (r % 2 == 1) put_callbacks(r, name);
    put_twins(r, name + "-twins");
    if (r % 7 == 3) cancel_group(name);
    if (r % 2 == 0)
      for (int i = 0; i < 10; ++i)
        cancel(jobs[pick(jobs.size())]);
    if (endless_.size() > 1) cancel_endless();  // of the round before: most of them run
  }

  // All that goes on until it is stopped is stopped.
  void end() {
    while (!endless_.empty())
      cancel_endless();
  }

private:
  static void must(const result<void>& r, const std::string& what) {
    if (!r) throw std::runtime_error(what + ": " + to_string(r.error()));
  }

  // Those that were stored. Refused for good may be who has a unique key that another has.
  std::set<std::string> put(const std::vector<new_job>& jobs) {
    std::set<std::string> stored;
    auto left = jobs;
    const bool done = eventually(
        [&] {
          std::vector<new_job> again;
          const auto told = w_.client->enqueue_reporting(left);
          for (std::size_t i = 0; i < left.size(); ++i) {
            if (told[i] && told[i]->what != enqueue_result::duplicate) stored.insert(left[i].id.value);
            if (told[i] || told[i].error().code == errc::unique_conflict) continue;
            const auto code = told[i].error().code;
            if (!is_transient(code) && code != errc::unknown_outcome && code != errc::not_found)
              throw std::runtime_error(left[i].id.value + ": " + to_string(told[i].error()));
            again.push_back(left[i]);  // not_found: its parent, of the same call
          }
          left = std::move(again);
          return left.empty();
        },
        120s);
    if (!done) throw std::runtime_error("not all of a round can be stored");
    for (const auto& j : jobs)
      if (stored.contains(j.id.value) && (!j.after.parents.empty() || !j.after.groups.empty()))
        made.children.push_back({j.id.value, j.after});
    return stored;
  }

  // Each in the one before it.
  std::vector<std::string> make_groups(int r, const std::string& name) {
    std::vector<std::string> all{name};
    for (int depth = 1; depth <= (r % 8 == 0 ? 2 : r % 4 == 0 ? 1 : 0); ++depth)
      all.push_back(all.back() + ".in");
    for (std::size_t i = 0; i < all.size(); ++i) {
      const group_name in(i == 0 ? "" : all[i - 1]);
      must(insist([&] { return w_.client->create_group({group_name(all[i]), in}); }), "make " + all[i]);
      if (i > 0) made.groups[all[i - 1]].groups.push_back(all[i]);
      made.groups[all[i]];
    }
    return all;
  }

  std::vector<std::string> put_members(int r, const std::vector<std::string>& groups) {
    std::vector<new_job> jobs;
    std::vector<std::string> ids, endless;
    for (int i = 0; i < members; ++i) {
      const auto& group = groups[static_cast<std::size_t>(i) % groups.size()];
      auto j = noop("r" + std::to_string(r) + "-" + std::to_string(i), {{"ms", 30}});
      if (r % 3 == 1 && i % 200 == 7) {
        j.type = job_type("tells");
        j.args = R"({"fault": "as told"})";
        j.retry.attempts = i % 400 == 7 ? 0 : 1;
        j.retry.delay = 20ms;
        made.failing.insert(j.id.value);
      }
      if (r % 2 == 0 && i % 250 == 249) {
        j.args = R"({"until_stopped": true})";
        j.queue = "next";  // where it does not wait
        endless.push_back(j.id.value);
      }
      j.group = group_name(group);
      ids.push_back(j.id.value);
      made.groups[group].jobs.push_back(j.id.value);
      jobs.push_back(std::move(j));
    }
    put(jobs);
    endless_.push_back(std::move(endless));
    return ids;
  }

  void put_callbacks(int r, const std::string& group) {
    const auto callback = [&](const std::string& what, parent_end on, when_unmet unless) {
      auto j = noop(group + "-" + what, json::object(), "next");
      j.after.groups = {group_name(group)};
      j.after.on = on;
      j.after.unless = unless;
      return j;
    };
    auto last = callback("last", parent_end::finished, when_unmet::remove);
    last.after.parents = {job_id(group + "-finished")};
    put({callback("finished", parent_end::finished, when_unmet::remove),
         callback("succeeded", parent_end::succeeded, r % 4 < 2 ? when_unmet::remove : when_unmet::run),
         callback("failure", parent_end::first_failure, when_unmet::remove), std::move(last)});
  }

  // Some break in the middle.
  std::vector<new_job> chain(int r, const std::string& name) {
    std::vector<new_job> jobs;
    for (int i = 0; i < chain_length; ++i) {
      auto j = noop(name + std::to_string(i), json::object(), "next");
      if (i > 0) j.after.parents = {jobs.back().id};
      if (i == chain_length / 2 + 1 && r % 2 == 0) j.after.unless = when_unmet::run;
      if (r % 3 == 0 && i == chain_length / 2) {
        j.type = job_type("tells");
        j.args = R"({"fault": "as told"})";
        j.retry.attempts = 0;
        made.failing.insert(j.id.value);
      }
      jobs.push_back(std::move(j));
    }
    return jobs;
  }

  std::vector<new_job> children_of(const std::string& name, const std::vector<std::string>& parents) {
    static constexpr parent_end ends[]{parent_end::succeeded, parent_end::failed, parent_end::deleted,
                                       parent_end::finished, parent_end::failed | parent_end::deleted};
    std::vector<new_job> jobs;
    for (int i = 0; i < fans; ++i) {
      auto j = noop(name + "-fan" + std::to_string(i), json::object(), "next");
      std::set<std::string> its;
      while (its.size() < 1 + pick(5))
        its.insert(parents[pick(2) == 0 ? pick(parents.size()) : 7 + 200 * pick(5)]);
      for (const auto& id : its)
        j.after.parents.emplace_back(id);
      j.after.on = ends[pick(std::size(ends))];
      j.after.need = static_cast<std::uint32_t>(pick(its.size() + 1));
      j.after.unless = pick(2) == 0 ? when_unmet::remove : when_unmet::run;
      jobs.push_back(std::move(j));
    }
    return jobs;
  }

  void put_kept(const std::string& name, const std::string& failing) {
    auto j = noop(name + "-kept", json::object(), "next");
    j.after.parents = {job_id(failing)};
    j.after.unless = when_unmet::keep;
    put({std::move(j)});
    ++made.kept;
  }

  // Half of them have keys until they end; the others until they start, or wait for whoever has it.
  void put_twins(int r, const std::string& group) {
    must(insist([&] { return w_.client->create_group({group_name(group)}); }), "make " + group);
    made.groups[group].may_lose_members = true;
    std::vector<new_job> jobs;
    for (int i = 0; i < twins; ++i) {
      const auto key = (i % 2 == 0 ? "end" : "start") + std::to_string(pick(keys));
      auto j = noop("u" + std::to_string(r) + "-" + std::to_string(i), {{"key", key}, {"ms", 20}});
      j.group = group_name(group);
      auto& rule = j.unique.emplace();
      rule.by = "{key}";
      if (i % 2 == 0) {
        static constexpr when_taken then[]{when_taken::skip, when_taken::replace, when_taken::refuse};
        rule.then = then[pick(std::size(then))];
      } else if (i % 4 == 1) rule.then = when_taken::coalesce;
      else rule.until = unique_until::start;
      jobs.push_back(std::move(j));
    }
    for (const auto& id : put(jobs)) {
      made.groups[group].jobs.push_back(id);
      const auto& j = *std::find_if(jobs.begin(), jobs.end(), [&](const new_job& one) { return one.id.value == id; });
      const auto key = json::parse(j.args).at("key").get<std::string>();
      if (key.starts_with("end")) made.twins[key].push_back(id);
    }
    must(insist([&] { return w_.client->seal_group(group_name(group)); }), "seal " + group);
    put_callbacks(r, group);
  }

  // Too late is fine.
  void cancel(const std::string& id) {
    made.cancelled.insert(id);
    const auto told = insist([&] { return w_.client->cancel(job_id(id)); });
    if (!told && told.error().code != errc::illegal_transition) must(told.error(), "cancel " + id);
  }
  void cancel_endless() {
    for (const auto& id : endless_.front())
      cancel(id);
    endless_.erase(endless_.begin());
  }
  void cancel_group(const std::string& name) {
    const auto told = insist([&] { return w_.client->cancel_group(group_name(name)); });
    if (!told && told.error().code != errc::illegal_transition) must(told, "cancel " + name);
    for (auto in = name; made.groups.contains(in); in += ".in")
      made.groups.at(in).may_lose_members = true;
  }

  std::size_t pick(std::size_t of) { return std::uniform_int_distribution<std::size_t>(0, of - 1)(dice_); }

  flow_world& w_;
  std::mt19937 dice_;
  std::vector<std::vector<std::string>> endless_;
};

// How a job has ended, as the store tells.
struct seen_end {
  job_state state;
  std::uint64_t first_fence = 0, last_fence = 0;
  bool cancelled_in_run = false;
  steady_time began{}, ended{};  // its first run, and that which succeeded
};

// What stands in the store and in the logs of the handlers, against the plan; faults as sentences.
class judge {
public:
  judge(flow_world& w, const plan& p) : w_(w), plan_(p) {
    const auto runs = w.runs(names);
    std::set<std::uint64_t> known;
    for (const auto state : {job_state::succeeded, job_state::failed, job_state::deleted, job_state::awaiting})
      read(state, runs, known);
    for (const auto& [fence, run] : runs)
      if (!known.contains(fence)) fault(run.id + ", fence " + std::to_string(fence) + ": the store knows not");
    for (const auto& [name, group] : plan_.groups)
      look_at_group(name, group);
    for (const auto& child : plan_.children)
      look_at(child);
    for (const auto& id : plan_.failing)
      if (auto it = ends_.find(id); it != ends_.end() && it->second.state == job_state::succeeded)
        fault(id + " has succeeded, and its handler failed");
    for (const auto& [key, ids] : plan_.twins)
      look_at_twins(key, ids);
  }

  std::vector<std::string> faults;
  std::size_t jobs() const { return ends_.size(); }
  int lost = 0, doubled = 0, cancelled_in_run = 0, cancelled_groups = 0, deleted_children = 0;
  std::map<job_state, int> group_ends;

private:
  void fault(const std::string& what) {
    if (faults.size() < 20) faults.push_back(what);  // enough to see what is wrong
  }

  void read(job_state state, const seen_runs& runs, std::set<std::uint64_t>& known) {
    job_query query;
    query.state = state;
    query.limit = 200;
    query.with_args = false;
    do {
      const auto page = w_.client->list(query);
      if (!page) throw std::runtime_error(to_string(page.error()));
      query.after = page->next;
      for (const auto& j : page->jobs)
        look_at(j, runs, known);
    } while (!query.after.empty());
  }

  // One end, of its last run; of the runs before it none succeeded. What has succeeded ran to its end.
  void look_at(const job& j, const seen_runs& runs, std::set<std::uint64_t>& known) {
    seen_end end{j.state, 0, 0, false, steady_time::max(), {}};
    int successes = 0, began = 0;
    bool is_last = false;
    for (const auto& row : j.history) {
      if (row.fence.value == 0) continue;
      const auto about = j.id.value + ", fence " + std::to_string(row.fence.value) + ": " + row.cause;
      if (!known.insert(row.fence.value).second) fault(about + ": the second outcome of one fence");
      if (row.fence.value <= end.last_fence) fault(about + ": behind a newer run");
      if (end.first_fence == 0) end.first_fence = row.fence.value;
      end.last_fence = row.fence.value;
      is_last = row.end == run_end::succeeded;
      successes += is_last;
      lost += row.cause == "lost";
      end.cancelled_in_run = row.cause == "cancelled";
      const auto run = runs.find(row.fence.value);
      const bool ran = run != runs.end();
      began += ran;
      if (ran) end.began = std::min(end.began, run->second.begin);
      if (ran && is_last && run->second.end) end.ended = *run->second.end;
      if (ran && (run->second.id != j.id.value || !was_on(row, run->second.by)))
        fault(about + ": was run as " + run->second.id + " by " + run->second.by);
      if (is_last && !(ran && run->second.end)) fault(about + ": did not run to its end");
    }
    doubled += began > 1;
    cancelled_in_run += end.cancelled_in_run;
    const bool succeeded = j.state == job_state::succeeded;
    if (successes != succeeded || is_last != succeeded)
      fault(j.id.value + " is " + std::string(name_of(j.state)) + " and succeeded " + std::to_string(successes) +
            " times");
    if (!ends_.emplace(j.id.value, end).second) fault(j.id.value + " is in the store twice");
  }

  const seen_end& end_of(const std::string& id) {
    static const seen_end nobody{job_state::awaiting};
    const auto found = ends_.find(id);
    if (found == ends_.end()) fault(id + " has not ended, or is not in the store");
    return found == ends_.end() ? nobody : found->second;
  }

  job_state end_of_group(const std::string& name) {
    const auto& g = statuses_.at(name);
    return g.failed > 0 ? job_state::failed : g.deleted > 0 || g.cancelled ? job_state::deleted : job_state::succeeded;
  }
  std::uint64_t last_fence_in(const std::string& name) {
    const auto& group = plan_.groups.at(name);
    std::uint64_t last = 0;
    for (const auto& id : group.jobs)
      last = std::max(last, end_of(id).last_fence);
    for (const auto& in : group.groups)
      last = std::max(last, last_fence_in(in));
    return last;
  }

  // It has counted each member once, by how it ended.
  void look_at_group(const std::string& name, const plan::group& group) {
    if (statuses_.contains(name)) return;
    for (const auto& in : group.groups)
      look_at_group(in, plan_.groups.at(in));
    const auto told = w_.client->group(group_name(name));
    if (!told) return fault("group " + name + ": " + to_string(told.error()));
    statuses_[name] = *told;
    std::map<job_state, std::uint64_t> counted;
    for (const auto& id : group.jobs) {
      const auto state = end_of(id).state;
      ++counted[state];
      if (state == job_state::deleted && !group.may_lose_members && !plan_.cancelled.contains(id))
        fault(id + " is deleted, and nobody asked for that");
      if (state == job_state::failed && !plan_.failing.contains(id)) fault(id + " has failed, and its handler did not");
    }
    for (const auto& in : group.groups)
      ++counted[end_of_group(in)];
    const auto in_words = [](std::uint64_t open, std::uint64_t succeeded, std::uint64_t failed, std::uint64_t deleted) {
      return std::to_string(open) + " open, " + std::to_string(succeeded) + " succeeded, " + std::to_string(failed) +
             " failed, " + std::to_string(deleted) + " deleted";
    };
    const auto says = in_words(told->open, told->succeeded, told->failed, told->deleted);
    const auto holds =
        in_words(0, counted[job_state::succeeded], counted[job_state::failed], counted[job_state::deleted]);
    if (says != holds) fault("group " + name + " says " + says + " and holds " + holds);
    if (!told->finished_at) fault("group " + name + " has not ended");
    cancelled_groups += told->cancelled;
    ++group_ends[end_of_group(name)];
  }

  // It ended as its parents' ends say, and did not begin before they had.
  void look_at(const plan::child& child) {
    const auto& after = child.after;
    const auto counts = [&](job_state end) {
      const auto as = end == job_state::succeeded ? parent_end::succeeded
                      : end == job_state::failed  ? parent_end::failed
                                                  : parent_end::deleted;
      return (static_cast<unsigned>(after.on) & static_cast<unsigned>(as)) != 0;
    };
    std::size_t met = 0;
    std::uint64_t parents_fence = 0;
    for (const auto& id : after.parents) {
      met += counts(end_of(id.value).state);
      parents_fence = std::max(parents_fence, end_of(id.value).last_fence);
    }
    for (const auto& group : after.groups) {
      if (!statuses_.contains(group.value)) return;  // told already
      met += after.on == parent_end::first_failure ? statuses_.at(group.value).failed > 0
                                                   : counts(end_of_group(group.value));
      parents_fence = std::max(parents_fence, last_fence_in(group.value));
    }
    const auto all = after.parents.size() + after.groups.size();
    const auto need = after.need == 0 ? all : after.need;
    const auto& end = end_of(child.id);
    const auto about = child.id + ", of whose " + std::to_string(all) + " parents " + std::to_string(met) +
                       " ended as it wants, and " + std::to_string(need) + " have to, ";
    const bool ran = end.last_fence != 0;
    if (met >= need || after.unless == when_unmet::run) {
      const auto as = plan_.failing.contains(child.id) ? job_state::failed : job_state::succeeded;
      if (end.state != as) fault(about + "is " + std::string(name_of(end.state)));
    } else {
      const auto as = after.unless == when_unmet::keep ? job_state::awaiting : job_state::deleted;
      if (end.state != as) fault(about + "is " + std::string(name_of(end.state)));
      if (ran) fault(about + "ran");
      ++deleted_children;
    }
    if (ran && met == need && need == all && after.on != parent_end::first_failure && end.first_fence < parents_fence)
      fault(about + "was started before they had ended");
  }

  // One at a time: of those who ran, each began when the one before had ended.
  void look_at_twins(const std::string& key, const std::vector<std::string>& ids) {
    std::vector<std::pair<seen_end, std::string>> ran;
    for (const auto& id : ids)
      if (end_of(id).state == job_state::succeeded) ran.emplace_back(end_of(id), id);
    std::sort(ran.begin(), ran.end(), [](const auto& a, const auto& b) { return a.first.began < b.first.began; });
    for (std::size_t i = 1; i < ran.size(); ++i)
      if (ran[i].first.began < ran[i - 1].first.ended)
        fault(ran[i].second + " began while " + ran[i - 1].second + " had the key " + key);
  }

  flow_world& w_;
  const plan& plan_;
  std::unordered_map<std::string, seen_end> ends_;
  std::map<std::string, group_status> statuses_;
};

// Who still waits, and why, as far as it fits.
std::string who_waits(flow_world& w) {
  std::string text;
  for (const auto state : {job_state::awaiting, job_state::enqueued, job_state::processing}) {
    job_query query;
    query.state = state;
    query.limit = 5;
    if (const auto page = w.client->list(query))
      for (const auto& j : page->jobs)
        text += w.sluice({"explain", j.id.value}).out + "\n";
  }
  return text;
}

std::chrono::seconds test_seconds(int usually) {
  const char* told = std::getenv("TEST_SECONDS");
  return std::chrono::seconds(told ? std::atoi(told) : usually);
}

void go_through_faults(const std::string& store, std::chrono::seconds how_long) {
  const auto seed = static_cast<unsigned>(std::random_device{}());
  CAPTURE(store, seed);
  flow_world w(store);
  load all(w, seed);
  faults harm(w, seed);
  const auto begin = steady_clock::now();
  // Not so much ahead that what ends a round would come only behind the faults.
  while (steady_clock::now() < begin + how_long) {
    all.put_round();
    eventually([&] { return w.counts().enqueued < 2 * members; }, 20s);
  }
  harm.end();
  CHECK(harm.trouble == "");
  all.end();
  const bool over = eventually(
      [&] { return !w.is_anybody_at_work() && w.counts("next").awaiting == all.made.kept && !w.counts().awaiting; },
      180s);
  INFO((over ? "" : who_waits(w)));
  CHECK(over);
  judge told(w, all.made);
  std::printf(
      "%s, seed %u: %zu jobs in %d rounds and %.0f s; %d kills, %d stops, %d restarts of the store; %d runs lost, %d "
      "jobs run more than once; of groups %d succeeded, %d failed, %d deleted, %d cancelled; %d children unmet; %d "
      "cancelled while they ran\n",
      store.c_str(), seed, told.jobs(), all.rounds, std::chrono::duration<double>(steady_clock::now() - begin).count(),
      harm.kills, harm.stops, harm.restarts, told.lost, told.doubled, told.group_ends[job_state::succeeded],
      told.group_ends[job_state::failed], told.group_ends[job_state::deleted], told.cancelled_groups,
      told.deleted_children, told.cancelled_in_run);
  CHECK(told.faults == none);
  CHECK(told.lost > 0);
  CHECK((harm.restarts > 0) == (store == "Redis"));
  CHECK(told.cancelled_in_run > 0);
  CHECK(w.sluice({"audit"}).out == "nothing is wrong\n");
  // Nobody has a key any more.
  for (const auto* kind : {"end", "start"})
    for (int i = 0; i < keys; ++i) {
      auto j = noop("afterwards-" + std::string(kind) + std::to_string(i), {{"key", kind + std::to_string(i)}});
      j.unique = unique_rule{.by = "{key}", .then = when_taken::refuse};
      CHECK(w.client->enqueue(std::move(j)).ok());
    }
}

}  // namespace

TEST_CASE("groups, chains, unique keys and cancels keep their promises while servers and their Redis are killed",
          "[.long]") {
  go_through_faults("Redis", test_seconds(60));
}

TEST_CASE("groups, chains, unique keys and cancels keep their promises while servers on one file are killed",
          "[.long]") {
  go_through_faults("SQLite", test_seconds(20));
}

}  // namespace sluice::test
