#include "storage/machine/transitions.hpp"
#include "storage/messages.hpp"

namespace sluice::storage::machine {
namespace {

constexpr std::size_t values_a_lease = 3;

}  // namespace

void ask(steps& x, const expired_request& r, answer& into) {
  into = expired_answer{};
  call c(verb::expired);
  c.add(r.limit).add(clock_slack.count());
  x.send(
      std::move(c),
      [&](const item& reply) {
        if (reply.size() < 2) return;
        x.made_work.add_encoded(reply[1].text());
        auto* filled = filling<expired_answer>(into);
        if (!filled) return;
        if (!reply[0].text().empty()) filled->next_in = duration(reply[0].number());
        for (std::size_t i = 2; i + values_a_lease <= reply.size() && filled->leases.size() < r.limit;
             i += values_a_lease) {
          const auto run = read_run(reply[i + 1].text());
          if (!run) continue;
          filled->leases.push_back({{job_id(std::string(reply[i].text())), fence{run->fence}},
                                    run->renewals,
                                    duration(run->lease),
                                    reply[i + 2].text() == "1"});
        }
      },
      fails(into));
}

void ask(steps& x, const reap_request& r, answer& into) {
  into = reap_answer{std::vector<errc>(r.leases.size())};
  for (std::size_t from = 0; from < r.leases.size(); from += jobs_a_call) {
    call c(verb::reap);
    c.add(r.max_losses).add(messages::lost_again).add(messages::lost_for_good);
    c.add(write_ended("lost", messages::lost_run, duration::zero()));
    for (std::size_t i = from; i < std::min(from + jobs_a_call, r.leases.size()); ++i) {
      const auto& seen = r.leases[i];
      c.add(seen.run.id.value).add(seen.run.fence.value).add(seen.renewals);
    }
    x.send(
        std::move(c),
        [&x, &r, &into, from](const item& reply) {
          const auto codes = reply[0].text();
          x.made_work.add_encoded(reply[1].text());
          auto* filled = filling<reap_answer>(into);
          if (!filled) return;
          read_codes(codes, filled->each, from);
          for (std::size_t i = 0; i < codes.size() && from + i < r.leases.size(); ++i)
            if (codes[i] == '2') filled->failed.push_back(r.leases[from + i].run.id);
            else if (codes[i] == '3') filled->cancelled.push_back(r.leases[from + i].run.id);
        },
        fails(into));
  }
}

}  // namespace sluice::storage::machine
