// A page of one's own over the dashboard's API, which answers no other web site on purpose: so this serves the page
// and, beside it, passes on the one question that the page has. On the loopback, and only to look.
//
//   GET /, /page.js, /page.css            the page: the files of device_check.d/ beside the program
//   GET /api/v1/jobs?id_begins=…&after=…  as the dashboard answers it
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <sluice/client.hpp>

namespace sample {

class page_server {
public:
  // Starts a dashboard on this store, and listens on this port of 127.0.0.1, or on any free one for 0. Throws
  // std::runtime_error when it cannot.
  page_server(const sluice::client_options& store, std::uint16_t port);
  ~page_server();
  page_server(const page_server&) = delete;
  page_server& operator=(const page_server&) = delete;

  const std::string& url() const;  // as "http://127.0.0.1:40123"

private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

}  // namespace sample
