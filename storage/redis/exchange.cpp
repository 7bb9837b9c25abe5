#include "storage/redis/exchange.hpp"

#include <algorithm>

#include "core/log.hpp"
#include "core/text.hpp"
#include "storage/machine/transitions.hpp"

namespace sluice::storage::redis {
namespace {

// What an error reply means.
struct refusal {
  errc code = errc::storage_unavailable;
  bool leave = false;   // this server is the wrong one: connect anew
  bool reload = false;  // it has forgotten the scripts
  std::string_view word = {};
};

struct meaning {
  std::string_view begins;
  refusal what;
};

// Redis up to 6 wraps the codes of a script's errors, so they are looked for anywhere in the text.
constexpr meaning meanings[] = {
    {"NOSCRIPT", {errc::storage_unavailable, false, true}},
    {"READONLY", {errc::storage_unavailable, true, false}},
    {"MASTERDOWN", {errc::storage_unavailable, true, false}},
    {"UNBLOCKED", {errc::storage_unavailable, true, false}},
    {"NOREPLICAS", {errc::storage_unavailable, true, false}},
    {"LOADING", {errc::storage_unavailable, false, false}},
    {"BUSY", {errc::storage_busy, false, false}},
    {"TRYAGAIN", {errc::storage_unavailable, false, false}},
    {"CLUSTERDOWN", {errc::storage_unavailable, false, false}},
    {"OOM", {errc::storage_full, false, false}},
    {"MISCONF", {errc::storage_unavailable, false, false}},
    {"NOAUTH", {errc::storage_unavailable, true, false}},
    {"WRONGPASS", {errc::storage_unavailable, true, false}},
    {"NOPERM", {errc::storage_unavailable, false, false}},
    {"MOVED", {errc::storage_unavailable, false, false}},
    {"ASK ", {errc::storage_unavailable, false, false}},
    {"CROSSSLOT", {errc::storage_unavailable, false, false}},
};

constexpr int max_reloads = 3;  // somebody may make Redis forget the scripts again while they are loaded

refusal read_refusal(std::string_view text) {
  // Redis refused a command in the middle of a script, which may have written before: in the words of 6 and 7.0, and of
  // those behind them.
  for (const std::string_view words : {"The user executing the script", "ACL failure in script", "not enough memory"})
    if (text.find(words) != std::string_view::npos) return {errc::unknown_outcome, false, false};
  for (const auto& m : meanings)
    if (text.starts_with(m.begins) || text.find(std::string("-").append(m.begins)) != std::string_view::npos) {
      auto found = m.what;
      found.word = m.begins;
      return found;
    }
  // A script that stopped half way: what stands in the store is not what it expects.
  return {errc::storage_damaged, false, false};
}

}  // namespace

std::string exchange::encoded(const machine::call& c) const {
  const auto& its = known_.of(c.what());
  command all{c.has_text() ? "EVAL" : "EVALSHA", c.has_text() ? its.text : its.hash, "1", prefix_, instant_, token_};
  for (std::size_t i = 0; i < c.size(); ++i)
    all.add(c[i]);
  return all.encoded();
}

void exchange::send(machine::call c, std::function<void(const machine::item&)> read,
                    std::function<void(const error&)> failed) {
  if (!may_write && !machine::is_read_only(c.what())) return failed(machine::only_read(cat("prefix ", prefix_)));
  post({c.what(), encoded(c), 0, !machine::is_read_only(c.what()), false, std::move(read), std::move(failed)});
}

// Whether it had to be.
bool exchange::load(machine::script s) {
  const auto place = static_cast<std::size_t>(s);
  if (loaded_[place]) return false;
  connection_.post(command{"SCRIPT", "LOAD", known_.of(s).text}.encoded());
  loaded_.set(place);
  return true;
}

void exchange::post(step s) {
  s.loads = load(s.what);
  connection_.post(s.bytes);
  s.ends_at = connection_.posted();
  steps_.push_back(std::move(s));
}

void exchange::wait_for_replicas(std::uint32_t count, duration timeout) {
  replicas_ = 0;
  if (std::none_of(steps_.begin(), steps_.end(), [](const step& s) { return machine::is_promise(s.what); })) return;
  mark_loads_ = load(machine::script::mark);
  connection_.post(encoded(machine::call(machine::script::mark)));
  command c{"WAIT"};
  c.add(count).add(std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count());
  connection_.post(c.encoded());
  replicas_ = count;
  replica_timeout_ = timeout;
}

// All that was not answered: certainly not done when Redis never saw its end.
void exchange::lose(const std::string& why) {
  why_not_stay = why;
  for (auto& s : steps_) {
    const bool unseen = s.ends_at > connection_.sent();
    s.failed({unseen || !s.writes ? errc::storage_unavailable : errc::unknown_outcome, cat("Redis: ", why)});
  }
  steps_.clear();
}

result<owned_reply> exchange::next(steady_point deadline) {
  return connection_.next(deadline + time_for(connection_.received() - received_before_));
}

bool exchange::collect(steady_point deadline, std::deque<step>& again) {
  bool stay = true;
  // With replicas to wait for, a write is acknowledged only when they have it.
  std::vector<std::pair<step, owned_reply>> waiting;
  while (!steps_.empty()) {
    std::string not_loaded;
    auto got = next(deadline);
    if (got && steps_.front().loads) {
      if (got->root().is_error()) not_loaded = got->root().text();
      got = next(deadline);
    }
    if (!got) {
      for (auto& [s, reply] : waiting)
        s.failed({errc::unknown_outcome, cat("Redis: ", got.error().message)});
      return lose(got.error().message), false;
    }
    auto s = std::move(steps_.front());
    steps_.pop_front();
    const auto reply = got->root();
    if (!reply.is_error()) {
      if (replicas_ > 0 && machine::is_promise(s.what)) waiting.emplace_back(std::move(s), std::move(*got));
      else s.read(reply);
      continue;
    }
    const auto why = read_refusal(reply.text());
    if (why.reload) {
      loaded_.reset();
      if (not_loaded.empty()) again.push_back(std::move(s));
      else s.failed({errc::storage_unavailable, cat("Redis does not load a script: ", printable(not_loaded, 300))});
      continue;
    }
    if (auto unknown = machine::unknown_layout(reply.text(), cat("prefix ", prefix_))) {
      s.failed(*unknown);
      continue;
    }
    stay = stay && !why.leave;
    if (why.leave) why_not_stay = cat("it answers ", why.word);
    const bool stopped = why.code == errc::storage_damaged || why.code == errc::unknown_outcome;
    if (stopped) log::error("Redis refused a script: ", printable(reply.text(), 1000));
    const auto code = why.code == errc::unknown_outcome && !s.writes ? errc::storage_unavailable : why.code;
    s.failed({code, cat("Redis: ", printable(reply.text(), 300))});
  }
  if (replicas_ > 0) {
    auto got = next(deadline);  // of the mark, without which WAIT may have nothing to wait for
    if (got && mark_loads_) got = next(deadline);
    const bool marked = got && !got->root().is_error();
    if (!marked) loaded_.reset(static_cast<std::size_t>(machine::script::mark));
    if (got) got = next(deadline);  // of WAIT
    const bool enough = marked && got && got->root().number() >= static_cast<std::int64_t>(replicas_);
    const auto why = got ? cat("fewer than ", replicas_, " replicas have it yet ", printable(got->root().text(), 200))
                         : got.error().message;
    for (auto& [s, reply] : waiting) {
      if (enough) s.read(reply.root());
      else s.failed({errc::unknown_outcome, cat("Redis: ", why)});
    }
    if (!got) return why_not_stay = got.error().message, false;
  }
  return stay;
}

bool exchange::finish(steady_point deadline) {
  for (int reloads = 0;; ++reloads) {
    std::deque<step> again;
    bool stay = collect(deadline, again);
    if (again.empty()) return stay;
    if (stay && reloads < max_reloads) {
      log::info("Redis has forgotten the scripts; they are loaded again");
      for (auto& s : again)
        post(std::move(s));
      if (replicas_ > 0) wait_for_replicas(replicas_, replica_timeout_);
      continue;
    }
    for (auto& s : again)
      s.failed({errc::storage_unavailable, "Redis has forgotten the scripts"});
    return stay;
  }
}

}  // namespace sluice::storage::redis
