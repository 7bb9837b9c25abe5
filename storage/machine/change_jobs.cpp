// What a person says about jobs: requeue, remove, cancel.
#include "core/no_job.hpp"
#include "core/text.hpp"
#include "storage/machine/transitions.hpp"
#include "storage/messages.hpp"

namespace sluice::storage::machine {
namespace {

change_answer refused(error why) {
  return {.code = why.code, .message = std::move(why.message), .subject = why.subject};
}

change_answer read_change(const job_id& id, std::string_view said) {
  if (said == "done") return {};
  if (said == "already") return {.changed = false};
  if (said == "asked" || said == "asking") return {.changed = said == "asked", .asked = true};
  if (said == "not_found") return refused(no_job(id, errc::not_found));
  if (said == "damaged") return refused(no_job(id, errc::damaged_record));
  constexpr std::string_view is = "is ";
  if (said.starts_with(is)) return {errc::illegal_transition, messages::is_by_now(id, said.substr(is.size()))};
  constexpr std::string_view ended = "ended ";
  if (said.starts_with(ended)) return {errc::illegal_transition, messages::has_ended(id, said.substr(ended.size()))};
  constexpr std::string_view unique = "unique ";
  if (said.starts_with(unique))
    return {errc::unique_conflict, messages::has_its_key(id, job_id(std::string(said.substr(unique.size()))))};
  constexpr std::string_view cancelled = "cancelled ";
  if (said.starts_with(cancelled))
    return {errc::illegal_transition, messages::in_cancelled_group(id, said.substr(cancelled.size()))};
  constexpr std::string_view throttled = "throttled ";
  if (said.starts_with(throttled))
    return {errc::illegal_transition, messages::waits_still(id, std::string(said.substr(throttled.size())))};
  return {errc::illegal_transition, messages::runs_still(id)};
}

// The reason, and the rows of histories, as the change of these jobs is told.
void add_words(call& c, job_change change, const author& by) {
  const auto row = [&](std::string_view cause, const std::string& reason) {
    c.add(write_ended(cause, reason, duration::zero()));
  };
  if (change == job_change::requeue) {
    const auto reason = messages::requeued(by);
    c.add(reason);
    row("requeued", reason);
    c.add("").add("");
  } else if (change == job_change::remove) {
    const auto reason = messages::deleted(by);
    c.add(reason);
    row("deleted", reason);
    c.add("");
    row("deleted", messages::deleted_running(by));
  } else {
    const auto reason = messages::cancelled(by), asked = messages::cancel_asked(by);
    c.add(reason);
    row("cancelled", reason);
    c.add(asked);
    row("cancel_asked", asked);
  }
}

}  // namespace

void ask(steps& x, const change_jobs_request& r, answer& into) {
  if (r.ids.size() > max_changed) {
    into = error{errc::invalid_argument, cat("at most ", max_changed, " jobs are changed by one request")};
    return;
  }
  into = change_jobs_answer{std::vector<change_answer>(r.ids.size())};
  if (r.ids.empty()) return;
  call c(verb::change_jobs);
  c.add(name_of(r.change)).add(r.only_in ? name_of(*r.only_in) : "");
  add_words(c, r.change, r.by);
  for (const auto& id : r.ids)
    c.add(id.value);
  x.send(
      std::move(c),
      [&x, &r, &into](const item& reply) {
        if (reply.size() != 1 + r.ids.size()) {
          into = error{errc::unknown_outcome, "the store's answer does not tell what became of each job"};
          return;
        }
        x.made_work.add_encoded(reply[0].text());
        auto& each = std::get<change_jobs_answer>(into).each;
        for (std::size_t i = 0; i < each.size(); ++i)
          each[i] = read_change(r.ids[i], reply[1 + i].text());
      },
      fails(into));
}

}  // namespace sluice::storage::machine
