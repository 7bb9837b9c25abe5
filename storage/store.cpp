#include "storage/store.hpp"

namespace sluice::storage {

request::request(const request&) = default;
request::request(request&&) noexcept = default;
request& request::operator=(const request&) = default;
request& request::operator=(request&&) noexcept = default;
request::~request() = default;

answer::answer(const answer&) = default;
answer::answer(answer&&) noexcept = default;
answer& answer::operator=(const answer&) = default;
answer& answer::operator=(answer&&) noexcept = default;
answer::~answer() = default;

}  // namespace sluice::storage
