#include "storage/settle_in_parts.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace sluice::storage {
namespace {

class dividing {
public:
  dividing(store& in, const settle_request& all) : in_(in), all_(all) { answer_.each.resize(all.runs.size()); }

  // Halves what is refused until the ends that are refused alone are known; those that it does not come to are put
  // off, so that a store that takes none is not asked for each.
  void settle(std::size_t from, std::size_t to) {
    if (from == to || failed_) return;
    if (refused_ >= max_refused_tries) return mark(from, to, errc::storage_busy);
    settle_request some;
    some.runs.assign(all_.runs.begin() + static_cast<std::ptrdiff_t>(from),
                     all_.runs.begin() + static_cast<std::ptrdiff_t>(to));
    const auto told = ask(std::move(some));
    if (const auto* done = std::get_if<settle_answer>(&told)) {
      std::copy(done->each.begin(), done->each.end(), answer_.each.begin() + static_cast<std::ptrdiff_t>(from));
      return;
    }
    const auto& why = std::get<error>(told);
    if (!concerns_one_end(why.code)) return fail(why);
    ++refused_;
    halve(from, to, why.code);
  }

  void halve(std::size_t from, std::size_t to, errc code) {
    if (to - from == 1) return mark(from, to, code);
    const auto middle = from + (to - from) / 2;
    settle(from, middle);
    settle(middle, to);
  }

  void claim() {
    if (!all_.next || failed_) return;
    auto told = ask(*all_.next);
    if (auto* claimed = std::get_if<claim_answer>(&told)) answer_.next = std::move(*claimed);
    else if (const auto& why = std::get<error>(told); !concerns_one_end(why.code)) fail(why);
    else answer_.next.cut = true;  // it is asked again, alone
  }

  settled_in_parts end() && {
    if (failed_) return {std::move(*failed_), made_work_};
    return {std::move(answer_), made_work_};
  }

private:
  answer ask(request r) {
    auto told = std::move(in_.apply({&r, 1}).front());
    made_work_.add(in_.made_work());
    return told;
  }
  void mark(std::size_t from, std::size_t to, errc code) {
    std::fill(answer_.each.begin() + static_cast<std::ptrdiff_t>(from),
              answer_.each.begin() + static_cast<std::ptrdiff_t>(to), code);
  }
  void fail(const error& why) { failed_ = why; }

  store& in_;
  const settle_request& all_;
  settle_answer answer_;
  std::optional<error> failed_;
  int refused_ = 0;
  hint made_work_;
};

}  // namespace

settled_in_parts settle_in_parts(store& in, const settle_request& refused, const error& why) {
  dividing all(in, refused);
  // With a claim it may have been the claim.
  if (refused.next) all.settle(0, refused.runs.size());
  else all.halve(0, refused.runs.size(), why.code);
  all.claim();
  return std::move(all).end();
}

}  // namespace sluice::storage
