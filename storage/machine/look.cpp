// Reading: get, list, queues. Nothing here writes.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "storage/machine/transitions.hpp"

namespace sluice::storage::machine {
namespace {

constexpr std::size_t values_a_queue = 10;

// Where a page ended: "STATE:SCORE-ID". Any score: a page that began anew at one that nobody wrote would never end.
struct cursor {
  std::size_t state;
  std::string score, id;
};

std::optional<cursor> parse_cursor(std::string_view text) {
  const auto* const end = text.data() + text.size();
  std::size_t state = 0;
  const auto colon = std::from_chars(text.data(), end, state);
  if (colon.ec != std::errc{} || colon.ptr == end || *colon.ptr != ':') return std::nullopt;
  double score = 0;
  const auto dash = std::from_chars(colon.ptr + 1, end, score);
  if (dash.ec != std::errc{} || dash.ptr == end || *dash.ptr != '-' || std::isnan(score)) return std::nullopt;
  return cursor{state, std::string(colon.ptr + 1, dash.ptr), std::string(dash.ptr + 1, end)};
}

void read_names(const item& reply, answer& into) {
  auto* filled = filling<names_answer>(into);
  for (std::size_t i = 0; filled && i < reply.size(); ++i)
    filled->names.emplace_back(reply[i].text());
}

}  // namespace

errc read_one(steps& x, const item& reply, std::optional<known_job>& into) {
  if (reply.size() == 0) return errc::not_found;
  if (reply.size() < told_size) return errc::damaged_record;
  const auto told = told_at(reply, 0);
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
  call c(script::get);
  c.add(r.id.value);
  x.send(
      std::move(c),
      [&](const item& reply) {
        auto* filled = filling<get_answer>(into);
        std::optional<known_job> known;
        if (filled) filled->code = read_one(x, reply, known);
        if (known) filled->found = std::move(known->about);
      },
      fails(into));
}

void ask(steps& x, const list_request& r, answer& into) {
  into = list_answer{};
  const auto limit = std::clamp<std::uint32_t>(r.query.limit, 1, largest_page);
  std::vector<job_state> states(std::begin(listing_order), std::end(listing_order));
  if (r.query.state) states = {*r.query.state};
  const auto after = parse_cursor(r.query.after);
  const std::size_t first = after ? std::min(after->state, states.size()) : 0;
  states.erase(states.begin(), states.begin() + static_cast<std::ptrdiff_t>(first));

  call c(script::list);
  c.add(r.query.queue.value)
      .add(limit + 1)
      .add(after ? after->score : "")
      .add(after ? after->id : "")
      .add(r.query.with_args ? "1" : "0");
  for (const auto state : states)
    c.add(name_of(state)).add(is_final(state) ? "1" : "0");
  x.send(
      std::move(c),
      [&x, &r, &into, limit, first](const item& reply) {
        auto* filled = filling<list_answer>(into);
        if (!filled) return;
        constexpr auto values = 1 + told_size;
        const auto count = reply.size() / values;
        const bool cut = reply.size() % values != 0;
        const auto shown = std::min<std::size_t>(count, limit);
        for (std::size_t i = 0; i < shown; ++i) {
          const auto told = told_at(reply, i * values + 1);
          auto known = r.query.with_args ? read_job(told) : read_job_without_args(told);
          if (known) filled->page.jobs.push_back(std::move(known->about));
          else if (r.query.with_args) damaged(x, told);
          if (i + 1 == shown && (count > limit || cut))
            filled->page.next = std::to_string(first + static_cast<std::size_t>(reply[i * values].number()))
                                    .append(":")
                                    .append(told.score)
                                    .append("-")
                                    .append(told.id);
        }
      },
      fails(into));
}

void ask(steps& x, const queues_request&, answer& into) {
  into = queues_answer{};
  x.send(
      call(script::queues),
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
          filled->queues.push_back(std::move(q));
        }
        std::sort(filled->queues.begin(), filled->queues.end(),
                  [](const queue_counts& a, const queue_counts& b) { return a.queue.value < b.queue.value; });
      },
      fails(into));
}

void ask(steps& x, const queue_names_request&, answer& into) {
  into = names_answer{};
  x.send(
      call(script::queue_names), [&](const item& reply) { read_names(reply, into); }, fails(into));
}

void ask(steps& x, const ready_request& r, answer& into) {
  into = names_answer{};
  call c(script::ready);
  for (const auto& queue : r.queues)
    c.add(queue);
  x.send(
      std::move(c), [&](const item& reply) { read_names(reply, into); }, fails(into));
}

}  // namespace sluice::storage::machine
