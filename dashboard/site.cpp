#include "dashboard/site.hpp"

#include <algorithm>
#include <chrono>
#include <set>

#include "core/log.hpp"
#include "core/text.hpp"
#include "dashboard/routes.hpp"

namespace sluice::web {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t max_ids_logged = 20;
constexpr std::string_view no_route = "none";

// What every answer has; and whoever has it already is told only that.
http_response finished(const http_request& request, http_response said) {
  add_safety(said);
  const auto add_caching = [&](const char* how) {
    const bool has_own = std::any_of(said.headers.begin(), said.headers.end(),
                                     [](const auto& header) { return header.first == "Cache-Control"; });
    if (!has_own) said.headers.emplace_back("Cache-Control", how);
  };
  const bool is_look = request.method == "GET" || request.method == "HEAD";
  if (is_look && said.status == 200) {
    const auto tag = tag_of(said);
    said.headers.emplace_back("ETag", tag);
    add_caching("no-cache");
    const auto known = request.header("if-none-match");
    if (known == "*" || known.find(tag) != std::string_view::npos) {  // a list of them, weak ones too
      said.status = 304;
      said.body.clear();
      said.type.clear();
    }
  } else {
    add_caching("no-store");
  }
  return said;
}

// The media type in lower case, without its parameters.
std::string media_type(std::string_view header) {
  std::string type(header.substr(0, header.find(';')));
  while (type.ends_with(' '))
    type.pop_back();
  for (auto& c : type)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return type;
}

// What is wrong with the query; empty: nothing.
std::string fault_of_query(const http_request& request, const route& way) {
  if (way.is_for_people) return {};  // their scripts read it
  const std::vector<std::string> known(way.parameters.begin(), way.parameters.end());
  std::set<std::string_view> seen;
  for (const auto& [name, value] : request.query) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return cat("there is no parameter '", printable(name, 100), "'", did_you_mean(first_bytes(name, 300), known));
    }
    if (name != "header" && !seen.insert(name).second) return cat("the parameter '", name, "' is given twice");
  }
  return {};
}

std::optional<http_response> refuse_unasked(board& on, const http_request& request, const found_route& found,
                                            visitor& who) {
  // Whoever has no business here does not learn which paths there are.
  const auto need = found.way ? found.way->need : access_need::view;
  if (const auto refused = on.access->check(request, need, who)) {
    auto said = problem(refused->status, refused->detail);
    if (refused->status == 429) said.headers = {{"Retry-After", "60"}};
    if (refused->status == 401)
      said.headers.emplace_back("WWW-Authenticate", "Basic realm=\"Sluice\", charset=\"UTF-8\"");
    return said;
  }
  if (!found.way && found.allowed.empty())
    return problem(errc::not_found, cat("there is no ", printable(request.target, 200)));
  if (!found.way) {
    auto said = problem(405, cat("this path takes ", found.allowed));
    said.headers.emplace_back("Allow", found.allowed);
    return said;
  }
  const auto& way = *found.way;
  if (const auto fault = fault_of_query(request, way); !fault.empty()) return problem(errc::invalid_argument, fault);
  const auto length = request.header("content-length");
  const bool has_body = !length.empty() && length != "0";
  const bool changes = way.method != "GET";
  // A page of another site can send forms and texts, and nothing else, without being asked first.
  if (changes && (has_body || way.method == "POST") && media_type(request.header("content-type")) != "application/json")
    return problem(415, "a change must come as Content-Type: application/json");
  return std::nullopt;
}

void log_change(const visit& v, const http_response& said) {
  std::string about;
  for (std::size_t i = 0; i < std::min(v.about.size(), max_ids_logged); ++i)
    about += cat(" ", printable(v.about[i], 200));
  if (v.about.size() > max_ids_logged) about += cat(" and ", v.about.size() - max_ids_logged, " more");
  log::info("dashboard: ", v.request.peer, " ", v.who.name.empty() ? "somebody" : printable(v.who.name, 100), " ",
            v.request.method, " ", printable(v.request.target, 300), " -> ", said.status, about);
}

http_response carried_out(board& on, const route& way, visit& v) {
  if (way.from == answered_from::memory) return way.answer(v);
  const auto ask = [&] {
    if (!on.places.take()) return problem(503, "the store has more than enough to do; ask again");
    struct place {
      board& of;
      ~place() { of.places.give_back(); }
    } const mine{on};
    return way.answer(v);
  };
  if (way.from == answered_from::reads)
    return on.reads.get(v.request.target, v.who.name.empty() ? v.request.peer : v.who.name, ask);
  auto said = ask();
  const bool is_unchanged = said.status >= 400 && said.status < 500;  // what failed may have been done
  if (is_unchanged) return said;
  on.reads.forget_all();
  on.known->expire();
  return said;
}

// A fault of ours is an answer like any other: counted, logged, and safe.
http_response carried_out_or_failed(board& on, const route& way, visit& v) try {
  return carried_out(on, way, v);
} catch (const std::exception& thrown) {
  log::error("a request could not be answered: ", message_of(thrown));
  return problem(500, "");
}

}  // namespace

std::optional<http_response> site::refuse(const http_request& request) {
  visitor who;
  auto refused = refuse_unasked(on_, request, find_route(request), who);
  if (!refused) return std::nullopt;
  on_.numbers.note(no_route, refused->status, duration::zero());
  return finished(request, std::move(*refused));
}

http_response site::answer(const http_request& request) {
  const auto began = steady_clock::now();
  auto found = find_route(request);
  visit v{on_, request, std::move(found.names)};
  // Once more, since a role may depend on it; it was said that it may.
  if (!found.way || on_.access->check(request, found.way->need, v.who)) return finished(request, problem(403, ""));
  auto said = carried_out_or_failed(on_, *found.way, v);
  if (found.way->method != "GET") log_change(v, said);
  on_.numbers.note(found.way->pattern, said.status, std::chrono::duration_cast<duration>(steady_clock::now() - began));
  return finished(request, std::move(said));
}

}  // namespace sluice::web
