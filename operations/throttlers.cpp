#include "operations/throttlers.hpp"

#include <map>

#include "core/ranges.hpp"
#include "core/text.hpp"
#include "core/throttlers.hpp"
#include "throttling/status.hpp"

namespace sluice::operations {
namespace {

constexpr std::uint32_t shown = 20;            // holders, and waiters
constexpr std::size_t limiters_at_once = 200;  // about one page of throttlers

bool row_is_limiter(const std::string& resource) {
  const auto kind = kind_of(resource);
  return kind && throttling::is_limiter(*kind);
}

void read_limiter(const async_store& store, const std::string& resource,
                  const callback<storage::limiter_record>& then) {
  storage::ask_for<storage::read_limiter_answer>(store, storage::read_limiter_request{resource},
                                                 [then](result<storage::read_limiter_answer> got) {
                                                   if (got) then(std::move(got->limiter));
                                                   else then(got.error());
                                                 });
}

// Looks at the throttlers behind `after`, by resource, until `look` answers false; then tells.
void read_rows(const async_store& store, std::string after, const std::function<bool(storage::throttler_row)>& look,
               const std::function<void(result<void>)>& then) {
  storage::throttlers_request asked;
  asked.after = std::move(after);
  storage::ask_for<storage::throttlers_answer>(store, std::move(asked),
                                               [store, look, then](result<storage::throttlers_answer> got) {
                                                 if (!got) return then(got.error());
                                                 for (auto& row : got->throttlers)
                                                   if (!look(std::move(row))) return then({});
                                                 if (got->next.empty()) then({});
                                                 else read_rows(store, std::move(got->next), look, then);
                                               });
}

// How those of some rows stand: asks for the limiters of those that have one, so many at once.
struct joining : std::enable_shared_from_this<joining> {
  async_store store;
  callback<std::vector<throttler_status>> then;
  std::vector<storage::throttler_row> rows, lines;  // lines of keys
  std::vector<storage::limiter_record> limiters;    // of the rows
  std::size_t asked = 0, open = 0;                  // limiters: of so many rows, and how many of these are not told yet
  std::optional<error> failed;

  void read_limiters() {
    if (failed) return then(*failed);
    std::vector<std::size_t> some;
    for (; asked < rows.size() && some.size() < limiters_at_once; ++asked)
      if (row_is_limiter(rows[asked].resource)) some.push_back(asked);
    if (some.empty()) return tell_rows();
    open = some.size();  // before the first is asked for: its answer may be told at once
    for (const auto i : some)
      read_limiter(store, rows[i].resource, [me = shared_from_this(), i](result<storage::limiter_record> limiter) {
        if (limiter) me->limiters[i] = std::move(*limiter);
        else me->failed = limiter.error();
        if (--me->open == 0) me->read_limiters();
      });
  }

  void tell_rows() {
    std::vector<throttler_status> all;
    std::map<std::string, std::size_t> place;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      all.push_back(throttling::status_of(rows[i], limiters[i]));
      place[rows[i].resource] = i;
    }
    for (const auto& line : lines)
      if (const auto at = place.find(throttling::throttler_of(line)); at != place.end())
        throttling::add_line(all[at->second], line);
    then(std::move(all));
  }
};

// One: its row with holders and waiters, its limiter, and of a dynamic window the lines of its keys.
struct description : std::enable_shared_from_this<description> {
  async_store store;
  callback<throttler_status> then;
  throttler_kind kind{};
  std::string resource;
  throttler_status status;
  bool has_state = false;  // somebody has counted here
  std::vector<std::string> lines;

  void begin() {
    storage::ask_for<storage::throttler_answer>(store, storage::throttler_request{resource, shown},
                                                [me = shared_from_this()](result<storage::throttler_answer> got) {
                                                  if (got) me->check_limiter(std::move(*got));
                                                  else me->then(got.error());
                                                });
  }

  void check_limiter(storage::throttler_answer row) {
    const auto of = throttling::throttler_of(row.about);
    if (!row_is_limiter(of)) return describe(row, {});
    read_limiter(store, of,
                 [me = shared_from_this(), row = std::move(row)](const result<storage::limiter_record>& limiter) {
                   if (limiter) me->describe(row, *limiter);
                   else me->then(limiter.error());
                 });
  }

  void describe(const storage::throttler_answer& row, const storage::limiter_record& limiter) {
    status = throttling::status_of(row.about, limiter);
    for (const auto& h : row.holders)
      status.holders.push_back({h.id, h.fence, h.reserved, h.since});
    status.waiters = row.waiters;
    has_state = !limiter.state.empty();
    if (throttling::throttler_of(row.about) == resource && kind == throttler_kind::dynamic_window) add_keys();
    else tell();
  }

  // Whoever waits for a dynamic window waits in the line of a key.
  void add_keys() {
    const auto me = shared_from_this();
    const auto prefix = resource + "/";
    read_rows(
        store, prefix,
        [me, prefix](const storage::throttler_row& line) {
          if (!line.resource.starts_with(prefix)) return false;
          throttling::add_line(me->status, line);
          if (me->lines.size() < shown) me->lines.push_back(line.resource);
          return true;
        },
        [me](const result<void>& read) {
          if (read) me->add_waiters(0);
          else me->then(read.error());
        });
  }

  void add_waiters(std::size_t line) {
    const auto left = shown - static_cast<std::uint32_t>(status.waiters.size());
    if (line == lines.size() || left == 0) return tell();
    storage::ask_for<storage::throttler_answer>(store, storage::throttler_request{lines[line], left},
                                                [me = shared_from_this(), line](result<storage::throttler_answer> got) {
                                                  if (!got) return me->then(got.error());
                                                  for (auto& id : got->waiters)
                                                    me->status.waiters.push_back(std::move(id));
                                                  me->add_waiters(line + 1);
                                                });
  }

  void tell() {
    const bool known =
        status.definition || status.held + status.waiting > 0 || kind == throttler_kind::mutex || has_state;
    if (known) then(std::move(status));
    else
      then(error{errc::not_found, cat("there is no throttler ", printable(resource, 200)), error_subject::throttler});
  }
};

}  // namespace

void set_throttler(const async_store& store, const throttler& definition, const callback<throttler_change>& then) {
  if (const auto fine = check(definition); !fine) return then(fine.error());
  auto asked = storage::to_define(definition);
  const auto resource = asked.resource, text = asked.text;
  storage::ask_for<storage::define_answer>(
      store, std::move(asked), [then, resource, text](const result<storage::define_answer>& got) {
        if (!got) return then(got.error());
        const bool is_new = got->what == storage::define_answer::how::added;
        then(throttler_change{resource, is_new, changes_between(got->before, text), got->woken});
      });
}

void remove_throttler(const async_store& store, throttler_kind kind, const std::string& name,
                      const callback<std::string>& then) {
  const auto resource = resource_of(kind, name);
  storage::ask_for<storage::change_answer>(store, storage::undefine_request{resource},
                                           [then, resource](const result<storage::change_answer>& got) {
                                             if (!got) then(got.error());
                                             else if (got->code != errc::none) then(storage::refusal(*got));
                                             else then(resource);
                                           });
}

void throttlers_of(const async_store& store, std::vector<storage::throttler_row> rows,
                   const callback<std::vector<throttler_status>>& then) {
  const auto all = std::make_shared<joining>();
  all->store = store;
  all->then = then;
  for (auto& row : rows)
    (throttling::throttler_of(row) == row.resource ? all->rows : all->lines).push_back(std::move(row));
  all->limiters.resize(all->rows.size());
  all->read_limiters();
}

void all_throttlers(const async_store& store, const callback<std::vector<throttler_status>>& then) {
  const auto rows = std::make_shared<std::vector<storage::throttler_row>>();
  read_rows(
      store, {},
      [rows](storage::throttler_row row) {
        rows->push_back(std::move(row));
        return true;
      },
      [store, rows, then](const result<void>& read) {
        if (read) throttlers_of(store, std::move(*rows), then);
        else then(read.error());
      });
}

void one_throttler(const async_store& store, throttler_kind kind, const std::string& name,
                   const callback<throttler_status>& then) {
  const auto one = std::make_shared<description>();
  one->store = store;
  one->then = then;
  one->kind = kind;
  one->resource = resource_of(kind, name);
  one->begin();
}

result<void> require_defined(std::vector<undefined_throttler> all,
                             const std::function<storage::answer(const storage::request&)>& ask) {
  for (auto at = all.begin(); at != all.end();) {
    const auto got = ask(storage::throttler_request{at->resource, 1});
    if (const auto* refused = std::get_if<error>(&got)) return *refused;
    if (std::get<storage::throttler_answer>(got).about.definition.empty()) ++at;
    else at = all.erase(at);
  }
  if (all.empty()) return {};
  return error{errc::not_found, how_to_define(all)};
}

std::string difference_of(const std::string& resource, std::string_view stored, std::string_view configured,
                          std::string_view which_counts) {
  auto differs = changes_between(stored, configured);
  if (!differs.empty())
    differs = cat("throttler ", printable(resource, 200), " in the store → in the configuration: ", printable(differs),
                  "; ", which_counts);
  return differs;
}

std::vector<std::string> differences(const std::vector<throttler>& configured, const storage::asker& ask) {
  std::vector<std::string> all;
  for (const auto& one : configured) {
    const auto here = storage::to_define(one);
    const auto got = ask(storage::throttler_request{here.resource, 1});
    const auto* there = std::get_if<storage::throttler_answer>(&got);
    if (!there || there->about.definition.empty()) continue;
    auto told = difference_of(here.resource, there->about.definition, here.text,
                              there->config == here.text ? the_store_holds : "a start sets the configuration's value");
    if (!told.empty()) all.push_back(std::move(told));
  }
  return all;
}

}  // namespace sluice::operations
