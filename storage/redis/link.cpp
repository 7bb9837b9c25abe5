#include "storage/redis/link.hpp"

#include <charconv>
#include <chrono>

#include "core/text.hpp"
#include "storage/redis/refusals.hpp"

namespace sluice::storage::redis {
namespace {

using namespace std::chrono_literals;

constexpr int oldest_major = 7;
// One sentinel that does not answer must not use up the time of the others.
constexpr auto sentinel_timeout = 300ms, sentinel_timeout_of_tls = 1000ms;

// A field of INFO.
std::string_view field(std::string_view info, std::string_view name) {
  for (std::size_t at = 0; (at = info.find(name, at)) != std::string_view::npos; at += name.size()) {
    const bool begins = at == 0 || info[at - 1] == '\n';
    if (!begins || at + name.size() >= info.size() || info[at + name.size()] != ':') continue;
    const auto from = at + name.size() + 1;
    return info.substr(from, info.find_first_of("\r\n", from) - from);
  }
  return {};
}

error refused(const address& a, std::string_view what) {
  return {errc::storage_unavailable, cat("Redis at ", to_string(a), ": ", printable(what, 300), help_with(what))};
}

result<void> authenticate(connection& c, const address& a, const credentials& who, steady_point deadline) {
  if (who.empty()) return {};
  const auto password = password_of(who);
  if (!password) return password.error();
  command auth{"AUTH"};
  if (!who.user.empty()) auth.add(who.user);
  c.post(auth.add(*password).encoded());
  const auto said = c.next(deadline);
  if (!said) return refused(a, said.error().message);
  if (!said->root().is_error()) return {};
  const auto why = said->root().text();
  if (why.find("without any password") != std::string_view::npos)
    return refused(a, "it has set no password; leave that of the URL, of its file or of its variable out");
  // Only its first word: some errors quote what they were sent.
  return refused(a, cat("it refuses the user or password (", why.substr(0, why.find(' ')), ")"));
}

result<address> ask_sentinels(const location& where, steady_point deadline, const stop_signal& stop) {
  std::string why;
  for (const auto& sentinel : where.at) {
    const auto by =
        std::min(deadline, std::chrono::steady_clock::now() + (where.tls ? sentinel_timeout_of_tls : sentinel_timeout));
    auto opened = connection::open(sentinel, where.tls, by, stop);
    if (!opened) {
      why = opened.error().message;
      continue;
    }
    if (auto in = authenticate(**opened, sentinel, where.sentinel, by); !in) {
      why = in.error().message;
      continue;
    }
    const auto said = ask(**opened, {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", where.master}, by);
    if (!said) {
      why = cat("the sentinel at ", to_string(sentinel), ": ", said.error().message);
      continue;
    }
    const auto pair = said->root();
    if (pair.size() == 2) return address{std::string(pair[0].text()), static_cast<std::uint16_t>(pair[1].number()), {}};
    why = cat("the sentinel at ", to_string(sentinel), " knows no master '", where.master, "'");
  }
  return error{errc::storage_unavailable, cat("no sentinel names a master: ", why)};
}

result<std::pair<std::unique_ptr<connection>, address>> log_in(const location& where, steady_point deadline,
                                                               const stop_signal& stop) {
  auto to = where.at.front();
  if (!where.master.empty()) {
    auto master = ask_sentinels(where, deadline, stop);
    if (!master) return master.error();
    to = std::move(*master);
  }
  auto opened = connection::open(to, where.tls, deadline, stop);
  if (!opened) return opened.error();
  auto& c = **opened;
  if (auto in = authenticate(c, to, where.server, deadline); !in) return in.error();
  if (where.db != 0) {
    command select{"SELECT"};
    if (const auto said = ask(c, select.add(where.db), deadline); !said) return refused(to, said.error().message);
  }
  return std::pair(std::move(*opened), std::move(to));
}

result<void> check_version(const address& a, std::string_view info) {
  const auto version = field(info, "redis_version");
  if (version.empty()) return error{errc::invalid_argument, cat("what answers at ", to_string(a), " is no Redis")};
  int major = 0;
  std::from_chars(version.data(), version.data() + version.size(), major);
  if (major >= oldest_major) return {};
  return error{errc::invalid_argument, cat("Redis at ", to_string(a), " is version ", printable(version, 30),
                                           "; 7.0 or newer is needed, or Valkey")};
}

}  // namespace

promises read_promises(std::string_view info, std::string_view fsync, std::string_view not_while_saving) {
  promises p;
  const auto policy = field(info, "maxmemory_policy");
  // Sluice's keys have no time to live, so only these take them.
  if (policy.starts_with("allkeys-")) p.evicting = std::string(policy);
  const auto replicas = field(info, "connected_slaves");
  std::from_chars(replicas.data(), replicas.data() + replicas.size(), p.replicas);
  if (field(info, "aof_enabled") != "1") {
    p.why = "appendonly no: a restart goes back to the last snapshot";
    return p;
  }
  if (fsync == "always") p.durability = durability::power_safe;
  else if (fsync == "no") p.durability = durability::volatile_;
  else p.durability = durability::crash_safe;
  p.why = fsync.empty() ? "appendonly yes; appendfsync may not be asked for, taken for everysec"
                        : cat("appendonly yes, appendfsync ", fsync);
  if (not_while_saving == "yes") {
    p.durability = durability::volatile_;
    p.why += ", no-appendfsync-on-rewrite yes: nothing is synced while Redis saves";
  }
  return p;
}

result<std::unique_ptr<connection>> open_plain(const location& where, steady_point deadline, const stop_signal& stop) {
  auto in = log_in(where, deadline, stop);
  if (!in) return in.error();
  return std::move(in->first);
}

result<link> open_link(const location& where, steady_point deadline, const stop_signal& stop) {
  auto in = log_in(where, deadline, stop);
  if (!in) return in.error();
  auto& [c, to] = *in;
  const auto role = ask(*c, {"ROLE"}, deadline);
  if (!role) return refused(to, role.error().message);
  if (const auto r = role->root(); r.size() > 0 && r[0].text() != "master")
    return refused(to, cat("it is a ", r[0].text(), ", not a master"));
  const auto info = ask(*c, {"INFO"}, deadline);
  if (!info) return refused(to, info.error().message);
  const auto text = info->root().text();
  if (auto fine = check_version(to, text); !fine) return fine.error();
  if (field(text, "loading") == "1") return refused(to, "it is loading what it kept");  // it answers INFO, and no call
  std::string fsync, not_while_saving;
  if (const auto said = ask(*c, {"CONFIG", "GET", "*appendfsync*"}, deadline))
    for (std::size_t i = 0; i + 1 < said->root().size(); i += 2)
      (said->root()[i].text() == "appendfsync" ? fsync : not_while_saving) = said->root()[i + 1].text();
  auto says = read_promises(text, fsync, not_while_saving);
  return link{std::move(c), std::move(to), std::move(says)};
}

}  // namespace sluice::storage::redis
