#include "execution/limiter_rule.hpp"

#include "core/log.hpp"
#include "core/text.hpp"
#include "throttling/windows.hpp"

namespace sluice::execution {
namespace {

using namespace std::chrono_literals;

// Nothing is limited here.
class no_limit final : public limiter {
public:
  limiter_step take(std::string_view state, time_point now, std::span<const limiter_request> wanted) const override {
    limiter_step step{std::string(state), now - 1h, now + 1h, {}};
    for (const auto& w : wanted)
      step.each.push_back({w.count, {}});
    return step;
  }
};

// Nobody is let in for now: what should decide cannot.
class closed final : public limiter {
public:
  limiter_step take(std::string_view state, time_point now, std::span<const limiter_request> wanted) const override {
    return {std::string(state), now - 1h, now + 1h, std::vector<limiter_grant>(wanted.size(), {0, now + after})};
  }
  duration after = 1s;
};

}  // namespace

void limiter_rule::read(const std::string& stored, const custom_limiters& custom) {
  if (by_ && stored == text_) return;
  text_ = stored;
  key_.reset();
  by_ = nullptr;
  if (const auto named = custom.find(resource_); named != custom.end()) by_ = named->second;
  if (!text_.empty()) {
    const auto definition = read_throttler(text_);
    if (!definition) {
      log::error("the definition of throttler ", printable(resource_, 200), " cannot be read; nobody is let in");
      by_ = std::make_shared<closed>();
    } else {
      if (definition->kind == throttler_kind::dynamic_window)
        if (auto parsed = parse_args_template(definition->key)) key_ = std::move(*parsed);
      if (definition->mode == throttler_mode::release) by_ = std::make_shared<no_limit>();
      else if (!by_) by_ = throttling::make_limiter(*definition);
    }
  }
  // An actor of the host decides: whoever waits is woken, and asks it again.
  if (!by_ && resource_.starts_with("custom:")) by_ = std::make_shared<no_limit>();
}

result<std::string> limiter_rule::line_of(const job& about) const {
  if (!key_) return resource_;
  auto filled = key_->fill(about.args);
  if (!filled) return filled.error();
  return cat(resource_, "/", *filled);
}

limiter_update limiter_rule::plan(const storage::limiter_record& seen, time_point now,
                                  std::span<const limiter_ask> asks) {
  std::string why = "threw something that is no exception";
  try {
    auto planned = plan_limiter_update(*by_, resource_, seen, now, asks);
    if (planned.update.from <= now && now < planned.update.until) return planned;
    why = by_ == decided_oddly_ ? "" : "answers for another time than now";
    decided_oddly_ = by_;
  } catch (const std::exception& thrown) {
    why = "threw: " + message_of(thrown);
  } catch (...) {  // `why` says it
  }
  if (!why.empty()) log::error("the limiter of throttler ", printable(resource_, 200), " ", why, "; nobody is let in");
  return plan_limiter_update(closed(), resource_, seen, now, asks);
}

storage::update_limiter_request no_next_check(const std::string& limiter, const storage::limiter_record& seen) {
  storage::update_limiter_request update;
  update.limiter = limiter;
  update.version = seen.version;
  update.state = seen.state;
  update.from = seen.now - 1h;
  update.until = seen.now + 10s;  // when to look again, if nobody could be woken
  update.next_checks.push_back({limiter, std::nullopt});
  return update;
}

}  // namespace sluice::execution
