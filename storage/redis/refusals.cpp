#include "storage/redis/refusals.hpp"

#include <algorithm>
#include <iterator>

#include "core/text.hpp"

namespace sluice::storage::redis {
namespace {

// The node that a redirection names, as in "MOVED 59 127.0.0.1:17061" or "MOVED 59 ::1:17061". One without a host is on
// the host that answered.
std::string node_in(std::string_view redirection) {
  const auto at = redirection.rfind(' ');
  const auto node = at == std::string_view::npos ? std::string_view() : redirection.substr(at + 1);
  const auto colon = node.rfind(':');
  if (colon == std::string_view::npos) return "the node that has it";
  const auto host = printable(node.substr(0, colon), 200), port = printable(node.substr(colon + 1), 10);
  if (host.empty()) return cat("port ", port, " of the same host");
  const bool is_bare_ipv6 = host.find(':') != std::string::npos && host.front() != '[';
  return is_bare_ipv6 ? cat("[", host, "]:", port) : cat(host, ":", port);
}

}  // namespace

std::string help_with(std::string_view what) {
  if (what.starts_with("NOAUTH"))
    return "; the URL has to log in, by USER:PASSWORD@ or :PASSWORD@ before its host, or by a file or a variable "
           "(docs/configuration.md)";
  if (what.find("DB index is out of range") != std::string_view::npos)
    return "; the database is the number at the end of the URL, below `databases` of Redis's settings (16)";
  if (what.find("SELECT is not allowed in cluster mode") != std::string_view::npos)
    return "; a cluster has database 0 alone: end the URL with /0";
  if (what.starts_with("MOVED "))
    return cat("; another node of the cluster has the slot of this store, and redirections are not followed: name ",
               node_in(what), " in the URL");
  if (what.starts_with("ASK "))
    return cat(
        "; the slot of this store is moving to another node of the cluster, and redirections are not followed: "
        "name ",
        node_in(what), " in the URL once it has moved");
  if (what.starts_with("CLUSTERDOWN"))
    return "; the cluster does not serve the slot of this store: `redis-cli cluster info` at that node says what it "
           "lacks";
  if (what.starts_with("CROSSSLOT"))
    return "; all keys of a store are in one slot, and redirections are not followed: name the node that has it in the "
           "URL";
  return {};
}

// In the words of Redis, and in those that Sluice has for its words.
bool needs_a_person(std::string_view message) {
  constexpr std::string_view all[] = {"NOAUTH",
                                      "WRONGPASS",
                                      "it has set no password",
                                      "NOPERM",
                                      "its user may not run",
                                      "DB index is out of range",
                                      "SELECT is not allowed in cluster mode",
                                      ": MOVED "};
  return std::any_of(std::begin(all), std::end(all),
                     [&](std::string_view words) { return message.find(words) != std::string_view::npos; });
}

}  // namespace sluice::storage::redis
