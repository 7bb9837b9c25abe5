// A provider's API on the loopback, which suffers when it is asked too much at once: up to `capacity` requests take
// 40 ms each, each one above it adds 20 ms to its own time, and above twice the capacity the answer is 503.
//
//   GET /catalogues/NAME?page=N   one of 40 pages of games; the heavy jobs read these
//   GET /documents/NAME           a small document
//   GET /counts                   provider_counts, and the capacity; not counted itself
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace sample {

struct provider_counts {
  std::uint32_t in_flight = 0, heavy_in_flight = 0;
  std::uint32_t peak_in_flight = 0, heavy_peak_in_flight = 0;
  std::uint64_t answered = 0;
  std::uint64_t rejected = 0;  // never in flight
};

class provider {
public:
  static constexpr std::uint32_t capacity = 6;

  // Listens on this port, or on any free one for 0. Throws std::runtime_error when it cannot. `asked` is told of each
  // request that is not rejected, by path and page, when it arrives; from several threads.
  explicit provider(std::uint16_t port, std::function<void(const std::string& resource)> asked = {});
  ~provider();
  provider(const provider&) = delete;
  provider& operator=(const provider&) = delete;

  const std::string& url() const;  // as "http://127.0.0.1:40123"
  provider_counts counts() const;

private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

}  // namespace sample
