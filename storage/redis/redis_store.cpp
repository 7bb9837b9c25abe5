#include "storage/redis/redis_store.hpp"

#include <random>

#include "core/log.hpp"
#include "core/text.hpp"
#include "storage/machine/audit.hpp"
#include "storage/machine/transitions.hpp"
#include "storage/redis/exchange.hpp"
#include "storage/redis/libraries.hpp"
#include "storage/redis/link.hpp"
#include "storage/redis/listener.hpp"
#include "storage/redis/refusals.hpp"

namespace sluice::storage::redis {
namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto connect_timeout = 2s;
constexpr auto answer_timeout = 5s;  // for a whole batch, and longer by its bytes
constexpr auto replica_timeout = 1s;
constexpr auto slice_timeout = 10s;  // for a slice of an audit
constexpr std::chrono::milliseconds first_pause = 50ms;
constexpr auto last_pause = 1s;
constexpr auto last_words = 1s;  // for what is asked when the program stops already

class redis_store final : public store {
public:
  // `token`: by which the listener of this process knows what it has heard already.
  redis_store(location where, const clock* time, open_mode mode, const machine::library& known, std::string token)
      : where_(std::move(where)),
        prefix_("{" + where_.prefix + "}"),
        time_(time),
        mode_(mode),
        known_(known),
        token_(std::move(token)) {}

  result<void> ready() override {
    looked_ = link_ && !link_->at->is_stale();
    if (looked_) return {};
    if (link_) drop("it closed the connection");
    if (steady_clock::now() < next_try_) return *why_not_;
    if (auto up = connect(); !up) {
      back_off();
      tell(up.error().message);
      why_not_ = up.error();
      return up.error();
    }
    why_not_.reset();
    return {};
  }

  std::vector<answer> apply(std::span<const request> batch) override {
    std::vector<answer> answers(batch.size());
    made_work_ = {};
    if (auto up = looked_ ? result<void>() : ready(); !up) {
      answers.assign(batch.size(), up.error());
      return answers;
    }
    looked_ = false;
    const auto posted = link_->at->posted();
    auto x = start_exchange();
    const auto joined = machine::ask_all(x, batch, answers);
    if (where_.wait_replicas > 0) x.wait_for_replicas(where_.wait_replicas, replica_timeout);
    const auto deadline = steady_clock::now() + answer_timeout + time_for(link_->at->posted() - posted);
    bool stay = x.finish(deadline);
    made_work_ = x.made_work;
    if (stay) stay = ask_alone(joined, deadline);
    if (stay) tell_of_return();
    if (stay && !x.broken.empty()) stay = move_to_quarantine(x.broken, deadline);
    if (stay) pause_ = 0ms;
    else drop(x.why_not_stay);
    return answers;
  }

  const hint& made_work() const override { return made_work_; }
  void tidy() override {}

  std::unique_ptr<watch> watch_others(std::function<void(const hint&)> callback) override {
    return listen(where_, token_, std::move(callback));
  }

  sluice::durability durability() const override { return durability_; }
  std::string settings() const override { return settings_; }
  void stop_waiting() override { stop_.set(); }
  std::unique_ptr<store> open_second_connection() override {
    return std::make_unique<redis_store>(where_, time_, mode_, known_, token_);
  }

  result<std::vector<std::string>> audit() override {
    if (auto up = ready(); !up) return up.error();
    return go_through(machine::audit);
  }
  result<void> repair(const telling& tell) override {
    if (auto up = ready(); !up) return up.error();
    return go_through([&](const machine::asking& ask) { return machine::repair(ask, tell); });
  }

  // Whoever opens a store may wait for one that is away, and should not wait for a person. Once it was open this is
  // waited for as well: passwords and rights are changed beside programs that run.
  result<void> open() {
    if (auto up = connect(); !up) {
      auto why = up.error();
      if (why.code == errc::storage_unavailable && needs_a_person(why.message)) why.code = errc::invalid_argument;
      return why;
    }
    if (link_->says.evicting)
      return error{errc::invalid_argument,
                   cat("Redis at ", to_string(link_->server), " has maxmemory-policy ", *link_->says.evicting,
                       ", which throws jobs away when memory is short; set it to noeviction")};
    return {};
  }

  // In place of `open`, for a store of which nothing else is asked.
  result<raising> raise_layout() {
    raises_ = true;
    if (auto up = connect(); !up) return up.error();
    raising said;
    auto done = ask_one(
        machine::raise_from(0),
        [&](const machine::item& reply) { said = machine::read_raising(reply, known_.layout()); },
        steady_clock::now() + slice_timeout);
    if (!done) return done.error();
    if (said.from == 0) return not_there(*link_);
    if (said.from < said.to && said.waits_for.empty())
      log::info("raised the store at Redis ", to_string(link_->server), ", database ", where_.db, ", prefix ",
                where_.prefix, " from layout ", said.from, " to ", said.to);
    return said;
  }

private:
  template <class Look>
  std::invoke_result_t<const Look&, const machine::asking&> go_through(const Look& look) {
    looked_ = false;
    auto found = look([this](machine::call c, const std::function<void(const machine::item&)>& read) {
      return ask_one(std::move(c), read, steady_clock::now() + slice_timeout);
    });
    if (!found) drop(found.error().message);  // a late answer must not be taken for another
    return found;
  }

  bool ask_alone(const std::vector<machine::enqueue_part>& joined, steady_point deadline) {
    for (const auto& part : machine::to_retry_singly(joined)) {
      auto x = start_exchange();
      machine::ask(x, {&part, 1});
      if (where_.wait_replicas > 0) x.wait_for_replicas(where_.wait_replicas, replica_timeout);
      if (!x.finish(deadline)) return false;
      made_work_.add(x.made_work);
    }
    return true;
  }

  exchange start_exchange() {
    exchange x(*link_->at, known_, loaded_as_, prefix_, time_ ? std::to_string(micros(time_->now())) : std::string(),
               token_);
    x.may_write = mode_ != open_mode::read_only;
    return x;
  }

  result<void> connect() {
    const auto deadline = steady_clock::now() + connect_timeout;
    auto opened = open_link(where_, deadline, stop_);
    if (!opened) return opened.error();
    if (mode_ != open_mode::may_make)  // what is only looked for is not written to
      if (auto there = look_for_store(*opened, deadline); !there) return there;
    auto found = find_library(*opened->at, known_, deadline);
    if (!found)
      return error{found.error().code, cat("Redis at ", to_string(opened->server), ": ", found.error().message)};
    loaded_as_ = std::move(*found);
    link_ = std::move(*opened);
    if (auto ours = take_up(deadline); !ours) {
      link_.reset();
      return ours;
    }
    const auto& says = link_->says;
    if (!settings_.empty() && durability_ > says.durability)
      log::error("Redis at ", to_string(link_->server), " keeps less than it did: ", says.why);
    if (says.evicting)
      log::error("Redis at ", to_string(link_->server), " has maxmemory-policy ", *says.evicting,
                 ": it throws jobs away when memory is short; set it to noeviction");
    durability_ = says.durability;
    settings_ = cat(says.why, "; ", says.replicas, says.replicas == 1 ? " replica" : " replicas");
    return {};
  }

  // One call by itself.
  result<void> ask_one(machine::call c, std::function<void(const machine::item&)> read, steady_point deadline) {
    auto x = start_exchange();
    result<void> done;
    x.send(std::move(c), std::move(read), [&](const error& e) { done = e; });
    if (!x.finish(deadline) && done)
      done = error{errc::storage_unavailable, cat("Redis at ", link_->at->server(), " went away")};
    return done;
  }

  error not_there(const link& l) const {
    return {
        errc::not_found,
        cat("there is no store at Redis ", to_string(l.server), ", database ", where_.db, ", prefix ", where_.prefix),
        error_subject::store};
  }

  result<void> look_for_store(const link& l, steady_point deadline) {
    const auto found = ask(*l.at, {"GET", cat(prefix_, ":schema")}, deadline);
    if (!found)
      return error{errc::storage_unavailable, cat("Redis at ", to_string(l.server), ": ", found.error().message,
                                                  help_with(found.error().message))};
    const auto layout = found->root().text();
    if (layout.empty() && was_there_)
      return error{errc::storage_unavailable, cat("Redis at ", to_string(l.server), " has lost the store")};
    if (layout.empty()) return not_there(l);
    was_there_ = true;
    if (raises_ || layout == std::to_string(known_.layout())) return {};
    return *machine::unknown_layout(cat("LAYOUT ", layout, " ", known_.layout()), cat("prefix ", prefix_));
  }

  result<void> take_up(steady_point deadline) {
    if (raises_ || mode_ == open_mode::read_only) return {};
    return ask_one(
        machine::call(machine::verb::open),
        [this](const machine::item& said) {
          if (said.text() == "MADE")
            log::info("made a new store at Redis ", to_string(link_->server), ", database ", where_.db, ", prefix ",
                      where_.prefix);
        },
        deadline);
  }

  bool move_to_quarantine(const std::vector<exchange::broken_record>& broken, steady_point deadline) {
    if (mode_ == open_mode::read_only) {
      machine::leave_broken(broken);
      return true;
    }
    auto x = start_exchange();
    machine::move_to_quarantine(x, broken);
    const bool stay = x.finish(deadline);
    made_work_.add(x.made_work);
    return stay;
  }

  void drop(const std::string& why) {
    why_not_ = error{errc::storage_unavailable,
                     cat("Redis at ", to_string(link_->server), " is away", why.empty() ? "" : ": ", why)};
    tell(cat("the connection to Redis at ", to_string(link_->server), " is lost", why.empty() ? "" : ": ", why));
    link_.reset();
    looked_ = false;
    back_off();
  }

  // The first time at once: most often it was only the connection. Not all at the same moment, when Redis comes back.
  void back_off() {
    static thread_local std::minstd_rand random{std::random_device{}()};
    next_try_ = steady_clock::now() + pause_ * std::uniform_int_distribution<int>(50, 100)(random) / 100;
    pause_ = pause_ == 0ms ? first_pause : std::min<std::chrono::milliseconds>(pause_ * 2, last_pause);
  }

  // Each reason once, however often it is tried again.
  void tell(const std::string& trouble) {
    if (logged_ == trouble) return;
    log::warn("store: ", trouble, "; trying again");
    logged_ = trouble;
  }
  void tell_of_return() {
    if (!logged_) return;
    log::info("store: Redis at ", to_string(link_->server), " answers again");
    logged_.reset();
  }

  const location where_;
  const std::string prefix_;
  const clock* const time_;
  const open_mode mode_;
  const machine::library& known_;
  bool raises_ = false;
  bool looked_ = false;     // whoever asks now has just asked whether it is ready
  bool was_there_ = false;  // the store, when we looked last
  const std::string token_;
  stop_signal stop_{last_words};
  std::optional<link> link_;
  std::string loaded_as_;              // the library, see find_library
  std::optional<error> why_not_;       // while it is away
  std::optional<std::string> logged_;  // the last trouble that was logged, until an answer came
  steady_point next_try_{};
  std::chrono::milliseconds pause_{0};
  hint made_work_;
  sluice::durability durability_ = durability::volatile_;
  std::string settings_;
};

}  // namespace

result<std::unique_ptr<store>> open(location where, const clock* time, open_mode mode, const machine::library& known) {
  auto made = std::make_unique<redis_store>(std::move(where), time, mode, known, random_token());
  if (auto opened = made->open(); !opened) return opened.error();
  return std::unique_ptr<store>(std::move(made));
}

result<std::vector<std::string>> other_libraries(const location& where, bool remove, const machine::library& known) {
  const auto deadline = steady_clock::now() + connect_timeout;
  const stop_signal stop(last_words);
  auto opened = open_link(where, deadline, stop);
  if (!opened) return opened.error();
  const auto of_this = [&](const error& why) {
    return error{why.code, cat("Redis at ", to_string(opened->server), ": ", why.message)};
  };
  auto names = other_libraries(*opened->at, known, deadline);
  if (!names) return of_this(names.error());
  for (const auto& name : *names)
    if (remove)
      if (auto gone = remove_library(*opened->at, name, deadline); !gone) return of_this(gone.error());
  return names;
}

result<raising> raise_layout(location where, const clock* time, const machine::library& known) {
  return redis_store(std::move(where), time, open_mode::must_exist, known, random_token()).raise_layout();
}

}  // namespace sluice::storage::redis
