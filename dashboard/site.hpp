// From a request to its answer: who may, which route, and what every answer carries.
#pragma once

#include "dashboard/board.hpp"
#include "dashboard/http_numbers.hpp"
#include "dashboard/http_server.hpp"

namespace sluice::web {

class site {
public:
  explicit site(board& on) : on_(on) {}

  // Before the body is read.
  std::optional<http_response> refuse(const http_request& request);
  http_response answer(const http_request& request);

private:
  board& on_;
};

}  // namespace sluice::web
