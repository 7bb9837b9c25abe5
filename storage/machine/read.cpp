// Reading: get, list, queues, pages of other lists. Nothing here writes.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>

#include "core/text.hpp"
#include "storage/job_filter.hpp"
#include "storage/machine/transitions.hpp"

namespace sluice::storage::machine {
namespace {

constexpr std::size_t values_a_queue = 13;

queue_unknown read_unknown(const queue_name& queue, const item& told) {
  queue_unknown unknown{queue, static_cast<std::uint64_t>(told[0].number()),
                        static_cast<std::uint64_t>(told[1].number())};
  for (std::size_t i = 2; i + 2 <= told.size(); i += 2)
    unknown.most.emplace_back(job_type(std::string(told[i].text())), static_cast<std::uint64_t>(told[i + 1].number()));
  return unknown;
}

// Where a page of sorted sets ended: "SCORE-MEMBER". Any score: a page that began anew at one that nobody wrote would
// never end.
struct place {
  std::string score, id;

  std::string text() const { return cat(score, "-", id); }
};
std::optional<place> parse_place(std::string_view text) {
  const auto* const end = text.data() + text.size();
  double score = 0;
  const auto dash = std::from_chars(text.data(), end, score);
  if (dash.ec != std::errc{} || dash.ptr == end || *dash.ptr != '-' || std::isnan(score)) return std::nullopt;
  return place{std::string(text.data(), dash.ptr), std::string(dash.ptr + 1, end)};
}
void add_place(call& c, const std::optional<place>& after) {
  c.add(after ? after->score : "").add(after ? after->id : "");
}

error not_an_end(std::string_view after) {
  return {errc::invalid_argument,
          cat("'", printable(after, 200),
              "' is not where a page of this list ended; say what that page gave as the next, or begin anew")};
}

// The same of a list of jobs: "STATE:SCORE-ID".
struct cursor {
  job_state state;
  place at;
};
std::optional<cursor> parse_cursor(std::string_view text) {
  const auto colon = std::min(text.find(':'), text.size());
  const auto state = parse_job_state(text.substr(0, colon));
  auto at = parse_place(text.substr(std::min(colon + 1, text.size())));
  if (!state || !at) return std::nullopt;
  return cursor{*state, std::move(*at)};
}

// The states that a page goes through, from where the one before it ended; empty when it was not a page of this query.
std::vector<job_state> states_from(const job_query& query, const std::optional<cursor>& after) {
  std::vector<job_state> states(std::begin(listing_order), std::end(listing_order));
  if (query.state) states = {*query.state};
  if (after) states.erase(states.begin(), std::find(states.begin(), states.end(), after->state));
  return states;
}

// A score as an instant; one that nobody wrote may be none.
time_point instant(std::string_view score) {
  std::int64_t us = 0;
  std::from_chars(score.data(), score.data() + score.size(), us);
  return from_micros(us);
}

std::uint64_t number(std::string_view text) {
  std::uint64_t n = 0;
  std::from_chars(text.data(), text.data() + text.size(), n);
  return n;
}

// A page of rows of so many values each: asks for one more than are wanted, which tells whether there are more.
// `read` adds a row to the page and says where it stands.
using row = std::function<std::string(std::size_t)>;
template <class Answer, std::size_t Values, class Read>
void ask_page(steps& x, verb what, std::initializer_list<std::string> words, std::uint32_t limit,
              const std::string& from, answer& into, Read read) {
  const auto after = parse_place(from);
  if (!after && !from.empty()) {
    into = not_an_end(from);
    return;
  }
  into = Answer{};
  const auto wanted = std::clamp<std::uint32_t>(limit, 1, largest_page);
  call c(what);
  for (const auto& word : words)
    c.add(word);
  c.add(wanted + 1);
  add_place(c, after);
  x.send(
      std::move(c),
      [&into, wanted, read](const item& reply) {
        auto* filled = filling<Answer>(into);
        const auto count = reply.size() / Values;
        for (std::size_t i = 0; filled && i < std::min<std::size_t>(count, wanted); ++i) {
          const auto last =
              read(filled->page, [&](std::size_t k) { return std::string(reply[i * Values + k].text()); });
          if (count > wanted) filled->page.next = last.text();
        }
      },
      fails(into));
}

void read_names(const item& reply, answer& into) {
  auto* filled = filling<names_answer>(into);
  for (std::size_t i = 0; filled && i < reply.size(); ++i)
    filled->names.emplace_back(reply[i].text());
}

// A parent, and how far it is for its child, as a row of `flow` has them.
parent_state parent_told(std::string_view name, std::string_view digit) {
  parent_state parent;
  if (name.starts_with('@')) parent.group = group_name(std::string(name.substr(1)));
  else parent.id = job_id(std::string(name));
  if (digit != "0") parent.met = digit == "1" || digit == "3";
  return parent;
}

// As rules/calls/get.lua tells it.
job_flow flow_told(const item& told) {
  job_flow f{group_name(std::string(told[0].text())), std::string(told[1].text())};
  if (told[2].number() > 0) f.start_by = from_micros(told[2].number());
  if (told[3].number() > 0) f.finish_by = from_micros(told[3].number());
  for (std::size_t i = 4; i + 2 <= told.size(); i += 2)
    f.parents.push_back(parent_told(told[i].text(), told[i + 1].text()));
  return f;
}

}  // namespace

errc read_one(steps& x, const item& reply, std::optional<stored_job>& into) {
  if (reply.size() == 0) return errc::not_found;
  if (reply.size() < job_values_size) return errc::damaged_record;
  const auto told = job_values_at(reply, 0);
  auto known = read_job(told);
  if (!known) {
    damaged(x, told);
    return errc::damaged_record;
  }
  into = std::move(known);
  return errc::none;
}

void ask(steps& x, const get_request& r, answer& into) {
  into = get_answer{std::nullopt, errc::not_found};
  call c(verb::get);
  c.add(r.id.value);
  x.send(
      std::move(c),
      [&](const item& reply) {
        auto* filled = filling<get_answer>(into);
        std::optional<stored_job> known;
        if (filled) filled->code = read_one(x, reply, known);
        if (!known) return;
        filled->found = std::move(known->about);
        filled->found->permits = permits_of(*known, reply[job_values_size].text());
        filled->found->flow = flow_told(reply[job_values_size + 1]);
      },
      fails(into));
}

void ask(steps& x, const list_request& r, answer& into) {
  const auto after = parse_cursor(r.query.after);
  const auto states = states_from(r.query, after);
  if (states.empty() || (!after && !r.query.after.empty())) {
    into = not_an_end(r.query.after);
    return;
  }
  if (auto fine = check_query(r.query); !fine) {
    into = fine.error();
    return;
  }
  into = list_answer{};
  const auto wanted = std::clamp<std::uint32_t>(r.query.limit, 1, largest_page);
  const auto most = reads_records(r.query) ? max_records_read : wanted;

  call c(verb::list);
  c.add(r.query.queue.value).add(most + 1);
  add_place(c, after ? std::optional(after->at) : std::nullopt);
  c.add(r.query.with_args || r.query.argument ? "1" : "0")
      .add(r.query.from ? std::to_string(micros(*r.query.from)) : "-inf")
      .add(r.query.to ? cat("(", micros(*r.query.to)) : "+inf");
  for (const auto state : states)
    c.add(name_of(state)).add(is_final(state) ? "1" : "0");
  x.send(
      std::move(c),
      [&x, &r, &into, wanted, most](const item& reply) {
        auto* filled = filling<list_answer>(into);
        if (!filled) return;
        constexpr auto values = 1 + job_values_size;
        const auto count = reply.size() / values;
        const bool cut = reply.size() % values != 0;
        auto& page = filled->page;
        while (page.records_read < std::min<std::size_t>(count, most) && page.jobs.size() < wanted) {
          const auto at = page.records_read++ * values;
          const auto told = job_values_at(reply, at + 1);
          const bool whole = r.query.with_args || r.query.argument;
          auto known = whole ? read_job(told) : read_job_without_args(told);
          if (!known && whole) damaged(x, told);
          if (known && matches(r.query, known->about)) {
            if (!r.query.with_args) known->about.args.clear(), known->about.result.clear();
            page.jobs.push_back(std::move(known->about));
          }
          page.next = cat(reply[at].text(), ":", told.score, "-", told.id);
        }
        if (page.records_read == count && !cut) page.next.clear();
      },
      fails(into));
}

void ask(steps& x, const quarantine_request& r, answer& into) {
  ask_page<quarantine_answer, 3>(x, verb::quarantined, {r.queue.value}, r.limit, r.after, into,
                                 [](quarantine_page& page, const row& at) {
                                   page.jobs.push_back({job_id(at(0)), queue_name(at(1)), instant(at(2))});
                                   return place{at(2), at(0)};
                                 });
}

void ask(steps& x, const quarantined_job_request& r, answer& into) {
  into = quarantined_job_answer{};
  call c(verb::quarantined_job);
  c.add(r.id.value);
  x.send(
      std::move(c),
      [&](const item& reply) {
        auto* filled = filling<quarantined_job_answer>(into);
        if (!filled || reply.size() < 3) return;
        auto found = read_quarantined(r.id, reply[2].text());
        found.queue.value = reply[0].text();
        found.since = from_micros(reply[1].number());
        filled->found = std::move(found);
      },
      fails(into));
}

void ask(steps& x, const locks_request& r, answer& into) {
  ask_page<locks_answer, 5>(x, verb::locks, {}, r.limit, r.after, into, [](lock_page& page, const row& at) {
    page.locks.push_back({at(0), {fence{number(at(2))}, at(3), instant(at(1)), duration(number(at(4)))}});
    return place{at(1), at(0)};
  });
}

void ask(steps& x, const operator_log_request& r, answer& into) {
  if (const auto after = parse_place(r.after); after && !after->id.empty()) {
    into = not_an_end(r.after);
    return;
  }
  ask_page<operator_log_answer, 2>(x, verb::operator_log, {}, r.limit, r.after, into,
                                   [](operator_log_page& page, const row& at) {
                                     if (auto read = read_action(at(1))) page.actions.push_back(std::move(*read));
                                     return place{at(0), {}};  // no two have one score
                                   });
}

void ask(steps& x, const holders_request& r, answer& into) {
  ask_page<holders_answer, 5>(
      x, verb::holders, {r.resource}, r.limit, r.after, into, [](holder_page& page, const row& at) {
        page.holders.push_back({job_id(at(0)), fence{number(at(1))}, at(2) == "1", instant(at(3))});
        return place{at(3), at(4)};
      });
}

void ask(steps& x, const waiters_request& r, answer& into) {
  ask_page<waiters_answer, 2>(x, verb::waiters, {r.resource}, r.limit, r.after, into,
                              [](waiter_page& page, const row& at) {
                                page.waiters.emplace_back(at(0));
                                return place{at(1), at(0)};
                              });
}

void ask(steps& x, const queues_request&, answer& into) {
  into = queues_answer{};
  call c(verb::queues);
  c.add(max_unknown_named);
  x.send(
      std::move(c),
      [&](const item& reply) {
        auto* filled = filling<queues_answer>(into);
        if (!filled) return;
        for (std::size_t i = 0; i + values_a_queue <= reply.size(); i += values_a_queue) {
          const auto n = [&](std::size_t k) { return static_cast<std::uint64_t>(reply[i + k].number()); };
          queue_counts q;
          q.queue.value = reply[i].text();
          q.paused = n(1) != 0;
          q.enqueued = n(2);
          q.scheduled = n(3);
          q.throttled = n(4);
          q.processing = n(5);
          q.succeeded = n(6);
          q.failed = n(7);
          q.deleted = n(8);
          q.quarantined = n(9);
          q.awaiting = n(10);
          if (n(11) > 0) q.oldest_ready = from_micros(reply[i + 11].number());
          if (auto unknown = read_unknown(q.queue, reply[i + 12]); unknown.jobs > 0)
            filled->unknown.push_back(std::move(unknown));
          filled->queues.push_back(std::move(q));
        }
        const auto by_name = [](const auto& a, const auto& b) { return a.queue.value < b.queue.value; };
        std::sort(filled->queues.begin(), filled->queues.end(), by_name);
        std::sort(filled->unknown.begin(), filled->unknown.end(), by_name);
      },
      fails(into));
}

void ask(steps& x, const parents_request& r, answer& into) {
  into = parents_answer{};
  call c(verb::parents);
  c.add(r.id.value);
  x.send(
      std::move(c),
      [&into](const item& reply) {
        auto* filled = filling<parents_answer>(into);
        for (std::size_t i = 0; filled && i + 5 <= reply.size(); i += 5) {
          auto one = parent_told(reply[i].text(), reply[i + 1].text());
          one.state = state_of(reply[i + 2].text());
          one.result = reply[i + 3].text();
          one.left_out = reply[i + 4].number() != 0;
          filled->parents.push_back(std::move(one));
        }
      },
      fails(into));
}

void ask(steps& x, const queue_names_request&, answer& into) {
  into = names_answer{};
  x.send(
      call(verb::queue_names), [&](const item& reply) { read_names(reply, into); }, fails(into));
}

void ask(steps& x, const ready_request& r, answer& into) {
  into = names_answer{};
  call c(verb::ready);
  for (const auto& queue : r.queues)
    c.add(queue);
  x.send(
      std::move(c), [&](const item& reply) { read_names(reply, into); }, fails(into));
}

}  // namespace sluice::storage::machine
