// A limiter of one's own: so many starts a second, and after a pause a burst of some at once. It is a pure function
// over a text of a few bytes; Sluice keeps the text in the store, so all servers of the store share one bucket.
#pragma once

#include <sluice/throttling.hpp>

namespace sample {

class token_bucket final : public sluice::limiter {
public:
  // How long a start that was let in may take to begin. Then its token is lost, and it asks for another. Longer: fewer
  // tokens are lost on a busy server; shorter: starts follow more closely upon their tokens.
  static constexpr sluice::duration begins_within = std::chrono::milliseconds(200);

  // Neither may be 0.
  token_bucket(std::uint64_t tokens_a_second, std::uint64_t burst);

  sluice::limiter_step take(std::string_view state, sluice::time_point now,
                            std::span<const sluice::limiter_request> wanted) const override;

private:
  sluice::time_point full_at(std::string_view state, sluice::time_point now) const;
  std::uint64_t missing(sluice::time_point full_at, sluice::time_point now) const;

  sluice::duration a_token_;  // takes this long to come
  std::uint64_t burst_;
};

}  // namespace sample
