// A shop: orders are created, processed and cancelled by jobs. Three rules hold, and no handler has a line for them:
//
// - The payment provider bears three calls at once: a semaphore.
// - An order is in the hands of one job at a time: a mutex for each order, named after the job's args. Processing is
//   `strict`: it keeps its mutex from a failed run to its retry, since an order that is half processed is nobody's.
// - A cancel that comes while its order is being processed is too late to be worth waiting: it is dropped.
//
//   orders [--orders 40] [--store URL] [--unthrottled]
#include <cstdio>

#include <sluice/sluice.hpp>

#include "common/promises.hpp"
#include "orders/shop.hpp"

namespace {

using namespace std::chrono_literals;

constexpr const char* usage = R"(usage: orders [--orders 40] [--store URL] [--unthrottled]

Jobs create, process and cancel orders: a semaphore over the payment provider, a mutex for each order, and cancels
that are dropped when the order is being processed. Exit code 1: a promise was broken.

  --orders N      how many customers come, one every 25 ms. Default: 40
  --store URL     as sqlite:jobs.db. Default: sqlite::memory:
  --unthrottled   the same without throttlers, to see what they are for
  --help          this text
)";

constexpr std::uint32_t links = 20'000;  // of the chain that makes a receipt: some milliseconds

struct order_args {
  std::uint32_t order_id = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(order_args, order_id)

// A configuration file says the same: {"throttlers": {"payments": {"kind": "semaphore", "limit": 3}}, …}.
sluice::server_options options_of(const sample::words& words) {
  sluice::server_options options;
  options.storage = words.store;
  options.queues["default"].workers = 8;
  options.throttlers = {{.kind = sluice::throttler_kind::semaphore,
                         .name = "payments",
                         .limit = sample::payment_provider::calls_at_once}};

  // Both at once: no handler asks for one with the other in its hand, so no two of them can wait for each other.
  auto& process = options.jobs["process_order"];
  process.throttle = {"mutex:order:{order_id}", "semaphore:payments"};
  process.strict = true;
  process.retry.delay = 150ms;

  auto& cancel = options.jobs["cancel_order"];
  cancel.throttle = {"mutex:order:{order_id}"};  // the same mutex, so the two types exclude each other
  cancel.when_throttled = sluice::throttle_action::remove;

  if (words.switches.at("--unthrottled"))
    for (auto& [type, how] : options.jobs)
      how.throttle.clear();
  return options;
}

// What customers do, so that all ways of a cancel are seen.
bool clicks_twice(std::uint32_t order) { return order % 4 == 0; }
bool regrets_at_once(std::uint32_t order) { return order % 6 == 1; }
bool regrets_while_paying(std::uint32_t order) { return order % 6 == 3; }
bool regrets_later(std::uint32_t order) { return order % 6 == 5; }

class office {
public:
  office(sluice::client& client, sample::shop& shop, sample::payment_provider& provider)
      : client_(client), shop_(shop), provider_(provider) {}

  void handle_all(sluice::server& server) {
    server.handle<order_args>("create_order", [this](const order_args& args) { create(args.order_id); });
    server.handle<order_args>("process_order", [this](const order_args& args, sluice::job_context& job) {
      return while_holding('P', args.order_id, job, [&] { return process(args.order_id, job); });
    });
    server.handle<order_args>("cancel_order", [this](const order_args& args, sluice::job_context& job) {
      return while_holding('x', args.order_id, job, [&] { return cancel(args.order_id); });
    });
  }

  std::vector<sluice::job_id> stored(const std::string& type) const {
    std::lock_guard hold(mutex_);
    const auto found = stored_.find(type);
    return found == stored_.end() ? std::vector<sluice::job_id>() : found->second;
  }

private:
  void create(std::uint32_t order) {
    const auto begin = sample::now();
    shop_.open(order);
    if (regrets_at_once(order)) enqueue("cancel_order", order);
    enqueue("process_order", order);
    if (clicks_twice(order)) enqueue("process_order", order);
    if (regrets_later(order)) enqueue("cancel_order", order, 900ms);
    shop_.note({order, 'c', begin, sample::now()});
  }

  // Looks, then acts: correct because nobody else has the order between the two.
  std::string process(std::uint32_t order, sluice::job_context& job) {
    if (shop_.of(order) == sample::standing::cancelled) return "was cancelled";
    if (shop_.of(order) == sample::standing::paid) return "was paid already";
    if (regrets_while_paying(order) && job.attempt() == 1) enqueue("cancel_order", order);
    provider_.charge(shop_, order, job.attempt());
    const auto receipt = sample::checksum_chain("receipt of order " + std::to_string(order), links);
    shop_.set(order, sample::standing::paid);
    return "receipt " + std::to_string(receipt);
  }

  std::string cancel(std::uint32_t order) {
    if (shop_.of(order) == sample::standing::paid) return "too late";
    shop_.set(order, sample::standing::cancelled);
    return "cancelled";
  }

  template <class F>
  std::string while_holding(char what, std::uint32_t order, const sluice::job_context& job, F&& act) {
    const auto begin = sample::now();
    shop_.begin(order, job.id());
    const auto leave = [&](bool finished) {
      shop_.note({order, what, begin, sample::now()});
      shop_.end(order, job.id(), finished);
    };
    try {
      auto answer = act();
      leave(true);
      return answer;
    } catch (...) {
      leave(false);  // it comes again
      throw;
    }
  }

  void enqueue(const std::string& type, std::uint32_t order, sluice::duration delay = 0s) {
    auto job = sluice::make_job(type, order_args{order});
    job.delay = delay;
    const auto id = client_.enqueue(std::move(job));
    if (!id) throw std::runtime_error(sluice::to_string(id.error()));  // the run has failed, and is tried again
    std::lock_guard hold(mutex_);
    stored_[type].push_back(*id);
  }

  sluice::client& client_;
  sample::shop& shop_;
  sample::payment_provider& provider_;
  mutable std::mutex mutex_;
  std::map<std::string, std::vector<sluice::job_id>> stored_;
};

struct cancels {
  unsigned all = 0, in_time = 0, too_late = 0, dropped = 0;
};

// The store says what became of each.
cancels count_cancels(sluice::client& client, const office& clerks, sample::shop& shop) {
  cancels count;
  for (const auto& id : clerks.stored("cancel_order")) {
    const auto job = sample::must(client.get(id));
    const auto order = sample::must(sluice::args_of<order_args>(job)).order_id;
    ++count.all;
    count.in_time += job.result == "cancelled" ? 1 : 0;
    count.too_late += job.result == "too late" ? 1 : 0;
    if (job.state != sluice::job_state::deleted) continue;
    if (++count.dropped <= 3) std::printf("the cancel of order %u was %s\n", order, job.reason.c_str());
    shop.note({order, '!', *job.finished_at, *job.finished_at});
  }
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  const auto words =
      sample::read_words(argc, argv, usage, {.switches = sample::may_be_unthrottled, .numbers = {{"--orders", 40}}});
  const auto orders = words.numbers.at("--orders");
  sluice::set_log_level(sluice::log_level::warn);  // retries are expected here

  sample::shop shop;
  sample::payment_provider provider;
  const auto options = options_of(words);
  auto client = sample::must(sluice::client::open(options));
  office clerks(client, shop, provider);
  sluice::server server(options);
  clerks.handle_all(server);
  sample::must(server.start());

  std::vector<sluice::new_job> arrivals;
  for (std::uint32_t order = 1; order <= orders; ++order) {
    auto job = sluice::make_job("create_order", order_args{order});
    job.delay = order * 25ms;
    arrivals.push_back(std::move(job));
  }
  for (auto& stored : client.enqueue(std::move(arrivals)))
    sample::must(std::move(stored));
  const bool all_ended = sample::wait_for_all(client, 60s);
  server.stop();

  const auto cancelled = count_cancels(client, clerks, shop);
  std::printf("%s\n", sample::picture_of(shop, 1, std::min<std::uint32_t>(orders, 16)).c_str());
  unsigned paid = 0, wrong = 0, processed = 0;
  const auto charges = provider.charges();
  for (const auto& [order, is] : shop.all()) {
    const auto times = charges.contains(order) ? charges.at(order) : 0;
    paid += is == sample::standing::paid ? 1 : 0;
    wrong += times != (is == sample::standing::paid ? 1u : 0u) ? 1 : 0;
  }
  const auto process_jobs = clerks.stored("process_order");
  for (const auto& id : process_jobs)
    processed += sample::must(client.get(id)).state == sluice::job_state::succeeded ? 1 : 0;

  std::printf("%u orders: %u paid, %u cancelled. %u cancels: %u in time, %u too late, %u dropped.\n", orders, paid,
              orders - paid, cancelled.all, cancelled.in_time, cancelled.too_late, cancelled.dropped);
  sample::promises promises;
  const auto text = [](auto n) { return std::to_string(n); };
  promises.check(provider.peak() <= sample::payment_provider::calls_at_once,
                 "at most 3 payment calls at once: there were at most " + text(provider.peak()));
  promises.check(shop.clashes() == 0, "no order was in two hands, not even between a run and its retry: " +
                                          text(shop.clashes()) + " clashes");
  promises.check(wrong == 0, "each order was charged once, or cancelled and not charged: " + text(wrong) + " were not");
  promises.check(cancelled.in_time + cancelled.too_late + cancelled.dropped == cancelled.all,
                 "each cancel was carried out, came too late, or was dropped");
  promises.check(all_ended && shop.all().size() == orders && processed == process_jobs.size(),
                 "all orders were created and processed: " + text(processed) + " of " + text(process_jobs.size()) +
                     " jobs succeeded");
  return promises.exit_code();
}
