#include <tuple>

#include "core/job_state.hpp"
#include "storage/machine/transitions.hpp"

namespace sluice::storage::machine {
namespace {

// What a group of runs has in common.
auto group_of(const settlement& end) {
  return std::tuple(name_of(end.end), end.failure, end.delay, end.progress.has_value());
}

void add_group(call& c, const settlement& first, std::size_t size) {
  c.add(static_cast<std::uint64_t>(size)).add(name_of(first.end)).add(first.failure ? "1" : "0");
  c.add(std::max<std::int64_t>(0, first.delay.count())).add(first.progress ? "1" : "0");
}

void add_run(call& c, const settlement& end) {
  const bool succeeded = end.end == run_end::succeeded;
  const std::string nothing;
  auto said = counted(end.reason) + counted(succeeded ? end.text : nothing);
  if (end.progress) said += counted(write_report(*end.progress));
  c.add(end.run.id.value).add(end.run.fence.value).add(said);
  c.add(write_ended(end));
}

// How many from there are one call: of a number and of bytes.
std::size_t part_of(const std::vector<settlement>& all, std::size_t from) {
  std::size_t n = 0, bytes = 0;
  if (!all.empty() && !all[from].next.empty()) return 1;  // by itself: it may be refused for want of room
  for (; from + n < all.size() && n < jobs_a_call && all[from + n].next.empty(); ++n) {
    bytes += bytes_of(all[from + n]);
    if (n > 0 && bytes > bytes_a_call) break;
  }
  return n;
}

// Runs of alike ends, in the order they came, since answers are by place.
void add(call& c, const settlement* from, const settlement* to) {
  std::vector<std::pair<const settlement*, std::size_t>> groups;
  for (const auto* end = from; end != to; ++end) {
    if (groups.empty() || group_of(*groups.back().first) != group_of(*end)) groups.emplace_back(end, 0);
    ++groups.back().second;
  }
  c.add(static_cast<std::uint64_t>(groups.size()));
  for (const auto& [first, size] : groups) {
    add_group(c, *first, size);
    for (std::size_t i = 0; i < size; ++i)
      add_run(c, first[i]);
  }
  const auto carried = [&](const auto& visit) {
    for (const auto* end = from; end != to; ++end)
      if (end->end == run_end::succeeded)
        for (const auto& job : end->next)
          visit(static_cast<std::uint64_t>(end - from) + 1, job);
  };
  std::uint64_t count = 0;
  carried([&](std::uint64_t, const prepared_job&) { ++count; });
  c.add(count);
  carried([&](std::uint64_t run, const prepared_job& job) { add_flow_job(c.add(run), job); });
}

}  // namespace

void ask(steps& x, const settle_request& r, answer& into) {
  into = settle_answer{std::vector<errc>(r.runs.size()), {}};
  const auto count = r.runs.size();
  std::size_t from = 0;
  do {
    const auto some = part_of(r.runs, from);
    const bool claims = r.next && r.next->free + r.next->ahead > 0 && from + some == count;
    const bool carries = some > 0 && r.runs[from].end == run_end::succeeded && !r.runs[from].next.empty();
    call c(carries ? verb::settle_with_jobs : verb::settle);
    add(c, r.runs.data() + from, r.runs.data() + from + some);
    if (claims) add(c, *r.next);
    x.send(
        std::move(c),
        [&x, &into, from, claims](const item& reply) {
          auto* filled = filling<settle_answer>(into);
          if (!filled || reply.size() == 0) return;
          read_codes(reply[0].text(), filled->each, from);
          if (claims) read_claim(x, reply, 1, filled->next);
          else x.made_work.add_encoded(reply[1].text());
        },
        fails(into));
    from += some;
  } while (from < count);
}

}  // namespace sluice::storage::machine
