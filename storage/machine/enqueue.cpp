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

bool waits(const prepared_job& job) { return !job.after.parents.empty(); }

// In order: a job may run after one that stands before it.
std::vector<places> divide(std::span<const enqueue_part> together) {
  std::vector<places> scripts;
  std::size_t bytes = 0, parents = 0;
  for (const auto& [request, into] : together)
    for (std::size_t i = 0; i < request->jobs.size(); ++i) {
      const auto size = request->jobs[i].record.size();
      if (scripts.empty() || scripts.back().size() == jobs_a_script || bytes + size > bytes_a_script ||
          parents + request->jobs[i].after.parents.size() > parents_a_script ||
          waits(*scripts.back().front().job) != waits(request->jobs[i])) {
        scripts.emplace_back();
        bytes = parents = 0;
      }
      bytes += size;
      parents += request->jobs[i].after.parents.size();
      scripts.back().push_back({&request->jobs[i], into, i});
    }
  return scripts;
}

void add_parents(call& c, const run_after& after) {
  std::string on;
  for (const auto& [end, letter] :
       {std::pair(parent_end::succeeded, 's'), {parent_end::failed, 'f'}, {parent_end::deleted, 'd'}})
    if ((static_cast<unsigned>(after.on) & static_cast<unsigned>(end)) != 0) on += letter;
  const auto count = static_cast<std::uint32_t>(after.parents.size());
  c.add(on).add(after.unless == when_unmet::remove ? "d" : after.unless == when_unmet::run ? "r" : "k");
  c.add(after.need == 0 ? count : after.need);
  c.add(after.missing == when_missing::refuse ? "" : after.missing == when_missing::met ? "r" : "d").add(count);
  for (const auto& parent : after.parents)
    c.add(parent.value);
}

call call_for(const places& some) {
  const bool wait = waits(*some.front().job);
  call c(wait ? script::enqueue_after : script::enqueue);
  for (const auto& p : some) {
    c.add(p.job->id.value).add(p.job->queue.value).add(p.job->delay.count()).add(p.job->record);
    if (wait) add_parents(c, p.job->after);
  }
  return c;
}

void read_stored(steps& x, const places& some, const item& reply) {
  for (std::size_t i = 0; i < some.size() && i < reply.size(); ++i) {
    const auto stored = reply[i].text();
    if (stored.empty()) made_work(x, *some[i].job);
    if (auto* filled = filling<enqueue_answer>(*some[i].into))
      filled->each[some[i].at] = compare(x, *some[i].job, stored);
  }
}

// The same of jobs that run after others.
void read_stored_after(steps& x, const places& some, const item& reply) {
  for (std::size_t i = 0; i < some.size() && 2 * i + 1 < reply.size(); ++i) {
    auto* filled = filling<enqueue_answer>(*some[i].into);
    const auto what = reply[2 * i].text(), about = reply[2 * i + 1].text();
    if (!filled || what == "stored") continue;
    if (what == "missing") filled->missing.emplace(some[i].at, about);
    filled->each[some[i].at] = what == "missing" ? errc::not_found : compare(x, *some[i].job, about);
  }
  x.made_work.add_encoded(reply[2 * some.size()].text());
}

}  // namespace

void ask(steps& x, std::span<const enqueue_part> together) {
  for (const auto& [request, into] : together)
    *into = enqueue_answer{std::vector<errc>(request->jobs.size())};
  for (const auto& some : divide(together)) {
    x.send(
        call_for(some),
        [&x, some](const item& reply) {
          waits(*some.front().job) ? read_stored_after(x, some, reply) : read_stored(x, some, reply);
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
