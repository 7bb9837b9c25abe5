#include "device_check/grants.hpp"

#include <chrono>
#include <optional>
#include <random>
#include <stdexcept>

#include "common/work.hpp"

namespace sample {
namespace {

using namespace std::chrono_literals;
using sluice::errc;
using sluice::job_state;

constexpr auto lease = 1s;  // short, so that a killed worker is soon made up for; 30 s is usual
constexpr auto kept = 24h * 30;
constexpr std::string_view expiry_of = "expiry:";
constexpr std::string_view grant_of = "grant:";
constexpr std::uint32_t links = 50'000;  // of a check

sluice::job_id id_of(std::string_view prefix, const std::string& id) {
  return sluice::job_id(std::string(prefix) + id);
}

// A job that may be missing.
sluice::result<std::optional<sluice::job>> find(sluice::client& client, const sluice::job_id& id) {
  auto found = client.get(id);
  if (found) return std::optional(std::move(*found));
  if (found.error().code == errc::not_found) return std::optional<sluice::job>();
  return found.error();
}

grant_view undecided(const sluice::job& expiry) {
  if (sluice::is_final(expiry.state) && expiry.state != job_state::succeeded)
    return {standing::withdrawn, {}, expiry.reason};
  if (expiry.state == job_state::succeeded) return {standing::unknown, {}, "what became of it is forgotten"};
  return {expiry.state == job_state::scheduled ? standing::open : standing::ending, {}, {}};
}

sluice::result<grant_view> decided(const sluice::job& grant) {
  const auto made = sluice::args_of<decision>(grant);
  if (!made) return made.error();
  if (made->outcome == "expired") return grant_view{standing::expired, {}, {}};
  if (!sluice::is_final(grant.state)) return grant_view{standing::checking, made->device, {}};
  if (grant.state == job_state::succeeded) return grant_view{standing::answered, made->device, grant.result};
  return grant_view{standing::failed, made->device, grant.reason};
}

}  // namespace

std::string_view name_of(standing is) noexcept {
  switch (is) {
    case standing::unknown: return "unknown";
    case standing::open: return "open";
    case standing::ending: return "ending";
    case standing::checking: return "checking";
    case standing::answered: return "answered";
    case standing::failed: return "failed";
    case standing::expired: return "expired";
    case standing::withdrawn: return "withdrawn";
  }
  return "unknown";
}

bool is_over(standing is) noexcept {
  return is != standing::open && is != standing::ending && is != standing::checking;
}

sluice::server_options options_of(const std::string& store) {
  sluice::server_options options;
  options.storage = store;
  options.lease = lease;
  options.queues["default"].workers = 4;
  options.retention.succeeded = {kept, std::nullopt};
  options.retention.failed = options.retention.deleted = options.retention.succeeded;
  return options;
}

sluice::result<void> grants::hand_out(const std::string& id, const offer& what) {
  auto job = sluice::make_job("expire_grant", what);
  job.id = id_of(expiry_of, id);
  job.delay = std::chrono::seconds(what.seconds);
  if (const auto stored = client_.enqueue(std::move(job)); !stored) return stored.error();
  dies_.reach("handed_out");
  return {};
}

sluice::result<grant_view> grants::redeem(const std::string& id, const std::string& device) {
  auto seen = look(id);
  if (!seen || seen->is != standing::open) return seen;
  dies_.reach("looked");
  // Meanwhile another may have redeemed it, or a worker may have decided that it expired: the store refuses it then.
  const auto stored = client_.enqueue(job_of({id, "redeemed", device}));
  if (!stored && stored.error().code != errc::id_conflict) return stored.error();
  dies_.reach("redeemed");
  if (careless_) return grant_view{standing::checking, device, {}};
  return look(id);
}

// The end first: when it is over by then, what it decided stands there.
sluice::result<grant_view> grants::look(const std::string& id) {
  const auto expiry = find(client_, id_of(expiry_of, id));
  if (!expiry) return expiry.error();
  const auto grant = find(client_, id_of(grant_of, id));
  if (!grant) return grant.error();
  if (*grant) return decided(**grant);
  if (*expiry) return undecided(**expiry);
  return grant_view{standing::unknown, {}, "nobody has handed it out"};
}

void grants::handle_all(sluice::server& server, journal& book) {
  server.handle("expire_grant", [this](sluice::job_context& job) {
    dies_.reach("due");
    auto outcome = expire(job.id().value.substr(expiry_of.size()));
    dies_.reach("expired");
    return outcome;
  });
  server.handle<decision>("end_grant", [this, &book](const decision& made, sluice::job_context& job) {
    if (made.outcome == "expired") return made.outcome;
    dies_.reach("claimed");
    auto answer = check(made, job, book);
    dies_.reach("checked");
    return answer;
  });
}

sluice::new_job grants::job_of(const decision& made) const {
  auto job = sluice::make_job("end_grant", made);
  if (!careless_ || made.outcome == "expired") job.id = id_of(grant_of, made.grant);
  return job;
}

// Run twice it says the same again.
std::string grants::expire(const std::string& id) {
  const auto stored = client_.enqueue(job_of({id, "expired", {}}));
  if (stored) return "expired";
  if (stored.error().code == errc::id_conflict) return "was redeemed";
  throw std::runtime_error(sluice::to_string(stored.error()));  // the run has failed, and is tried again
}

// Run twice it has one effect, and the same answer.
std::string grants::check(const decision& made, const sluice::job_context& job, journal& book) {
  const auto expiry = find(client_, id_of(expiry_of, made.grant));
  if (!expiry) throw std::runtime_error(sluice::to_string(expiry.error()));
  if (!*expiry) job.end_as(sluice::outcome::do_not_retry("nobody has handed out this grant"));
  const auto offered = sluice::args_of<offer>(**expiry);
  if (!offered) job.end_as(sluice::outcome::do_not_retry(sluice::to_string(offered.error())));
  const auto& what = offered->check;
  const auto seal = std::to_string(checksum_chain(what + " of " + made.device, links));
  const auto entry =
      book.enter({job.id().value, made.grant, made.device, job.fence(), what + " is sound, seal " + seal});
  if (entry.device != made.device) job.end_as(sluice::outcome::do_not_retry("the grant was used by " + entry.device));
  return entry.answer;
}

std::string new_grant_id() {
  std::random_device source;
  std::string id;
  for (int i = 0; i < 32; ++i)
    id += "0123456789abcdef"[source() % 16];
  return id;
}

}  // namespace sample
