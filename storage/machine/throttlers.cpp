// Definitions, and how throttlers are looked at.
#include "core/text.hpp"
#include "storage/machine/transitions.hpp"
#include "storage/messages.hpp"

namespace sluice::storage::machine {
namespace {

constexpr std::size_t values_a_holder = 4;
constexpr std::uint32_t max_shown = 20;  // as a throttler_request asks for

throttler_row read_row(const item& told) {
  throttler_row row;
  if (told.size() < 5) return row;
  row.resource = told[0].text();
  row.definition = told[1].text();
  row.held = static_cast<std::uint64_t>(told[2].number());
  row.waiting = static_cast<std::uint64_t>(told[3].number());
  if (!told[4].text().empty()) row.next_at = from_micros(told[4].number());
  return row;
}

void read_throttler(const item& told, throttler_answer& into) {
  if (told.size() < 4) return;
  into.about = read_row(told[0]);
  const auto holders = told[1];
  for (std::size_t i = 0; i + values_a_holder <= holders.size(); i += values_a_holder)
    into.holders.push_back({job_id(std::string(holders[i].text())),
                            fence{static_cast<std::uint64_t>(holders[i + 1].number())}, holders[i + 2].number() != 0,
                            from_micros(holders[i + 3].number())});
  for (std::size_t i = 0; i < told[2].size(); ++i)
    into.waiters.emplace_back(std::string(told[2][i].text()));
  into.state = told[3].text();
}

}  // namespace

void ask(steps& x, const define_request& r, answer& into) {
  using how = define_answer::how;
  if (!r.permits && r.resource.find('/') != std::string::npos) {  // it stands between a limiter and its keys
    into = error{errc::invalid_argument, cat("throttler ", printable(r.resource, 200), " has a / in its name")};
    return;
  }
  into = define_answer{};
  call c(verb::define);
  c.add(r.resource).add(r.text);
  r.permits ? c.add(*r.permits) : c.add("");
  c.add(r.config);
  x.send(
      std::move(c),
      [&](const item& reply) {
        auto* filled = filling<define_answer>(into);
        if (!filled || reply.size() < 2) return;
        const auto said = reply[0].text();
        filled->what = said == "added" ? how::added : said == "changed" ? how::changed : how::unchanged;
        x.made_work.add_encoded(reply[1].text());
      },
      fails(into));
}

void ask(steps& x, const undefine_request& r, answer& into) {
  into = change_answer{};
  call c(verb::undefine);
  c.add(r.resource);
  x.send(
      std::move(c),
      [&](const item& reply) {
        if (reply.size() < 2) return;
        const auto n = [&](std::size_t i) { return static_cast<std::uint64_t>(reply[i].number()); };
        into = change_answer{errc::illegal_transition, messages::in_use(r.resource, n(0), n(1))};
      },
      fails(into));
}

void ask(steps& x, const throttlers_request& r, answer& into) {
  into = throttlers_answer{};
  call c(verb::throttlers);
  c.add(r.limit).add(r.after).add(r.only_defined ? "1" : "");
  x.send(
      std::move(c),
      [&](const item& reply) {
        auto* filled = filling<throttlers_answer>(into);
        if (!filled || reply.size() == 0) return;
        filled->next = reply[0].text();
        for (std::size_t i = 1; i < reply.size(); ++i)
          filled->throttlers.push_back(read_row(reply[i]));
      },
      fails(into));
}

void ask(steps& x, const throttler_request& r, answer& into) {
  into = throttler_answer{};
  call c(verb::throttler);
  c.add(r.resource).add(r.limit);
  x.send(
      std::move(c),
      [&](const item& reply) {
        if (auto* filled = filling<throttler_answer>(into)) read_throttler(reply, *filled);
      },
      fails(into));
}

void ask(steps& x, const reconcile_request& r, answer& into) {
  into = reconcile_answer{};
  call c(verb::reconcile);
  c.add(r.limit).add(r.after);
  x.send(
      std::move(c),
      [&](const item& reply) {
        auto* filled = filling<reconcile_answer>(into);
        if (!filled || reply.size() < 3) return;
        filled->woken = static_cast<std::uint64_t>(reply[0].number());
        filled->next = reply[1].text();
        x.made_work.add_encoded(reply[2].text());
      },
      fails(into));
}

void ask(steps& x, const explain_request& r, answer& into) {
  into = explain_answer{};
  call c(verb::explain);
  c.add(r.id.value).add(max_shown);
  x.send(
      std::move(c),
      [&](const item& reply) {
        auto* filled = filling<explain_answer>(into);
        if (!filled || reply.size() == 0) return;
        std::optional<stored_job> known;
        filled->code = read_one(x, reply[0], known);
        if (!known || reply.size() < 9) return;
        filled->found = std::move(known->about);
        filled->failures = known->failures;
        filled->paused = reply[1].number() != 0;
        filled->served = reply[2].number() != 0;
        filled->before = static_cast<std::uint64_t>(reply[3].number());
        filled->running = static_cast<std::uint64_t>(reply[4].number());
        read_throttler(reply[5], filled->waits_for);
        for (std::size_t i = 0; i < reply[6].size(); ++i)
          filled->open_parents.emplace_back(std::string(reply[6][i].text()));
        if (reply[7].number() > 0) filled->start_by = from_micros(reply[7].number());
        if (reply[8].number() > 0) filled->finish_by = from_micros(reply[8].number());
        filled->parents = static_cast<std::uint64_t>(reply[9].number());
        filled->need = static_cast<std::uint64_t>(reply[10].number());
        filled->met = static_cast<std::uint64_t>(reply[11].number());
        filled->open_groups = read_groups(reply[12]);
        filled->cancelled_group.value = reply[13].text();
      },
      fails(into));
}

}  // namespace sluice::storage::machine
