#include <algorithm>

#include "core/codec.hpp"
#include "core/enqueue_words.hpp"
#include "core/never_destroyed.hpp"
#include "core/text.hpp"
#include "storage/machine/transitions.hpp"

namespace sluice::storage::machine {
namespace {

struct asked_job {
  const prepared_job* job;
  answer* into;
  std::size_t at;
};
using asked_jobs = std::vector<asked_job>;

// The same id again: the same job, or another that may not have it.
void compare(steps& x, const asked_job& asked, std::string_view stored_record, enqueue_answer& into) {
  const auto& wanted = *asked.job;
  const auto is_same = [&] {
    into.each[asked.at] = errc::none;
    into.notes[asked.at] = {};
  };
  if (stored_record.empty()) return is_same();
  into.each[asked.at] = errc::id_conflict;
  const auto stored = decode_content(wanted.id, stored_record);
  if (!stored) return damaged(x, {wanted.id.value, {}, {}, stored_record, {}, {}});
  const auto offered = decode_content(wanted.id, wanted.record);
  if (!offered) return;
  const auto differing = stored->what_differs(*offered, wanted.headers_of_filters);
  if (differing.empty()) return is_same();
  into.notes[asked.at] = {enqueue_answer::note::what::other_content, listed(differing)};
}

// What one call stores. A request with a job that has to do with others is in parts of its own: what a caller is told
// of his keys depends on what stands in his call, and on nobody else's.
struct part {
  const enqueue_request* of = nullptr;  // unless it is plain
  asked_jobs jobs{};
  bool all_or_none = false;
  std::size_t bytes = 0, parents = 0;
};

// Each of which is looked for.
constexpr std::size_t parents_a_call = 500;

bool has_room(const part& p, const enqueue_request* of, const prepared_job& job) {
  return p.of == of && p.jobs.size() < jobs_a_call && p.bytes + job.record.size() <= bytes_a_call &&
         p.parents + job.parents() <= parents_a_call;
}

// In order: a job may run after one that stands before it.
std::vector<part> divide(std::span<const enqueue_part> together) {
  std::vector<part> parts;
  for (const auto& [request, into] : together) {
    const bool is_plain = !request->all_or_none &&
                          std::all_of(request->jobs.begin(), request->jobs.end(), [](auto& j) { return j.is_plain(); });
    const auto* of = is_plain ? nullptr : request;
    if (request->all_or_none) parts.push_back({.of = of, .all_or_none = true});
    for (std::size_t i = 0; i < request->jobs.size(); ++i) {
      const auto& job = request->jobs[i];
      if (!request->all_or_none && (parts.empty() || !has_room(parts.back(), of, job))) parts.push_back({.of = of});
      auto& last = parts.back();
      last.bytes += job.record.size();
      last.parents += job.parents();
      last.jobs.push_back({&job, into, i});
    }
  }
  return parts;
}

call call_for(const part& some) {
  call c(some.of ? verb::enqueue_flow : verb::enqueue);
  if (some.of) c.add(some.all_or_none ? "1" : "0");
  for (const auto& p : some.jobs) {
    if (some.of) add_flow_job(c, *p.job);
    else c.add(p.job->id.value).add(p.job->queue.value).add(p.job->delay.count()).add(p.job->record);
  }
  return c;
}

void read_stored(steps& x, const asked_jobs& some, const item& reply) {
  if (reply.size() != some.size())  // which was no answer to this
    for (const auto& p : some)
      *p.into = error{errc::unknown_outcome, "the store answered something else"};
  for (std::size_t i = 0; i < some.size() && i < reply.size(); ++i) {
    const auto stored = reply[i].text();
    if (stored.empty()) made_work(x, *some[i].job);
    auto* filled = filling<enqueue_answer>(*some[i].into);
    if (!filled || stored.empty()) continue;
    compare(x, some[i], stored, *filled);
  }
}

// What the rules say of a job that has to do with others (rules/flow_jobs.lua).
struct flow_word {
  std::string_view word;
  errc code;
  enqueue_answer::note::what what;
};
using what = enqueue_answer::note::what;
constexpr flow_word flow_words[] = {{"missing", errc::not_found, what::missing},
                                    {"no_group", errc::not_found, what::no_group},
                                    {"sealed", errc::group_closed, what::sealed},
                                    {"cancelled", errc::group_closed, what::cancelled},
                                    {"duplicate", errc::none, what::duplicate},
                                    {"forgotten", errc::none, what::forgotten},
                                    {"extended", errc::none, what::extended},
                                    {"refused", errc::unique_conflict, what::refused},
                                    {"circle", errc::invalid_argument, what::circle},
                                    {"other_group", errc::id_conflict, what::other_group},
                                    {"own_parent", errc::invalid_argument, what::own_parent},
                                    {"stored", errc::none, what::replaced}};

// The same of one job that has to do with others, or with time: what was said of it, and about whom.
void read_word(steps& x, const asked_job& p, std::string_view said, std::string_view about) {
  auto* filled = filling<enqueue_answer>(*p.into);
  if (!filled || said.empty()) return;
  if (said == "there") return compare(x, p, about, *filled);
  for (const auto& one : flow_words) {
    if (one.word != said) continue;
    filled->each[p.at] = one.code;
    filled->notes[p.at] = {one.what, std::string(about)};
  }
}

// All of these were to be stored, and one of them was not: so none was.
void refuse_all(const asked_jobs& some, const std::vector<std::string_view>& said) {
  auto* filled = filling<enqueue_answer>(*some.front().into);
  if (!filled) return;
  const auto stands_for_it = [](std::string_view word) {
    return word == "duplicate" || word == "forgotten" || word == "extended";
  };
  const auto at_fault = [&](std::size_t i) {
    return filled->each[some[i].at] != errc::none || said[i] == "there" || stands_for_it(said[i]);
  };
  std::size_t first = 0;
  while (first + 1 < some.size() && !at_fault(first))
    ++first;
  for (std::size_t i = 0; i < some.size(); ++i) {
    auto& code = filled->each[some[i].at];
    if (stands_for_it(said[i])) {
      code = errc::unique_conflict;
      filled->notes[some[i].at].is = what::refused;
    } else if (said[i] == "there") {
      if (code == errc::none) filled->notes.erase(some[i].at);
      code = errc::id_conflict;
    } else if (code == errc::none) {
      code = errc::refused;
      filled->notes[some[i].at] = {what::with_others, "job " + some[first].job->id.value};
    }
  }
}

void read_stored_flow(steps& x, const part& some, const item& reply) {
  const auto count = some.jobs.size();
  if (reply.size() <= count) return;
  std::vector<std::string_view> words(count);
  std::size_t stored = 0, there = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto said = reply[i].text();
    const auto end = std::min(said.find(' '), said.size());
    words[i] = said.substr(0, end);
    stored += words[i].empty() || words[i] == "stored";
    there += words[i] == "there";
    read_word(x, some.jobs[i], words[i], said.substr(std::min(end + 1, said.size())));
  }
  if (some.all_or_none && stored < count && there < count) refuse_all(some.jobs, words);
  x.made_work.add_encoded(reply[count].text());
}

}  // namespace

void add_flow_job(call& c, const prepared_job& job) {
  static const auto& none = *never_destroyed<flow_options>();  // the end of a run carries plain jobs, too
  const auto& flow = job.flow ? *job.flow : none;
  const auto& after = flow.after;
  std::string options;
  for (const auto& [end, letter] : {std::pair(parent_end::succeeded, 's'),
                                    {parent_end::failed, 'f'},
                                    {parent_end::deleted, 'd'},
                                    {parent_end::first_failure, 'e'}})
    if ((static_cast<unsigned>(after.on) & static_cast<unsigned>(end)) != 0) options += letter;
  const auto word = [&](std::string_view said) { (options += ' ') += said.empty() ? "=" : said; };
  const auto number = [&](auto n) { word(std::to_string(n)); };
  const auto parents = job.parents();
  constexpr std::string_view points[] = {"e", "s", "p"};
  word(after.unless == when_unmet::remove ? "d" : after.unless == when_unmet::run ? "r" : "k");
  number(after.need == 0 ? parents : after.need);
  word(after.missing == when_missing::refuse ? "" : after.missing == when_missing::met ? "r" : "d");
  word(flow.group.value);
  word(flow.added_by.id.value);
  number(flow.added_by.fence.value);
  word(points[static_cast<std::size_t>(flow.unique.until)]);
  number(flow.unique.period.count());
  word(text_of(enqueue_words::then, flow.unique.then));
  number(flow.unique.at_most.count());
  for (const auto& within : {flow.start_within, flow.finish_within})
    within ? number(within->count()) : word("");
  c.add(job.id.value).add(job.queue.value).add(job.delay.count()).add(job.record).add(options).add(flow.unique_key);
  c.add(static_cast<std::uint64_t>(parents));
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
          some.of ? read_stored_flow(x, some, reply) : read_stored(x, some.jobs, reply);
        },
        [some](const error& e) {
          for (const auto& p : some.jobs) {
            // Refused for want of room: others of the request may have been stored.
            auto* filled = filling<enqueue_answer>(*p.into);
            if (filled && e.code == errc::storage_full) filled->each[p.at] = e.code;
            else fails (*p.into)(e);
          }
        });
  }
}

}  // namespace sluice::storage::machine
