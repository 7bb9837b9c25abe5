#include "core/instant.hpp"

#include <algorithm>
#include <chrono>

#include "core/text.hpp"

namespace sluice {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes a text from its begin.
class instant_reader {
public:
  explicit instant_reader(std::string_view text) : rest_(text) {}

  bool take(std::string_view any_of) {
    const bool is_there = !rest_.empty() && any_of.find(rest_.front()) != std::string_view::npos;
    if (is_there) rest_.remove_prefix(1);
    return is_there;
  }
  // Of so many digits, and no more than `most`.
  std::optional<unsigned> number(std::size_t digits, unsigned most) {
    if (rest_.size() < digits || !std::all_of(rest_.begin(), rest_.begin() + digits, is_digit)) return std::nullopt;
    unsigned n = 0;
    for (const char c : rest_.substr(0, digits))
      n = n * 10 + static_cast<unsigned>(c - '0');
    rest_.remove_prefix(digits);
    return n <= most ? std::optional(n) : std::nullopt;
  }
  std::size_t digits_ahead() const {
    return static_cast<std::size_t>(std::find_if_not(rest_.begin(), rest_.end(), is_digit) - rest_.begin());
  }
  bool is_at_end() const { return rest_.empty(); }

private:
  std::string_view rest_;
};

std::optional<std::chrono::sys_days> read_day(instant_reader& in) {
  namespace chr = std::chrono;
  const auto year = in.number(4, 2199);
  if (!year || *year < 1900 || !in.take("-")) return std::nullopt;
  const auto month = in.number(2, 12);
  if (!month || !in.take("-")) return std::nullopt;
  const auto day = in.number(2, 31);
  if (!day) return std::nullopt;
  const chr::year_month_day date{chr::year(static_cast<int>(*year)), chr::month(*month), chr::day(*day)};
  return date.ok() ? std::optional(chr::sys_days(date)) : std::nullopt;
}

// "07:00", "07:00:30", "07:00:30.25"
std::optional<duration> read_time_of_day(instant_reader& in) {
  const auto hour = in.number(2, 23);
  if (!hour || !in.take(":")) return std::nullopt;
  const auto minute = in.number(2, 59);
  if (!minute) return std::nullopt;
  const duration whole = std::chrono::hours(*hour) + std::chrono::minutes(*minute);
  if (!in.take(":")) return whole;
  const auto second = in.number(2, 59);
  if (!second) return std::nullopt;
  duration part{0};
  if (in.take(".")) {
    auto digits = in.digits_ahead();
    if (digits < 1 || digits > 6) return std::nullopt;
    part = duration(*in.number(digits, 999'999));
    for (; digits < 6; ++digits)
      part *= 10;
  }
  return whole + std::chrono::seconds(*second) + part;
}

// How far its clocks are before those of UTC.
std::optional<duration> read_offset(instant_reader& in) {
  if (in.take("Zz")) return duration(0);
  const bool is_east = in.take("+");
  if (!is_east && !in.take("-")) return std::nullopt;
  const auto hours = in.number(2, 23);
  if (!hours || !in.take(":")) return std::nullopt;
  const auto minutes = in.number(2, 59);
  if (!minutes) return std::nullopt;
  const duration offset = std::chrono::hours(*hours) + std::chrono::minutes(*minutes);
  return is_east ? offset : -offset;
}

bool is_day(std::string_view text) {
  instant_reader in(text);
  return read_day(in) && in.is_at_end();
}

// One that says no offset.
bool is_local(std::string_view text) {
  instant_reader in(text);
  return read_day(in) && in.take("Tt ") && read_time_of_day(in) && in.is_at_end();
}

bool is_number(std::string_view text) {
  return !text.empty() && is_digit(text.front()) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_digit(c) || c == '.'; });
}

std::string shown(std::string_view text) { return cat("'", printable(text, 200), "'"); }

// Of a time that joins units.
std::string as_one(std::string_view text, std::string_view in_one) {
  return cat("needs one number with one unit, for units cannot be joined: write ", in_one, " for ", shown(text));
}

std::string units_for(std::string_view number) {
  return cat("needs a unit: ", number, "s, ", number, "m, ", number, "h or ", number, "d");
}

}  // namespace

std::string with_days(duration d) {
  return d > ranges::day && d % ranges::day == duration(0) ? cat(d / ranges::day, "d") : format_duration(d);
}

std::optional<time_point> parse_time(std::string_view text) {
  instant_reader in(text);
  const auto day = read_day(in);
  if (!day || !in.take("Tt ")) return std::nullopt;
  const auto time = read_time_of_day(in);
  if (!time) return std::nullopt;
  const auto offset = read_offset(in);
  if (!offset || !in.is_at_end()) return std::nullopt;
  return time_point(*day) + *time - *offset;
}

std::string no_instant(std::string_view text) {
  if (is_day(text))
    return cat("needs a time of day: midnight in UTC is ", text, "T00:00Z, and an hour east of it ", text,
               "T00:00+01:00");
  if (is_local(text)) return cat("needs an offset: in UTC it is ", text, "Z, and an hour east of it ", text, "+01:00");
  return cat("must be an instant of 1900 to 2199, as 2026-03-08T07:00Z or 2026-03-08T08:00+01:00, not ", shown(text));
}

std::string no_time(std::string_view text, ranges::range<duration> allowed) {
  const auto range = cat("a time of ", with_days(allowed.least), " to ", with_days(allowed.most));
  if (is_number(text) && text.size() < 20) return cat(units_for(text), "; it is ", range);
  if (const auto one = in_one_unit(text)) return cat(as_one(text, *one), "; it is ", range);
  return cat("must be ", range, ", as 30s (units: us ms s m h d), not ", shown(text));
}

std::string no_since(std::string_view text) {
  if (is_number(text) && text.size() < 20) return units_for(text);
  if (is_day(text) || is_local(text)) return no_instant(text);
  if (const auto one = in_one_unit(text)) return as_one(text, *one);
  return cat("must be a time, as 2h, or an instant, as 2026-03-08T07:00Z, not ", shown(text));
}

}  // namespace sluice
