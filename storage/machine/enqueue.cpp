#include "core/codec.hpp"
#include "storage/machine/transitions.hpp"

namespace sluice::storage::machine {
namespace {

// The same id again: the same job, or another that may not have it.
errc compare(steps& x, const prepared_job& wanted, std::string_view stored_record) {
  if (stored_record.empty()) return errc::none;
  const auto stored = decode_content(wanted.id, stored_record);
  const auto offered = decode_content(wanted.id, wanted.record);
  if (!stored) {
    damaged(x, {wanted.id.value, {}, {}, stored_record, {}, {}});
    return errc::id_conflict;
  }
  return offered && stored->same_job(*offered) ? errc::none : errc::id_conflict;
}

struct place {
  const prepared_job* job;
  answer* into;
  std::size_t at;
};
using places = std::vector<place>;

// Each of which is looked for.
constexpr std::size_t parents_a_script = 500;

std::size_t parents_of(const prepared_job& job) { return job.after.parents.size() + job.after.groups.size(); }

// In order: a job may run after one that stands before it.
std::vector<places> divide(std::span<const enqueue_part> together) {
  std::vector<places> scripts;
  std::size_t bytes = 0, parents = 0;
  for (const auto& [request, into] : together)
    for (std::size_t i = 0; i < request->jobs.size(); ++i) {
      const auto size = request->jobs[i].record.size();
      if (scripts.empty() || scripts.back().size() == jobs_a_script || bytes + size > bytes_a_script ||
          parents + parents_of(request->jobs[i]) > parents_a_script ||
          scripts.back().front().job->is_plain() != request->jobs[i].is_plain()) {
        scripts.emplace_back();
        bytes = parents = 0;
      }
      bytes += size;
      parents += parents_of(request->jobs[i]);
      scripts.back().push_back({&request->jobs[i], into, i});
    }
  return scripts;
}

call call_for(const places& some) {
  const bool plain = some.front().job->is_plain();
  call c(plain ? script::enqueue : script::enqueue_flow);
  for (const auto& p : some) {
    if (plain) c.add(p.job->id.value).add(p.job->queue.value).add(p.job->delay.count()).add(p.job->record);
    else add_flow_job(c, *p.job);
  }
  return c;
}

void read_stored(steps& x, const places& some, const item& reply) {
  for (std::size_t i = 0; i < some.size() && i < reply.size(); ++i) {
    const auto stored = reply[i].text();
    if (stored.empty()) made_work(x, *some[i].job);
    auto* filled = filling<enqueue_answer>(*some[i].into);
    if (!filled || stored.empty()) continue;
    filled->each[some[i].at] = compare(x, *some[i].job, stored);
    if (filled->each[some[i].at] == errc::none) filled->notes[some[i].at] = {};
  }
}

// What a script says of a job that has to do with others (lua/shared/flow_jobs.lua).
struct flow_word {
  std::string_view word;
  errc code;
  enqueue_answer::note::what what;
};
using what = enqueue_answer::note::what;
constexpr flow_word flow_words[] = {
    {"missing", errc::not_found, what::missing},      {"no_group", errc::not_found, what::no_group},
    {"sealed", errc::group_closed, what::sealed},     {"cancelled", errc::group_closed, what::cancelled},
    {"duplicate", errc::none, what::duplicate},       {"refused", errc::unique_conflict, what::refused},
    {"circle", errc::invalid_argument, what::circle}, {"stored", errc::none, what::replaced}};

// The same of jobs that have to do with others, or with time.
void read_stored_flow(steps& x, const places& some, const item& reply) {
  for (std::size_t i = 0; i < some.size() && 2 * i + 1 < reply.size(); ++i) {
    auto* filled = filling<enqueue_answer>(*some[i].into);
    const auto said = reply[2 * i].text(), about = reply[2 * i + 1].text();
    if (!filled || (said == "stored" && about.empty())) continue;
    const auto at = some[i].at;
    if (said == "there") {
      filled->each[at] = compare(x, *some[i].job, about);
      if (filled->each[at] == errc::none) filled->notes[at] = {};
      continue;
    }
    for (const auto& one : flow_words) {
      if (one.word != said) continue;
      filled->each[at] = one.code;
      filled->notes[at] = {one.what, std::string(about)};
    }
  }
  x.made_work.add_encoded(reply[2 * some.size()].text());
}

}  // namespace

void add_flow_job(call& c, const prepared_job& job) {
  const auto& after = job.after;
  std::string on;
  for (const auto& [end, letter] : {std::pair(parent_end::succeeded, 's'),
                                    {parent_end::failed, 'f'},
                                    {parent_end::deleted, 'd'},
                                    {parent_end::first_failure, 'e'}})
    if ((static_cast<unsigned>(after.on) & static_cast<unsigned>(end)) != 0) on += letter;
  const auto count = static_cast<std::uint32_t>(parents_of(job));
  c.add(job.id.value).add(job.queue.value).add(job.delay.count()).add(job.record);
  c.add(on).add(after.unless == when_unmet::remove ? "d" : after.unless == when_unmet::run ? "r" : "k");
  c.add(after.need == 0 ? count : after.need);
  c.add(after.missing == when_missing::refuse ? "" : after.missing == when_missing::met ? "r" : "d");
  c.add(job.group.value).add(job.added_by.id.value).add(job.added_by.fence.value);
  constexpr std::string_view points[] = {"e", "s", "p"};
  constexpr std::string_view rules[] = {"skip", "refuse", "replace", "extend", "coalesce"};
  c.add(job.unique_key).add(points[static_cast<std::size_t>(job.unique.until)]).add(job.unique.period.count());
  c.add(rules[static_cast<std::size_t>(job.unique.then)]).add(job.unique.at_most.count());
  for (const auto& within : {job.start_within, job.finish_within})
    within ? c.add(within->count()) : c.add("");
  c.add(count);
  for (const auto& parent : after.parents)
    c.add(parent.value);
  for (const auto& group : after.groups)
    c.add("@" + group.value);
}

void ask(steps& x, std::span<const enqueue_part> together) {
  for (const auto& [request, into] : together)
    *into = enqueue_answer{std::vector<errc>(request->jobs.size())};
  for (const auto& some : divide(together)) {
    x.send(
        call_for(some),
        [&x, some](const item& reply) {
          some.front().job->is_plain() ? read_stored(x, some, reply) : read_stored_flow(x, some, reply);
        },
        [some](const error& e) {
          for (const auto& p : some) {
            // Refused for want of room: others of the request may have been stored.
            auto* filled = filling<enqueue_answer>(*p.into);
            if (filled && e.code == errc::storage_full) filled->each[p.at] = e.code;
            else fails (*p.into)(e);
          }
        });
  }
}

}  // namespace sluice::storage::machine
