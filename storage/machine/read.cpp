// Lists of jobs, which are told as they are stored, and where pages end. Nothing here writes.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/text.hpp"
#include "storage/job_filter.hpp"
#include "storage/machine/transitions.hpp"

namespace sluice::storage::machine {
namespace {

void add_place(call& c, const std::optional<place>& after) {
  c.add(after ? after->score : "").add(after ? after->id : "");
}

// Where a page of jobs ended: "STATE:SCORE-ID".
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

}  // namespace

std::optional<place> parse_place(std::string_view text) {
  const auto* const end = text.data() + text.size();
  double score = 0;
  const auto dash = std::from_chars(text.data(), end, score);
  if (dash.ec != std::errc{} || dash.ptr == end || *dash.ptr != '-' || std::isnan(score)) return std::nullopt;
  return place{std::string(text.data(), dash.ptr), std::string(dash.ptr + 1, end)};
}

error not_an_end(std::string_view after) {
  return {errc::invalid_argument,
          cat("'", printable(after, 200),
              "' is not where a page of this list ended; say what that page gave as the next, or begin anew")};
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
  const bool whole = r.query.with_args || r.query.argument;
  c.add(whole ? "whole" : std::to_string(r.query.first_of_args + 1))  // which tells whether a character ends there
      .add(r.query.from ? std::to_string(micros(*r.query.from)) : "-inf")
      .add(r.query.to ? cat("(", micros(*r.query.to)) : "+inf");
  for (const auto state : states)
    c.add(name_of(state)).add(is_final(state) ? "1" : "0");
  x.send(
      std::move(c),
      [&x, &r, &into, wanted, most, whole](const item& reply) {
        auto* filled = filling<list_answer>(into);
        if (!filled) return;
        constexpr auto values = 1 + job_values_size;
        const auto count = reply.size() / values;
        const bool cut = reply.size() % values != 0;
        auto& page = filled->page;
        while (page.records_read < std::min<std::size_t>(count, most) && page.jobs.size() < wanted) {
          const auto at = page.records_read++ * values;
          const auto told = job_values_at(reply, at + 1);
          auto known = whole ? read_job(told) : read_job_with_first_args(told);
          if (!known && whole) damaged(x, told);
          if (known && matches(r.query, known->about)) {
            auto& about = known->about;
            if (!r.query.with_args) {
              about.args = first_bytes(about.args, r.query.first_of_args);
              about.result.clear();
            }
            page.jobs.push_back(std::move(known->about));
          }
          page.next = cat(reply[at].text(), ":", told.score, "-", told.id);
        }
        if (page.records_read == count && !cut) page.next.clear();
      },
      fails(into));
}

}  // namespace sluice::storage::machine
