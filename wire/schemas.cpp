#include "wire/schemas.hpp"

#include <cstdint>
#include <map>
#include <tuple>
#include <type_traits>

#include "wire/overview.hpp"
#include "wire/shown.hpp"

namespace sluice::wire {
namespace {

// The schemas that others refer to.
template <class T>
struct named_schema {
  std::string_view name;
};
constexpr std::tuple named_schemas{named_schema<job>{"Job"},
                                   named_schema<queue_counts>{"Queue"},
                                   named_schema<server_info>{"Server"},
                                   named_schema<totals_line>{"Totals"},
                                   named_schema<throttler_status>{"Throttler"},
                                   named_schema<throttler_holder>{"Holder"},
                                   named_schema<recurring_status>{"Schedule"},
                                   named_schema<lock_status>{"Lock"},
                                   named_schema<group_status>{"Group"},
                                   named_schema<quarantined_job>{"Quarantined"},
                                   named_schema<error_group>{"ErrorGroup"},
                                   named_schema<operator_action>{"Act"}};

template <class T>
constexpr std::string_view name_of_schema() {
  return std::apply(
      [](const auto&... one) {
        std::string_view name;
        ((std::is_same_v<std::decay_t<decltype(one)>, named_schema<T>> ? void(name = one.name) : void()), ...);
        return name;
      },
      named_schemas);
}

// A JSON object, member by member.
class object_text {
public:
  void add(std::string_view name, const std::string& schema) {
    text_ += cat(text_.empty() ? "" : ",", json_quoted(name), ":", schema);
  }
  void add_text(std::string_view name, std::string_view text) { add(name, json_quoted(text)); }
  std::string text() const { return cat("{", text_, "}"); }

private:
  std::string text_;
};

// What of a value is shown: in lists, or of one thing alone.
enum class shown_as : std::uint8_t { in_list, alone };

template <class T>
object_text object_schema(shown_as how);

template <class T>
constexpr std::string_view type_of() {
  if constexpr (std::is_same_v<T, bool>) return "boolean";
  else if constexpr (std::is_integral_v<T>) return "integer";
  else if constexpr (std::is_floating_point_v<T>) return "number";
  else if constexpr (has_one_value<T>) return type_of<std::remove_cvref_t<decltype(T{}.value)>>();
  else if constexpr (is_text<T> || std::is_enum_v<T> || std::is_same_v<T, time_point> ||
                     std::is_same_v<T, base64_bytes>)
    return "string";
  else return "";
}

// What is said of a member of type T; `may_be_null`: it is an optional one.
template <class T>
object_text member_schema(const field& f, bool may_be_null) {
  object_text s;
  if constexpr (is_optional<T>) {
    return member_schema<typename T::value_type>(f, true);
  } else if constexpr (!type_of<T>().empty()) {
    const auto type = json_quoted(type_of<T>());
    s.add("type", may_be_null ? cat("[", type, R"(,"null"])") : type);
    if (!f.words.empty()) {
      std::string words;
      for (const auto word : f.words)
        words += cat(words.empty() ? "" : ",", json_quoted(word));
      s.add("enum", cat("[", words, may_be_null ? ",null]" : "]"));
    }
    if constexpr (std::is_same_v<T, time_point>) s.add_text("format", "date-time");
    if constexpr (std::is_same_v<T, base64_bytes>) s.add_text("contentEncoding", "base64");
  } else if constexpr (is_list<T>) {
    s.add_text("type", "array");
    s.add("items", member_schema<typename T::value_type>({}, false).text());
  } else if constexpr (std::is_same_v<T, std::map<std::string, std::string>>) {
    s.add_text("type", "object");
    s.add("additionalProperties", R"({"type":"string"})");
  } else if constexpr (!name_of_schema<T>().empty()) {
    const auto ref = cat("#/components/schemas/", name_of_schema<T>());
    if (may_be_null) s.add("anyOf", cat(R"([{"type":"null"},{"$ref":)", json_quoted(ref), "}]"));
    else s.add_text("$ref", ref);
  } else if (may_be_null) {
    s.add("anyOf", cat(R"([{"type":"null"},)", object_schema<T>(shown_as::in_list).text(), "]"));
  } else {
    s = object_schema<T>(shown_as::in_list);
  }
  if (!f.says.empty()) s.add_text("description", f.says);
  return s;
}

class properties {
public:
  explicit properties(shown_as how) : how_(how) {}

  template <class T>
  properties& operator()(std::string_view name, const T&, const field& f = {}) {
    if (f.is_detail && how_ == shown_as::in_list) return *this;
    if constexpr (std::is_same_v<T, given_json>) {
      all_.add(name,
               R"({"description":"As JSON, with its numbers as they were given; null when it is none, or hidden."})");
      all_.add(cat(name, "_text"), R"({"type":"string","description":"The same byte for byte."})");
      if (!f.is_given) require(cat(name, "_text"));
    } else {
      all_.add(name, member_schema<T>(f, false).text());
    }
    if (!f.is_given) require(name);
    return *this;
  }
  object_text schema() const {
    object_text s;
    s.add_text("type", "object");
    s.add("properties", all_.text());
    s.add("required", cat("[", required_, "]"));
    s.add("additionalProperties", "false");
    return s;
  }

private:
  void require(std::string_view name) { required_ += cat(required_.empty() ? "" : ",", json_quoted(name)); }

  shown_as how_;
  object_text all_;
  std::string required_;
};

template <class T>
object_text object_schema(shown_as how) {
  properties all(how);
  show(all, T{});
  return all.schema();
}

// A list as it is told page after page; `is_counted`: with how many jobs were read for it.
object_text page_schema(std::string_view name, std::string_view of, bool is_counted = false) {
  object_text items, members, page;
  items.add_text("type", "array");
  items.add("items", cat(R"({"$ref":"#/components/schemas/)", of, R"("})"));
  members.add(name, items.text());
  members.add("next",
              R"({"type":"string","description":"Give it as `after` to go on; empty: this was the last page."})");
  if (is_counted) members.add("records_read", R"({"type":"integer","description":"How many jobs were read for it."})");
  page.add_text("type", "object");
  page.add("properties", members.text());
  page.add("required", cat("[", json_quoted(name), R"(,"next")", is_counted ? R"(,"records_read"])" : "]"));
  page.add("additionalProperties", "false");
  return page;
}

}  // namespace

std::string schemas() {
  using enum shown_as;
  std::string all;
  const auto add = [&](std::string_view name, const object_text& schema) {
    all += cat(json_quoted(name), ":", schema.text(), ",");
  };
  std::apply([&]<class... T>(const named_schema<T>&... one) { (add(one.name, object_schema<T>(in_list)), ...); },
             named_schemas);
  add("JobDetail", object_schema<job>(alone));
  add("Stored", object_schema<enqueue_report>(in_list));
  add("Changed", object_schema<told_changes>(in_list));
  add("Explanation", object_schema<explained_job>(in_list));
  add("ThrottlerDetail", object_schema<throttler_status>(alone));
  add("ScheduleDetail", object_schema<recurring_outlook>(alone));
  add("QuarantinedRecord", object_schema<quarantined_record>(in_list));
  add("Overview", object_schema<overview>(in_list));
  for (const auto& [name, items, of] : {std::tuple("QueuePage", "queues", "Queue"),
                                        {"ServerPage", "servers", "Server"},
                                        {"TotalsPage", "totals", "Totals"},
                                        {"ThrottlerPage", "throttlers", "Throttler"},
                                        {"HolderPage", "holders", "Holder"},
                                        {"WaiterPage", "waiters", "Stored"},
                                        {"SchedulePage", "schedules", "Schedule"},
                                        {"LockPage", "locks", "Lock"},
                                        {"GroupPage", "groups", "Group"},
                                        {"QuarantinePage", "jobs", "Quarantined"},
                                        {"ActPage", "actions", "Act"}})
    add(name, page_schema(items, of));
  add("JobPage", page_schema("jobs", "Job", true));
  add("ErrorPage", page_schema("errors", "ErrorGroup", true));
  return all;
}

}  // namespace sluice::wire
