// How the shop's jobs are tested: no server, no threads, no sleeping. docs/testing.md goes through it.
#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_test_macros.hpp>
#else
#include <catch2/catch.hpp>  // Catch2 2
#endif

#include <map>
#include <vector>

#include <sluice/testing.hpp>

#include "testing_your_jobs/jobs.hpp"

using namespace std::chrono_literals;
using sluice::job_state;

namespace {

struct card_fake final : shop::card_service {
  int unreachable = 0;  // that many times
  std::map<std::string, int> charged;

  std::string charge(int cents, const std::string& key) override {
    if (unreachable > 0 && unreachable-- > 0) throw std::runtime_error("the card service cannot be reached");
    charged.try_emplace(key, cents);
    return "charge of " + key;
  }
};

struct mail_fake final : shop::mailer {
  std::vector<shop::receipt> sent;
  void send(const shop::receipt& what) override { sent.push_back(what); }
};

// Each test has its own.
struct shop_world {
  card_fake card;
  mail_fake mail;
  sluice::testing::world jobs{shop::options("")};

  shop_world() { jobs.add(shop::handlers(jobs.client(), card, mail)); }
};

const shop::order seven{7, 1999, "ada@example.com"};

}  // namespace

TEST_CASE_METHOD(shop_world, "an order is paid, and its receipt is mailed") {
  REQUIRE(shop::place_order(jobs.client(), seven));
  const auto done = jobs.drain();
  CHECK(done.succeeded == 3);
  CHECK(done.left.empty());
  CHECK(card.charged == std::map<std::string, int>{{"payment-7", 1999}});
  CHECK(mail.sent == std::vector<shop::receipt>{{7, "ada@example.com", "charge of payment-7"}});
}

TEST_CASE_METHOD(shop_world, "the order handler enqueues one payment, and charges nothing itself") {
  const auto order = jobs.run("order", seven);
  CHECK(order.state == job_state::succeeded);
  CHECK(jobs.enqueued<shop::order>("payment") == std::vector{seven});
  CHECK(card.charged.empty());
}

TEST_CASE_METHOD(shop_world, "a payment waits ten seconds for the card service each time, and no receipt goes out") {
  card.unreachable = 2;
  const auto payment = jobs.run("payment", seven);
  CHECK(payment.state == job_state::scheduled);
  CHECK(payment.due_at == jobs.now() + 10s);
  CHECK(jobs.enqueued<shop::receipt>("receipt").empty());

  jobs.advance(9s);
  CHECK(jobs.drain().runs == 0);
  jobs.advance(1s);
  CHECK(jobs.drain().retried == 1);
  jobs.advance(10s);
  CHECK(jobs.drain().succeeded == 2);
  CHECK(jobs.only("payment").attempt == 3);
  CHECK(mail.sent.size() == 1);
}

TEST_CASE_METHOD(shop_world, "a payment is given up after three retries, with the last reason") {
  card.unreachable = 100;
  REQUIRE(shop::place_order(jobs.client(), seven));
  do {
    jobs.drain();
  } while (jobs.advance_to_next());
  const auto payment = jobs.only("payment");
  CHECK(payment.state == job_state::failed);
  CHECK(payment.attempt == 4);
  CHECK(payment.reason == "failed 4 times: the card service cannot be reached");
}

TEST_CASE_METHOD(shop_world, "an order of nothing is not tried again") {
  const auto payment = jobs.run("payment", shop::order{8, 0, "ada@example.com"});
  CHECK(payment.state == job_state::failed);
  CHECK(payment.reason == "failed: there is nothing to pay");
}

TEST_CASE_METHOD(shop_world, "a payment whose server dies is charged once, and one receipt goes out") {
  REQUIRE(jobs.client().enqueue("payment", seven));
  const auto lost = jobs.lose_next();
  REQUIRE(lost);
  CHECK(lost->losses == 1);
  CHECK(jobs.drain().succeeded == 2);
  CHECK(card.charged.size() == 1);
  CHECK(mail.sent.size() == 1);
}

TEST_CASE_METHOD(shop_world, "an order that is placed twice is one order") {
  auto page = sluice::client::open({.storage = jobs.storage()});  // as the web page does
  REQUIRE(page);
  REQUIRE(shop::place_order(*page, seven));
  REQUIRE(shop::place_order(*page, seven));
  CHECK(jobs.enqueued<shop::order>("order").size() == 1);
}

TEST_CASE("a report is asked to stop when its time is over") {
  auto options = shop::options("");
  options.timeout = 10min;
  sluice::testing::world jobs(options);
  jobs.handle("report", [&](sluice::job_context& c) {
    jobs.advance(10min);  // its timeout
    c.throw_if_stop_requested();
  });
  sluice::new_job report;
  report.type = "report";
  CHECK(jobs.run(report).history.back().cause == "timed_out");
}

TEST_CASE("a call waits until the doorman lets it in") {
  auto options = shop::options("");
  options.jobs["call"].throttle = {"custom:doorman"};
  sluice::testing::world jobs(options);
  bool is_open = false;
  jobs.handle("call", [](sluice::job_context&) {});
  jobs.throttler("doorman", [&](const sluice::throttle_request&) {
    return is_open ? sluice::throttle_verdict{} : sluice::throttle_verdict{sluice::admission::deferred, 5s};
  });
  sluice::new_job call;
  call.type = "call";
  REQUIRE(jobs.client().enqueue(call));
  CHECK(jobs.drain().runs == 0);
  is_open = true;
  jobs.advance(5s);
  CHECK(jobs.drain().succeeded == 1);
}
