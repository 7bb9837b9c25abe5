#include "storage/redis/exchange.hpp"

#include <algorithm>

#include "core/log.hpp"
#include "core/text.hpp"
#include "storage/machine/transitions.hpp"
#include "storage/redis/libraries.hpp"
#include "storage/redis/refusals.hpp"

namespace sluice::storage::redis {
namespace {

// What an error reply means.
struct refusal {
  errc code = errc::storage_unavailable;
  bool leave = false;   // this server is the wrong one: connect anew
  bool reload = false;  // it has lost the library
  std::string_view word = {};
};

struct meaning {
  std::string_view begins;
  refusal what;
};

// An error of a command inside of a call may begin with other words, so codes are looked for anywhere in the text.
constexpr meaning meanings[] = {
    {"ERR Function not found", {errc::storage_unavailable, false, true}},
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
    {"RIGHTS", {errc::storage_unavailable, false, false}},
    {"MOVED", {errc::storage_unavailable, false, false}},
    {"ASK ", {errc::storage_unavailable, false, false}},
    {"CROSSSLOT", {errc::storage_unavailable, false, false}},
};

constexpr int max_reloads = 3;  // somebody may flush the library again while it is loaded

refusal read_refusal(std::string_view text) {
  // Redis refused a command in the middle of a call, which may have written before: in the words of 7.0, and of those
  // behind it.
  for (const std::string_view words : {"The user executing the script", "ACL failure in script", "not enough memory"})
    if (text.find(words) != std::string_view::npos) return {errc::unknown_outcome, false, false};
  for (const auto& m : meanings)
    if (text.starts_with(m.begins) || text.find(std::string("-").append(m.begins)) != std::string_view::npos) {
      auto found = m.what;
      found.word = m.begins;
      return found;
    }
  // A call that stopped half way: what stands in the store is not what it expects.
  return {errc::storage_damaged, false, false};
}

}  // namespace

std::string exchange::encoded(const machine::call& c) const {
  command all{"FCALL", known_.name_of(c.what(), loaded_as_), "1", prefix_, instant_, token_};
  for (std::size_t i = 0; i < c.size(); ++i)
    all.add(c[i]);
  return all.encoded();
}

void exchange::send(machine::call c, std::function<void(const machine::item&)> read,
                    std::function<void(const error&)> failed) {
  if (!may_write && !machine::is_read_only(c.what())) return failed(machine::only_read(cat("prefix ", prefix_)));
  const bool writes = !machine::is_read_only(c.what());
  post({std::move(c), 0, writes, std::move(read), std::move(failed)});
}

void exchange::post(step s) {
  connection_.post(encoded(s.what));
  s.ends_at = connection_.posted();
  steps_.push_back(std::move(s));
}

void exchange::wait_for_replicas(std::uint32_t count, duration timeout) {
  replicas_ = 0;
  if (std::none_of(steps_.begin(), steps_.end(), [](const step& s) { return machine::is_promise(s.what.what()); }))
    return;
  connection_.post(encoded(machine::call(machine::verb::mark)));
  command c{"WAIT"};
  c.add(count).add(std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count());
  connection_.post(c.encoded());
  replicas_ = count;
  replica_timeout_ = timeout;
}

std::string exchange::in_words(const std::string& why) const {
  return cat("Redis at ", connection_.server(), ": ", why);
}

// All that was not answered: certainly not done when Redis never saw its end.
void exchange::lose(const std::string& why) {
  why_not_stay = why;
  for (auto& s : steps_) {
    const bool unseen = s.ends_at > connection_.sent();
    s.failed({unseen || !s.writes ? errc::storage_unavailable : errc::unknown_outcome, in_words(why)});
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
    auto got = next(deadline);
    if (!got) {
      for (auto& [s, reply] : waiting)
        s.failed({errc::unknown_outcome, in_words(got.error().message)});
      return lose(got.error().message), false;
    }
    auto s = std::move(steps_.front());
    steps_.pop_front();
    const auto reply = got->root();
    if (!reply.is_error()) {
      if (replicas_ > 0 && machine::is_promise(s.what.what())) waiting.emplace_back(std::move(s), std::move(*got));
      else s.read(reply);
      continue;
    }
    const auto why = read_refusal(reply.text());
    if (why.reload) {
      again.push_back(std::move(s));
      continue;
    }
    if (auto unknown = machine::unknown_layout(reply.text(), cat("prefix ", prefix_))) {
      s.failed(*unknown);
      continue;
    }
    if (why.word == "RIGHTS") {
      s.failed({why.code, in_words(cat("its user may not run", printable(reply.text().substr(why.word.size()), 300),
                                       ", which the rules of jobs use; docs/store_layout.md lists what to allow"))});
      continue;
    }
    stay = stay && !why.leave;
    if (why.leave) why_not_stay = cat("it answers ", why.word);
    const bool stopped = why.code == errc::storage_damaged || why.code == errc::unknown_outcome;
    if (stopped) log::error("Redis refused a call: ", printable(known_.with_places(reply.text()), 1000));
    const auto code = why.code == errc::unknown_outcome && !s.writes ? errc::storage_unavailable : why.code;
    s.failed({code, in_words(cat(printable(known_.with_places(reply.text()), 300), help_with(reply.text())))});
  }
  if (replicas_ > 0) {
    auto got = next(deadline);  // of the mark, without which WAIT may have nothing to wait for
    const bool marked = got && !got->root().is_error();
    if (got) got = next(deadline);  // of WAIT
    const bool enough = marked && got && got->root().number() >= static_cast<std::int64_t>(replicas_);
    const auto why = got ? cat("fewer than ", replicas_, " replicas have it yet ", printable(got->root().text(), 200))
                         : got.error().message;
    for (auto& [s, reply] : waiting) {
      if (enough) s.read(reply.root());
      else s.failed({errc::unknown_outcome, in_words(why)});
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
    auto found = stay && reloads < max_reloads
                     ? find_library(connection_, known_, deadline)
                     : error{errc::storage_unavailable, "it has lost the library of Sluice's rules"};
    if (!found) {
      for (auto& s : again)
        s.failed({found.error().code, in_words(found.error().message)});
      why_not_stay = found.error().message;  // an answer to what was asked last may come yet
      return false;
    }
    log::info("Redis had lost the library of Sluice's rules; it is there again");
    loaded_as_ = std::move(*found);
    for (auto& s : again)
      post(std::move(s));
    if (replicas_ > 0) wait_for_replicas(replicas_, replica_timeout_);
  }
}

}  // namespace sluice::storage::redis
