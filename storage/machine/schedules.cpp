// Schedules of recurring jobs: how they are looked at, and the one step that changes them.
#include <algorithm>
#include <charconv>

#include "core/text.hpp"
#include "storage/machine/transitions.hpp"

namespace sluice::storage::machine {
namespace {

using how = update_schedule_answer::how;

std::string write_place(const std::optional<schedule_place>& place) {
  if (!place) return {};
  return cat(place->offset.count(), ' ', place->span.count(), ' ', place->number);
}

std::optional<schedule_place> read_place(std::string_view text) {
  std::uint64_t fields[3] = {};
  const auto* at = text.data();
  const auto* const end = at + text.size();
  for (auto& field : fields) {
    const auto read = std::from_chars(at, end, field);
    if (read.ec != std::errc()) return std::nullopt;
    at = read.ptr + (read.ptr == end ? 0 : 1);
  }
  const schedule_place place{duration(fields[0]), duration(fields[1]), fields[2]};
  return place.is_sound() ? std::optional(place) : std::nullopt;
}

// A number with one character behind it; 0 takes nothing away.
std::uint64_t take_number(std::string_view& from) {
  std::uint64_t n = 0;
  const auto read = std::from_chars(from.data(), from.data() + from.size(), n);
  const auto used = static_cast<std::size_t>(read.ptr - from.data());
  if (read.ec != std::errc() || used == from.size()) return 0;
  from.remove_prefix(used + 1);
  return n;
}

// Each "length:id" and "instant ".
std::vector<schedule_row::run> read_runs(std::string_view told) {
  std::vector<schedule_row::run> runs;
  while (runs.size() < runs_remembered) {
    const auto length = take_number(told);
    if (length == 0 || length > told.size()) break;
    const job_id id(std::string(told.substr(0, length)));
    told.remove_prefix(length);
    const auto at = take_number(told);
    if (at == 0) break;
    runs.push_back({id, from_micros(static_cast<std::int64_t>(at))});
  }
  return runs;
}

schedule_row read_schedule(const item& told) {
  schedule_row row;
  if (told.size() < 6) return row;
  row.name = told[0].text();
  row.version = static_cast<std::uint64_t>(told[1].number());
  row.record = told[2].text();
  if (!told[3].text().empty()) row.next_at = from_micros(told[3].number());
  row.place = read_place(told[4].text());
  row.runs = read_runs(told[5].text());
  return row;
}

// From a flag, whether it is there, and the row behind it.
std::optional<schedule_row> read_found(const item& reply, std::size_t from) {
  if (reply[from].number() == 0) return std::nullopt;
  return read_schedule(reply[from + 1]);
}

}  // namespace

void ask(steps& x, const schedules_request& r, answer& into) {
  into = schedules_answer{};
  call c(verb::schedules);
  c.add(r.limit).add(r.after);
  x.send(
      std::move(c),
      [&](const item& reply) {
        auto* filled = filling<schedules_answer>(into);
        if (!filled || reply.size() < 2) return;
        filled->now = from_micros(reply[0].number());
        filled->next = reply[1].text();
        for (std::size_t i = 2; i < reply.size(); ++i)
          filled->rows.push_back(read_schedule(reply[i]));
      },
      fails(into));
}

void ask(steps& x, const schedule_request& r, answer& into) {
  into = schedule_answer{};
  call c(verb::schedule);
  c.add(r.name);
  x.send(
      std::move(c),
      [&](const item& reply) {
        auto* filled = filling<schedule_answer>(into);
        if (!filled || reply.size() < 4) return;
        filled->now = from_micros(reply[0].number());
        filled->row = read_found(reply, 1);
        for (std::size_t i = 0; i < reply[3].size(); ++i)
          if (const auto place = read_place(reply[3][i].text())) filled->places.push_back(*place);
      },
      fails(into));
}

void ask(steps& x, const due_request& r, answer& into) {
  into = due_answer{};
  call c(verb::due_schedules);
  c.add(r.limit);
  x.send(
      std::move(c),
      [&](const item& reply) {
        auto* filled = filling<due_answer>(into);
        if (!filled || reply.size() < 2) return;
        filled->now = from_micros(reply[0].number());
        if (!reply[1].text().empty()) filled->next_in = duration(reply[1].number());
        for (std::size_t i = 2; i < reply.size(); ++i)
          filled->rows.push_back(read_schedule(reply[i]));
      },
      fails(into));
}

void ask(steps& x, const update_schedule_request& r, answer& into) {
  into = update_schedule_answer{};
  call c(r.record ? verb::update_schedule : verb::remove_schedule);
  c.add(r.name).add(r.version).add(r.record ? std::string_view(*r.record) : std::string_view());
  r.next_at ? c.add(micros(*r.next_at)) : c.add("");
  c.add(write_place(r.place));
  r.expected_last_place ? c.add(*r.expected_last_place) : c.add("");
  const bool plain = std::all_of(r.enqueue.begin(), r.enqueue.end(), [](const auto& o) { return o.job.is_plain(); });
  c.add(name_of(r.overlap)).add(static_cast<std::uint64_t>(r.enqueue.size())).add(plain ? "0" : "1");
  for (const auto& o : r.enqueue)
    c.add(micros(o.at));
  for (const auto& o : r.enqueue) {
    if (plain) c.add(o.job.id.value).add(o.job.queue.value).add(o.job.delay.count()).add(o.job.record);
    else add_flow_job(c, o.job);
  }
  x.send(
      std::move(c),
      [&](const item& reply) {
        auto* filled = filling<update_schedule_answer>(into);
        if (!filled || reply.size() < 5) return;
        filled->updated = reply[0].number() != 0;
        filled->now = from_micros(reply[1].number());
        filled->row = read_found(reply, 2);
        for (const char code : reply[4].text())
          filled->each.push_back(code == 'e' ? how::enqueued : code == 't' ? how::there : how::overlaps);
        bool enqueued = false;
        for (std::size_t i = 0; i < filled->each.size() && i < r.enqueue.size(); ++i) {
          if (filled->each[i] != how::enqueued) continue;
          made_work(x, r.enqueue[i].job);
          enqueued = true;
        }
        if (r.next_at && (enqueued || (filled->updated && r.enqueue.empty()))) x.made_work.timers = true;
      },
      fails(into));
}

}  // namespace sluice::storage::machine
