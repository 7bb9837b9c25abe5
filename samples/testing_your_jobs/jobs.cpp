#include "testing_your_jobs/jobs.hpp"

#include <stdexcept>

namespace shop {
namespace {

// A handler may run twice, so what it enqueues has an id of its own: the second time it is the same job.
template <class Args>
sluice::new_job job_of_order(std::string type, int number, const Args& args) {
  auto job = sluice::make_job(type, args);
  job.id = sluice::job_id(type + "-" + std::to_string(number));
  return job;
}

void hand_on(sluice::client& client, sluice::new_job job) {
  if (const auto id = client.enqueue(std::move(job)); !id) throw std::runtime_error(sluice::to_string(id.error()));
}

}  // namespace

sluice::server_options options(const std::string& storage) {
  sluice::server_options options;
  options.storage = storage;
  options.queues = {{"default", {}}, {"mail", {}}};
  auto& payment = options.jobs["payment"];
  payment.retry.attempts = 3;
  payment.retry.delay = std::chrono::seconds(10);
  options.jobs["receipt"].queue = sluice::queue_name("mail");
  return options;
}

sluice::handler_registry handlers(sluice::client& client, card_service& card, mailer& mail) {
  sluice::handler_registry all;
  all.handle<order>("order", [&](const order& o) { hand_on(client, job_of_order("payment", o.number, o)); });
  all.handle<order>("payment", [&](const order& o, sluice::job_context& job) {
    if (o.cents <= 0) job.end_as(sluice::outcome::do_not_retry("there is nothing to pay"));
    job.progress(0.5, "charging the card");
    const auto charge = card.charge(o.cents, job.id().value);  // an exception is a failed run: tried again
    hand_on(client, job_of_order("receipt", o.number, receipt{o.number, o.mail_to, charge}));
    return charge;
  });
  all.handle<receipt>("receipt", [&](const receipt& r) { mail.send(r); });
  return all;
}

sluice::result<sluice::job_id> place_order(sluice::client& client, const order& what) {
  return client.enqueue(job_of_order("order", what.number, what));
}

}  // namespace shop
