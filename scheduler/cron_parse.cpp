#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "core/text.hpp"
#include "scheduler/cron_rule.hpp"

namespace sluice::scheduler {
namespace {

constexpr std::size_t longest = 1000;

constexpr std::array<std::string_view, 12> month_names{"JAN", "FEB", "MAR", "APR", "MAY", "JUN",
                                                       "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
constexpr std::array<std::string_view, 7> weekday_names{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"};

struct field {
  std::string_view name;
  unsigned first, last;
  unsigned size;                            // how many different numbers: Sunday is 0 and 7
  std::span<const std::string_view> names;  // of `first` and those after it
  std::string_view allowed;
};

constexpr field second_field{"second", 0, 59, 60, {}, "0 to 59"};
constexpr field minute_field{"minute", 0, 59, 60, {}, "0 to 59"};
constexpr field hour_field{"hour", 0, 23, 24, {}, "0 to 23"};
constexpr field day_field{"day of month", 1, 31, 31, {}, "1 to 31, L, L-0 to L-30, 1W to 31W, LW"};
constexpr field month_field{"month", 1, 12, 12, month_names, "1 to 12, JAN to DEC"};
constexpr field weekday_field{
    "day of week", 0, 7, 7, weekday_names, "0 to 7, SUN to SAT, 5L (the last), 6#3 (the third)"};

struct macro {
  std::string_view name, meaning;
};
constexpr std::array<macro, 9> macros{{{"@every_second", "* * * * * *"},
                                       {"@every_minute", "* * * * *"},
                                       {"@hourly", "0 * * * *"},
                                       {"@daily", "0 0 * * *"},
                                       {"@midnight", "0 0 * * *"},
                                       {"@weekly", "0 0 * * 0"},
                                       {"@monthly", "0 0 1 * *"},
                                       {"@yearly", "0 0 1 1 *"},
                                       {"@annually", "0 0 1 1 *"}}};

// The C locale's, whatever the process has.
constexpr bool digit(char c) { return c >= '0' && c <= '9'; }
constexpr char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }
constexpr bool letter(char c) { return upper(c) >= 'A' && upper(c) <= 'Z'; }

bool same(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return upper(x) == upper(y); });
}

struct word {
  std::string_view text;
  std::size_t at;  // from 0
};

std::vector<word> split(std::string_view text) {
  std::vector<word> words;
  for (std::size_t i = 0; (i = text.find_first_not_of(" \t", i)) != std::string_view::npos;) {
    const auto end = std::min(text.find_first_of(" \t", i), text.size());
    words.push_back({text.substr(i, end - i), i});
    i = end;
  }
  return words;
}

struct fault {
  std::string what;
};

// Reads one field; throws `fault`, which does not leave this file.
class field_reader {
public:
  field_reader(const field& of, const word& in, std::string_view name) : field_(of), word_(in), name_(name) {}

  std::uint64_t set = 0;
  bool repeats = false;  // a *, a range or a step was read
  bool from_end = false, nearest_weekday = false, last_week = false;
  std::uint8_t days_back = 0, week = 0;

  void read() {
    item();
    while (take(','))
      item();
    if (!at_end()) unexpected();
    if (items_ > 1 && alone_ != npos) fail(alone_, "*, ?, L, W and # stand alone, not in a list");
  }

private:
  static constexpr auto npos = std::string_view::npos;

  bool at_end() const { return i_ == word_.text.size(); }
  char here() const { return at_end() ? '\0' : word_.text[i_]; }
  bool take(char c) {
    if (at_end() || upper(here()) != c) return false;
    ++i_;
    return true;
  }
  bool is(const field& f) const { return &f == &field_; }

  [[noreturn]] void fail(std::size_t at, const std::string& why) const {
    throw fault{cat(field_.name, ", position ", word_.at + at + 1, ": ", why)};
  }
  [[noreturn]] void unexpected() const {
    const auto found = at_end() ? std::string("nothing") : cat("'", printable(word_.text.substr(i_, 1)), "'");
    fail(i_, cat(found, " is not expected here; allowed are *, H, ", field_.allowed,
                 ", ranges as a-b, steps as */n, lists as a,b"));
  }

  // The only thing in its field.
  void alone(std::size_t at) { alone_ = std::min(alone_, at); }

  void item() {
    ++items_;
    const auto begin = i_;
    if (take('*') || take('?')) {
      alone(begin);
      range(field_.first, field_.last, step());
      repeats = true;
    } else if (take('H')) {
      hashed(begin);
    } else if (is(day_field) && take('L')) {
      end_of_month(begin);
    } else {
      numbers(begin);
    }
  }

  void numbers(std::size_t begin) {
    const unsigned a = number();
    if (is(day_field) && take('W')) {
      nearest_weekday = true;
      alone(begin);
    } else if (is(weekday_field) && take('L')) {
      last_week = true;
      alone(begin);
    } else if (is(weekday_field) && take('#')) {
      week = static_cast<std::uint8_t>(digits(1, 5, "the week of the month is 1 to 5"));
      alone(begin);
    } else if (take('-')) {
      const unsigned b = number();
      range(a, b, step());
      repeats = true;
      return;
    } else if (here() == '/') {
      range(a, field_.last, step());
      repeats = true;
      return;
    }
    range(a, a, 1);
  }

  void end_of_month(std::size_t begin) {
    from_end = true;
    alone(begin);
    if (take('-')) days_back = static_cast<std::uint8_t>(digits(0, 30, "before L stand 0 to 30 days"));
    nearest_weekday = take('W');
  }

  // H: one number. H(a-b): one of these. With a step: every n-th from one of the first n.
  void hashed(std::size_t begin) {
    if (name_.empty()) fail(begin, "H is a hash of the schedule's name, and no name was given");
    unsigned a = field_.first, b = field_.first + field_.size - 1;
    const bool within = take('(');
    if (within) {
      a = number();
      if (!take('-')) unexpected();
      b = number();
      if (!take(')')) unexpected();
    }
    const bool steps = here() == '/';
    const unsigned every = step();
    if (is(day_field) && !within && !steps) b = 28;  // a day that each month has
    const unsigned count = (b % field_.size + field_.size - a % field_.size) % field_.size + 1;
    const unsigned offset = hash() % (steps ? std::min(every, count) : count);
    repeats = repeats || steps;
    if (!steps) return add(a + offset);
    for (unsigned n = offset; n < count; n += every)
      add(a + n);
  }

  // Of this schedule's and this field's name, for ever.
  unsigned hash() const {
    const auto sum = fnv1a(field_.name, fnv1a(name_));
    return static_cast<unsigned>((sum ^ sum >> 32) & 0xffffffffU);
  }

  void add(unsigned n) {
    n = field_.first + (n - field_.first) % field_.size;
    set |= std::uint64_t{1} << n;
  }

  // Where a > b it goes on from the first number.
  void range(unsigned a, unsigned b, unsigned every) {
    if (is(weekday_field) && a == 7) {
      a = 0;
      if (b == 7) b = 0;
    }
    const unsigned length = a <= b ? b - a : b + field_.size - a;
    for (unsigned n = 0; n <= length; n += every)
      add(a + n);
  }

  unsigned step() {
    if (!take('/')) return 1;
    return digits(1, field_.last, cat("a step is 1 to ", field_.last));
  }

  unsigned number() {
    if (letter(here())) return named();
    return digits(field_.first, field_.last, cat("allowed are ", field_.allowed));
  }

  unsigned named() {
    const auto text = word_.text.substr(i_, 3);
    const auto found =
        std::find_if(field_.names.begin(), field_.names.end(), [&](std::string_view n) { return same(n, text); });
    if (field_.names.empty()) unexpected();
    if (found == field_.names.end())
      fail(i_, cat("'", printable(text), "' is not known; allowed are ", field_.allowed));
    i_ += 3;
    return field_.first + static_cast<unsigned>(found - field_.names.begin());
  }

  unsigned digits(unsigned least, unsigned most, const std::string& allowed) {
    const auto begin = i_;
    unsigned n = 0;
    for (; digit(here()); ++i_)
      n = std::min(n * 10 + static_cast<unsigned>(here() - '0'), 10'000U);
    if (i_ == begin) unexpected();
    if (n < least || n > most)
      fail(begin, cat(printable(word_.text.substr(begin, i_ - begin), 20), " is out of range; ", allowed));
    return n;
  }

  const field& field_;
  word word_;
  std::string_view name_;
  std::size_t i_ = 0;
  std::size_t items_ = 0;
  std::size_t alone_ = npos;
};

cron_rule read_fields(const std::vector<word>& words, std::string_view name, unsigned second_when_absent) {
  cron_rule r;
  r.has_seconds = words.size() == 6;
  auto next = words.begin();
  const auto read = [&](const field& f) {
    field_reader in(f, *next++, name);
    in.read();
    return in;
  };
  const auto time = [&](const field& f) {
    const auto in = read(f);
    r.repeats = r.repeats || in.repeats;
    return in.set;
  };
  r.seconds = r.has_seconds ? time(second_field) : std::uint64_t{1} << second_when_absent;
  r.minutes = time(minute_field);
  r.hours = static_cast<std::uint32_t>(time(hour_field));
  const auto day = read(day_field);
  r.days = static_cast<std::uint32_t>(day.set);
  r.from_end = day.from_end;
  r.days_back = day.days_back;
  r.nearest_weekday = day.nearest_weekday;
  r.months = static_cast<std::uint32_t>(read(month_field).set);
  const auto weekday = read(weekday_field);
  r.weekdays = static_cast<std::uint32_t>(weekday.set);
  r.week = weekday.week;
  r.last_week = weekday.last_week;
  return r;
}

std::string unknown_macro(std::string_view text) {
  std::vector<std::string> known;
  std::string all;
  for (const auto& m : macros) {
    known.emplace_back(m.name);
    all += (all.empty() ? "" : ", ") + known.back();
  }
  return cat("no such macro; known are ", all, did_you_mean(text, known));
}

// What other schedulers take for a part of the expression, and here stands beside it: nothing when there is none.
std::string kept_beside(std::string_view text, const std::vector<word>& words) {
  if (words.empty()) return {};
  const auto first = words[0].text;
  if (same(first, "@every")) {
    const auto said = words.size() < 2 ? std::string_view("5m") : text.substr(words[1].at);
    const auto interval = in_one_unit(said).value_or(printable(said, 30));
    return cat("an interval is no cron expression; leave cron out and write every=", interval,
               ", or in a file \"every\": \"", interval, "\"");
  }
  for (const std::string_view zone_of_others : {"TZ=", "CRON_TZ="}) {
    if (!first.starts_with(zone_of_others)) continue;
    const auto zone = printable(first.substr(zone_of_others.size()), 60);
    return cat("a zone is no part of the expression; write zone=", zone, " beside it, or in a file \"zone\": \"", zone,
               "\"; for the command cron it is --zone ", zone);
  }
  return {};
}

cron_rule read_expression(std::string_view text, std::string_view name, unsigned second_when_absent) {
  if (second_when_absent > 59) throw fault{cat("the second ", second_when_absent, " is out of range; it is 0 to 59")};
  if (text.size() > longest) throw fault{cat("it has ", text.size(), " characters; at most ", longest, " are allowed")};
  auto words = split(text);
  if (auto beside = kept_beside(text, words); !beside.empty()) throw fault{std::move(beside)};
  if (words.size() == 1 && words[0].text.front() == '@') {
    const auto known =
        std::find_if(macros.begin(), macros.end(), [&](const macro& m) { return same(m.name, words[0].text); });
    if (known == macros.end()) throw fault{unknown_macro(words[0].text)};
    words = split(known->meaning);
  }
  if (words.size() != 5 && words.size() != 6)
    throw fault{cat("it has ", words.size(), words.size() == 1 ? " field" : " fields",
                    "; 5 are needed (minute, hour, day of month, month, day of week), or 6, the second before them")};
  return read_fields(words, name, second_when_absent);
}

}  // namespace

result<cron_rule> parse_cron(std::string_view text, std::string_view name, unsigned second_when_absent) {
  try {
    return read_expression(text, name, second_when_absent);
  } catch (const fault& f) {
    return error{errc::invalid_argument, cat("cron '", printable(text, 100), "': ", f.what)};
  }
}

}  // namespace sluice::scheduler
