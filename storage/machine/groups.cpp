#include <charconv>

#include "core/no_job.hpp"
#include "storage/machine/transitions.hpp"

namespace sluice::storage::machine {
namespace {

change_answer read_group_change(const change_group_request& r, std::string_view said) {
  const auto& name = r.group.name.value;
  const auto space = said.find(' ');
  const auto word = said.substr(0, space),
             about = space == std::string_view::npos ? said.substr(0, 0) : said.substr(space + 1);
  if (word == "done") return {};
  if (word == "already") return {.changed = false};
  if (word == "not_found") return {errc::not_found, no_group(name).message};
  if (word == "other")
    return {errc::illegal_transition, about.empty() ? cat("group ", name, " is there, and in no other group")
                                                    : cat("group ", name, " is there, in group ", about)};
  if (word == "no_group") return {errc::not_found, cat(no_group(about).message, " that ", name, " could be in")};
  if (word == "too_deep")
    return {errc::invalid_argument, cat("groups are in each other 16 deep at most, and ", about, " is the 16th")};
  if (word == "sealed") return {errc::group_closed, cat("group ", about, " is sealed: ", name, " cannot be in it")};
  if (word == "cancelled")
    return {errc::group_closed, cat("group ", about, " was cancelled: ", name, " cannot be in it")};
  return {errc::illegal_transition,
          about == "finished" ? cat("group ", name, " has ended already") : cat("group ", name, " was cancelled")};
}

// One of those that a call tells.
std::optional<group_status> read_group(const item& reply, std::size_t at) {
  group_status g;
  g.name = group_name(std::string(reply[at].text()));
  g.in = group_name(std::string(reply[at + 1].text()));
  const auto row = reply[at + 2].text();
  if (row.size() < 2) return std::nullopt;
  std::uint64_t numbers[6] = {};
  const auto* from = row.data() + 1;
  const auto* to = row.data() + row.size();
  for (auto& n : numbers) {
    const auto read = std::from_chars(from + 1, to, n);
    if (from == to || read.ec != std::errc{}) return std::nullopt;
    from = read.ptr;
  }
  g.cancelled = row[0] == 'c';
  g.sealed = row[0] != 'o';
  g.open = numbers[0];
  g.succeeded = numbers[1];
  g.failed = numbers[2];
  g.deleted = numbers[3];
  g.created_at = from_micros(static_cast<std::int64_t>(numbers[4]));
  if (numbers[5] > 0) {
    g.finished_at = from_micros(static_cast<std::int64_t>(numbers[5]));
    g.ended_as = g.failed > 0                   ? job_state::failed
                 : g.deleted > 0 || g.cancelled ? job_state::deleted
                                                : job_state::succeeded;
  }
  if (const auto seal_by = reply[at + 3].number(); seal_by > 0) g.seal_by = from_micros(seal_by);
  return g;
}

}  // namespace

std::vector<group_status> read_groups(const item& reply) {
  std::vector<group_status> all;
  for (std::size_t i = 0; i + 4 <= reply.size(); i += 4)
    if (auto g = read_group(reply, i)) all.push_back(std::move(*g));
  return all;
}

void ask(steps& x, const change_group_request& r, answer& into) {
  into = change_answer{};
  constexpr std::string_view words[] = {"create", "seal", "cancel"};
  call c(r.change == change_group_request::what::cancel ? verb::cancel_group : verb::change_group);
  c.add(words[static_cast<std::size_t>(r.change)]).add(r.group.name.value).add(r.group.in.value);
  c.add(r.group.seal_within.count());
  x.send(
      std::move(c),
      [&x, &r, &into](const item& reply) {
        into = read_group_change(r, reply[0].text());
        x.made_work.add_encoded(reply[1].text());
      },
      fails(into));
}

void ask(steps& x, const groups_request& r, answer& into) {
  into = groups_answer{};
  call c(verb::groups);
  c.add(r.only.value).add(r.after).add(r.limit + 1);
  x.send(
      std::move(c),
      [&r, &into](const item& reply) {
        auto* filled = filling<groups_answer>(into);
        if (filled) filled->page.groups = read_groups(reply);
        if (filled && filled->page.groups.size() > r.limit) {
          filled->page.groups.resize(r.limit);
          filled->page.next = filled->page.groups.back().name.value;
        }
      },
      fails(into));
}

void ask(steps& x, const failed_members_request& r, answer& into) {
  into = names_answer{};
  call c(verb::members);
  c.add(r.group.value).add("2").add("2").add(r.skip).add(r.limit);
  x.send(
      std::move(c),
      [&into](const item& reply) {
        auto* filled = filling<names_answer>(into);
        for (std::size_t i = 0; filled && i < reply.size(); ++i)
          filled->names.emplace_back(reply[i].text());
      },
      fails(into));
}

}  // namespace sluice::storage::machine
