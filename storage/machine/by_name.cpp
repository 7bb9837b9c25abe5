// What is asked seldom. Requests and answers travel by name; rules/calls says what the rules make of each.
#include <algorithm>
#include <limits>

#include "core/no_job.hpp"
#include "core/text.hpp"
#include "storage/machine/named_values.hpp"
#include "storage/machine/transitions.hpp"
#include "storage/messages.hpp"

namespace sluice::storage::machine {
namespace {

// Asks, and has the answer read into an `Answer` of its own before `then` is given it. What is no answer has perhaps
// changed something, and is never taken for one.
template <class Answer>
void send(steps& x, call&& c, answer& into, auto then) {
  x.send(
      std::move(c),
      [&x, &into, then = std::move(then)](const item& reply) {
        const auto told = unpacked(reply.text());
        Answer its;
        std::string hint;
        try {
          if (!told.is_object()) throw std::invalid_argument("it is no value by names");
          reader_by_name members(told);
          members("hint", hint);
          read_value(told, its);
        } catch (const std::invalid_argument& e) {
          fails(into)(error{errc::storage_damaged, cat("the answer of the rules cannot be read: ", e.what())});
          return;
        }
        x.made_work.add_encoded(hint);
        then(std::move(its));
      },
      fails(into));
}

call asking(verb what, const json& asked) {
  call c(what);
  c.add(packed(asked));
  return c;
}

// Its answer is what is told.
template <class Answer>
void ask_by_name(steps& x, verb what, const json& asked, answer& into) {
  into = Answer{};
  send<Answer>(x, asking(what, asked), into, [&into](Answer told) {
    if (auto* filled = filling<Answer>(into)) *filled = std::move(told);
  });
}

// The same of a page, which says where the one before it ended.
template <class Answer>
void ask_page(steps& x, verb what, const auto& r, answer& into) {
  const auto after = parse_place(r.after);
  if (!after && !r.after.empty()) {
    into = not_an_end(r.after);
    return;
  }
  auto asked = written(r);
  asked["limit"] = std::clamp<std::uint32_t>(r.limit, 1, largest_page);
  asked.erase("after");
  if (after) asked["after"] = {{"score", after->score}, {"id", after->id}};
  ask_by_name<Answer>(x, what, asked, into);
}

// What came of a change, in one word, and what it is about.
struct change_told {
  std::string said, about;
};
void describe(auto& v, described<change_told> auto& c) { v("said", c.said)("about", c.about); }

change_answer group_change(const group_name& group, const change_told& told) {
  const auto& [said, about] = told;
  const auto& name = group.value;
  if (said == "done") return {};
  if (said == "already") return {.changed = false};
  if (said == "not_found")
    return {.code = errc::not_found, .message = no_group(name).message, .subject = error_subject::group};
  if (said == "other")
    return {errc::illegal_transition, about.empty() ? cat("group ", name, " is there, and in no other group")
                                                    : cat("group ", name, " is there, in group ", about)};
  if (said == "no_group")
    return {.code = errc::not_found,
            .message = cat(no_group(about).message, " that ", name, " could be in"),
            .subject = error_subject::group};
  if (said == "too_deep")
    return {errc::invalid_argument, cat("groups are in each other 16 deep at most, and ", about, " is the 16th")};
  if (said == "sealed") return {errc::group_closed, cat("group ", about, " is sealed: ", name, " cannot be in it")};
  if (said == "cancelled")
    return {errc::group_closed, cat("group ", about, " was cancelled: ", name, " cannot be in it")};
  return {errc::illegal_transition,
          about == "finished" ? cat("group ", name, " has ended already") : cat("group ", name, " was cancelled")};
}

struct use_told {
  std::uint64_t held = 0, waiting = 0;
};
void describe(auto& v, described<use_told> auto& u) { v("held", u.held)("waiting", u.waiting); }

// A job, as `records.hpp` reads it.
struct job_told {
  std::string id, kind, score, record, history, run, admission;

  job_values values() const { return {id, kind, score, record, history, run}; }
};
void describe(auto& v, described<job_told> auto& j) {
  v("id", j.id)("kind", j.kind)("score", j.score)("record", j.record)("history", j.history)("run", j.run);
  v("admission", j.admission);
}
errc read_told(steps& x, const job_told& told, std::optional<stored_job>& into) {
  if (told.id.empty()) return errc::not_found;
  if (told.kind.empty()) return errc::damaged_record;  // it is in quarantine
  into = read_job(told.values());
  if (into) return errc::none;
  damaged(x, told.values());
  return errc::damaged_record;
}
struct get_told {
  job_told job;
  job_flow flow;
};
void describe(auto& v, described<get_told> auto& g) { v("job", g.job)("flow", g.flow); }
struct put_aside_told {
  queue_name queue;
  time_point since{};
  std::optional<std::string> bytes{};
};
void describe(auto& v, described<put_aside_told> auto& p) { v("queue", p.queue)("since", p.since)("bytes", p.bytes); }
struct explain_told {
  job_told job;
  explain_answer about;
};
void describe(auto& v, described<explain_told> auto& e) {
  v("job", e.job);
  describe(v, e.about);
}

// A place that nobody wrote is none.
void drop_unsound(std::optional<schedule_place>& place) {
  if (place && !place->is_sound()) place.reset();
}
void drop_unsound(schedule_row& row) { drop_unsound(row.place); }
void drop_unsound(std::optional<schedule_row>& row) {
  if (row) drop_unsound(*row);
}
void drop_unsound(std::vector<schedule_row>& rows) {
  for (auto& row : rows)
    drop_unsound(row);
}
void drop_unsound(schedules_answer& told) { drop_unsound(told.rows); }
void drop_unsound(due_answer& told) { drop_unsound(told.rows); }
void drop_unsound(schedule_answer& told) {
  drop_unsound(told.row);
  std::erase_if(told.places, [](const schedule_place& place) { return !place.is_sound(); });
}
template <class Answer>
void ask_schedules(steps& x, verb what, const auto& r, answer& into) {
  into = Answer{};
  send<Answer>(x, asking(what, written(r)), into, [&into](Answer told) {
    drop_unsound(told);
    if (auto* filled = filling<Answer>(into)) *filled = std::move(told);
  });
}

verb verb_for(lock_request::verb what) {
  if (what == lock_request::verb::read) return verb::look_at_lock;
  return what == lock_request::verb::take ? verb::lock : verb::keep_lock;
}

}  // namespace

void ask(steps& x, const heartbeat_request& r, answer& into) {
  ask_by_name<heartbeat_answer>(x, verb::heartbeat, written(r.server), into);
}
void ask(steps& x, const deregister_request& r, answer& into) {
  ask_by_name<done_answer>(x, verb::deregister, written(r), into);
}
void ask(steps& x, const servers_request&, answer& into) {
  ask_by_name<servers_answer>(x, verb::servers, json::object(), into);
}

void ask(steps& x, const lock_request& r, answer& into) {
  ask_by_name<lock_answer>(x, verb_for(r.what), written(r), into);
}
void ask(steps& x, const locks_request& r, answer& into) { ask_page<locks_answer>(x, verb::locks, r, into); }

void ask(steps& x, const change_group_request& r, answer& into) {
  into = change_answer{};
  const bool cancels = r.change == change_group_request::what::cancel;
  send<change_told>(x, asking(cancels ? verb::cancel_group : verb::change_group, written(r)), into,
                    [&r, &into](const change_told& told) { into = group_change(r.group.name, told); });
}
void ask(steps& x, const groups_request& r, answer& into) {
  ask_by_name<groups_answer>(x, verb::groups, written(r), into);
}
void ask(steps& x, const failed_members_request& r, answer& into) {
  ask_by_name<names_answer>(x, verb::failed_members, written(r), into);
}
void ask(steps& x, const parents_request& r, answer& into) {
  ask_by_name<parents_answer>(x, verb::parents, written(r), into);
}

void ask(steps& x, const define_request& r, answer& into) {
  if (!r.permits && r.resource.find('/') != std::string::npos) {  // it stands between a limiter and its keys
    into = error{errc::invalid_argument, cat("throttler ", printable(r.resource, 200), " has a / in its name")};
    return;
  }
  ask_by_name<define_answer>(x, verb::define, written(r), into);
}
void ask(steps& x, const undefine_request& r, answer& into) {
  into = change_answer{};
  send<use_told>(x, asking(verb::undefine, written(r)), into, [&r, &into](const use_told& use) {
    if (use.held + use.waiting == 0) return;
    into = change_answer{errc::illegal_transition, messages::in_use(r.resource, use.held, use.waiting)};
  });
}
void ask(steps& x, const throttlers_request& r, answer& into) {
  ask_by_name<throttlers_answer>(x, verb::throttlers, written(r), into);
}
void ask(steps& x, const throttler_request& r, answer& into) {
  ask_by_name<throttler_answer>(x, verb::throttler, written(r), into);
}
void ask(steps& x, const holders_request& r, answer& into) { ask_page<holders_answer>(x, verb::holders, r, into); }
void ask(steps& x, const waiters_request& r, answer& into) { ask_page<waiters_answer>(x, verb::waiters, r, into); }
void ask(steps& x, const reconcile_request& r, answer& into) {
  ask_by_name<reconcile_answer>(x, verb::reconcile, written(r), into);
}

void ask(steps& x, const schedules_request& r, answer& into) {
  ask_schedules<schedules_answer>(x, verb::schedules, r, into);
}
void ask(steps& x, const schedule_request& r, answer& into) {
  ask_schedules<schedule_answer>(x, verb::schedule, r, into);
}
void ask(steps& x, const due_request& r, answer& into) { ask_schedules<due_answer>(x, verb::due_schedules, r, into); }
void ask(steps& x, const update_schedule_request& r, answer& into) {
  const bool plain = std::all_of(r.enqueue.begin(), r.enqueue.end(), [](const auto& o) { return o.job.is_plain(); });
  auto asked = written(r);
  asked["is_flow"] = !plain;
  auto c = asking(r.record ? verb::update_schedule : verb::remove_schedule, asked);
  for (const auto& o : r.enqueue) {
    if (plain) c.add(o.job.id.value).add(o.job.queue.value).add(o.job.delay.count()).add(o.job.record);
    else add_flow_job(c, o.job);
  }
  into = update_schedule_answer{};
  send<update_schedule_answer>(x, std::move(c), into, [&x, &r, &into](update_schedule_answer told) {
    drop_unsound(told.row);
    bool enqueued = false;
    for (std::size_t i = 0; i < told.each.size() && i < r.enqueue.size(); ++i) {
      if (told.each[i] != update_schedule_answer::how::enqueued) continue;
      made_work(x, r.enqueue[i].job);
      enqueued = true;
    }
    if (r.next_at && (enqueued || (told.updated && r.enqueue.empty()))) x.made_work.timers = true;
    if (auto* filled = filling<update_schedule_answer>(into)) *filled = std::move(told);
  });
}

void ask(steps& x, const totals_request& r, answer& into) {
  ask_by_name<totals_answer>(x, verb::totals, written(r.query), into);
}

void ask(steps& x, const log_action_request& r, answer& into) {
  auto asked = r;
  for (auto* text : {&asked.by.name, &asked.by.through, &asked.what})
    *text = first_bytes(*text, max_author_bytes);
  if (asked.about.size() > max_about) asked.about.resize(max_about);
  for (auto& text : asked.about)
    text = first_bytes(text, max_about_bytes);
  asked.count = std::min<std::uint64_t>(asked.count, std::numeric_limits<std::int64_t>::max());
  ask_by_name<done_answer>(x, verb::log_action, written(asked), into);
}
void ask(steps& x, const operator_log_request& r, answer& into) {
  if (const auto after = parse_place(r.after); after && !after->id.empty()) {
    into = not_an_end(r.after);
    return;
  }
  ask_page<operator_log_answer>(x, verb::operator_log, r, into);
}

void ask(steps& x, const pause_request& r, answer& into) {
  ask_by_name<change_answer>(x, verb::pause, written(r), into);
}
void ask(steps& x, const queues_request&, answer& into) {
  ask_by_name<queues_answer>(x, verb::queues, {{"most_types", max_unknown_named}}, into);
}

void ask(steps& x, const queue_names_request&, answer& into) {
  ask_by_name<names_answer>(x, verb::queue_names, json::object(), into);
}
void ask(steps& x, const ready_request& r, answer& into) {
  ask_by_name<names_answer>(x, verb::ready, written(r), into);
}

void ask(steps& x, const quarantine_request& r, answer& into) {
  ask_page<quarantine_answer>(x, verb::quarantined, r, into);
}
void ask(steps& x, const quarantined_job_request& r, answer& into) {
  into = quarantined_job_answer{};
  send<put_aside_told>(x, asking(verb::quarantined_job, written(r)), into, [&r, &into](const put_aside_told& told) {
    auto* filled = filling<quarantined_job_answer>(into);
    if (!filled || !told.bytes) return;
    filled->found = read_quarantined(r.id, *told.bytes);
    filled->found->queue = told.queue;
    filled->found->since = told.since;
  });
}
void ask(steps& x, const drop_quarantined_request& r, answer& into) {
  into = change_answer{};
  send<change_told>(x, asking(verb::drop_quarantined, written(r)), into, [&r, &into](const change_told& told) {
    auto* filled = filling<change_answer>(into);
    if (!filled) return;
    filled->changed = told.said == "gone";
    if (told.said == "awaited") *filled = {errc::illegal_transition, messages::is_awaited(r.id)};
  });
}

void ask(steps& x, const get_request& r, answer& into) {
  into = get_answer{std::nullopt, errc::not_found};
  send<get_told>(x, asking(verb::get, written(r)), into, [&x, &into](get_told told) {
    auto* filled = filling<get_answer>(into);
    std::optional<stored_job> known;
    const auto code = read_told(x, told.job, known);
    if (!filled) return;
    filled->code = code;
    if (!known) return;
    filled->found = std::move(known->about);
    filled->found->permits = permits_of(*known, told.job.admission);
    filled->found->flow = std::move(told.flow);
  });
}
void ask(steps& x, const explain_request& r, answer& into) {
  constexpr std::uint32_t shown = 20;  // as a throttler_request asks for
  into = explain_answer{};
  auto asked = written(r);
  asked["limit"] = shown;
  send<explain_told>(x, asking(verb::explain, asked), into, [&x, &into](explain_told told) {
    std::optional<stored_job> known;
    told.about.code = read_told(x, told.job, known);
    if (known) {
      told.about.failures = known->failures;
      told.about.found = std::move(known->about);
    }
    if (auto* filled = filling<explain_answer>(into)) *filled = std::move(told.about);
  });
}

}  // namespace sluice::storage::machine
