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

std::vector<places> divide(std::span<const enqueue_part> together) {
  std::vector<places> scripts;
  std::size_t bytes = 0;
  for (const auto& [request, into] : together)
    for (std::size_t i = 0; i < request->jobs.size(); ++i) {
      const auto size = request->jobs[i].record.size();
      if (scripts.empty() || scripts.back().size() == jobs_a_script || bytes + size > bytes_a_script) {
        scripts.emplace_back();
        bytes = 0;
      }
      bytes += size;
      scripts.back().push_back({&request->jobs[i], into, i});
    }
  return scripts;
}

call call_for(const places& some) {
  call c(script::enqueue);
  for (const auto& p : some)
    c.add(p.job->id.value).add(p.job->queue.value).add(p.job->delay.count()).add(p.job->record);
  return c;
}

}  // namespace

void ask(steps& x, std::span<const enqueue_part> together) {
  for (const auto& [request, into] : together)
    *into = enqueue_answer{std::vector<errc>(request->jobs.size())};
  for (const auto& some : divide(together)) {
    x.send(
        call_for(some),
        [&x, some](const item& reply) {
          for (std::size_t i = 0; i < some.size() && i < reply.size(); ++i) {
            const auto stored = reply[i].text();
            if (stored.empty()) made_work(x, *some[i].job);
            if (auto* filled = filling<enqueue_answer>(*some[i].into))
              filled->each[some[i].at] = compare(x, *some[i].job, stored);
          }
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
