// What a person says about one job: requeue, remove, cancel.
#include "core/no_job.hpp"
#include "core/text.hpp"
#include "storage/machine/transitions.hpp"
#include "storage/messages.hpp"

namespace sluice::storage::machine {
namespace {

change_answer refused(error why) { return {why.code, std::move(why.message)}; }

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

void send(steps& x, call c, const job_id& id, answer& into) {
  into = change_answer{};
  x.send(
      std::move(c),
      [&x, &id, &into](const item& reply) {
        into = read_change(id, reply[0].text());
        x.made_work.add_encoded(reply[1].text());
      },
      fails(into));
}

}  // namespace

void ask(steps& x, const requeue_request& r, answer& into) {
  call c(verb::change);
  const auto reason = messages::requeued(r.by);
  c.add("requeue").add(r.id.value).add(reason).add(r.only_in ? name_of(*r.only_in) : "");
  c.add(write_ended("requeued", reason, duration::zero()));
  send(x, std::move(c), r.id, into);
}

void ask(steps& x, const remove_request& r, answer& into) {
  call c(verb::change);
  const auto reason = messages::deleted(r.by);
  c.add("remove").add(r.id.value).add(reason).add(r.only_in ? name_of(*r.only_in) : "");
  c.add(write_ended("deleted", reason, duration::zero()));
  c.add(write_ended("deleted", messages::deleted_running(r.by), duration::zero()));
  send(x, std::move(c), r.id, into);
}

void ask(steps& x, const cancel_request& r, answer& into) {
  call c(verb::change);
  const auto reason = messages::cancelled(r.by), asked = messages::cancel_asked(r.by);
  c.add("cancel").add(r.id.value).add(reason).add(r.only_in ? name_of(*r.only_in) : "");
  c.add(write_ended("cancelled", reason, duration::zero()));
  c.add(asked).add(write_ended("cancel_asked", asked, duration::zero()));
  c.add(r.hints ? "1" : "0");
  send(x, std::move(c), r.id, into);
}

}  // namespace sluice::storage::machine
