#include "cache_refresh/worker.hpp"

#include <cstdio>

#include "cache_refresh/handlers.hpp"

namespace sample {

worker::worker(const sluice::server_options& served, const std::string& provider_url) : server_(served) {
  handle_all(server_, served.recurring, provider_url, entries_);
  server_.on_fatal([this](const sluice::error& why) {
    std::fprintf(stderr, "cache_refresh: the server cannot go on: %s\n", sluice::to_string(why).c_str());
    broken_ = true;
  });
}

}  // namespace sample
