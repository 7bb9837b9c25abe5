// The jobs of a small shop: an order becomes a payment, and a payment becomes a receipt by mail.
#pragma once

#include <string>

#include <sluice/client.hpp>
#include <sluice/handler.hpp>
#include <sluice/json.hpp>
#include <sluice/options.hpp>

namespace shop {

struct order {
  int number = 0;
  int cents = 0;
  std::string mail_to;
  bool operator==(const order&) const = default;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(order, number, cents, mail_to)

struct receipt {
  int number = 0;
  std::string mail_to;
  std::string charge;
  bool operator==(const receipt&) const = default;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(receipt, number, mail_to, charge)

// What the handlers need of the world outside. The tests bring their own.
class card_service {
public:
  virtual ~card_service() = default;
  // The charge's number. The same key is charged once. Throws when the service cannot be reached.
  virtual std::string charge(int cents, const std::string& key) = 0;
};
class mailer {
public:
  virtual ~mailer() = default;
  virtual void send(const receipt& what) = 0;
};

// What the shop's server, and its tests, run with: retry policies and the queues of the types.
sluice::server_options options(const std::string& storage);

// The handlers; what they are given must outlive them.
sluice::handler_registry handlers(sluice::client& client, card_service& card, mailer& mail);

// For the web pages: takes an order in, once however often it is clicked.
sluice::result<sluice::job_id> place_order(sluice::client& client, const order& what);

}  // namespace shop
