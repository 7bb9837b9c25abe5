#include "scheduler/zone_table.hpp"

#include <algorithm>
#include <chrono>

#include "core/text.hpp"
#include "scheduler/zone_rule.hpp"

namespace sluice::scheduler {
namespace {

constexpr instant before_all = -(instant{1} << 55);
constexpr std::int32_t widest_offset = 26 * 3600;
constexpr int last_year = 2200;

// Spans in their order, one after the other.
class table_maker {
public:
  table_maker(std::string_view name, std::int32_t first_offset) {
    table_.name = std::string(name);
    table_.spans.push_back({before_all, first_offset, before_all + first_offset});
  }

  void add(zone_change change) {
    auto& last = table_.spans.back();
    if (change.at <= last.begin) {  // two changes in one instant, or of the depths of time
      last.offset = change.offset;
    } else if (change.offset != last.offset) {
      table_.spans.push_back({change.at, change.offset, 0});
    }
  }

  zone_table finish() && {
    auto& spans = table_.spans;
    spans.front().reached = spans.front().begin + spans.front().offset;
    for (std::size_t i = 1; i < spans.size(); ++i)
      spans[i].reached = std::max(spans[i - 1].reached, spans[i].begin + spans[i - 1].offset);
    return std::move(table_);
  }

private:
  zone_table table_;
};

// The bytes of a zone file from here on; what is beyond the end reads as `short_` and zeros.
class byte_reader {
public:
  explicit byte_reader(std::string_view bytes) : rest_(bytes) {}

  bool too_short() const { return short_; }
  std::string_view rest() const { return rest_; }

  std::string_view take(std::uint64_t n) {
    if (n > rest_.size()) {
      short_ = true;
      rest_ = {};
      return {};
    }
    const auto taken = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return taken;
  }

  std::int64_t number(std::size_t size) {
    const auto bytes = take(size);
    std::uint64_t n = !bytes.empty() && (bytes.front() & 0x80) ? ~std::uint64_t{0} : 0;
    for (const char c : bytes)
      n = n << 8 | static_cast<unsigned char>(c);
    return static_cast<std::int64_t>(n);
  }

private:
  std::string_view rest_;
  bool short_ = false;
};

struct header {
  char version = 0;
  std::uint64_t ut_flags = 0, standard_flags = 0, leaps = 0, times = 0, types = 0, letters = 0;

  std::uint64_t size_of_data(std::uint64_t time_size) const {
    return times * (time_size + 1) + types * 6 + letters + leaps * (time_size + 4) + standard_flags + ut_flags;
  }
};

struct damage {
  std::string what;
};

header read_header(byte_reader& in) {
  if (in.take(4) != "TZif") throw damage{in.too_short() ? "it is cut off" : "it is no zone file"};
  header h;
  const auto version = in.take(16);
  h.version = version.empty() ? '\0' : version.front();
  for (auto* count : {&h.ut_flags, &h.standard_flags, &h.leaps, &h.times, &h.types, &h.letters})
    *count = static_cast<std::uint64_t>(in.number(4)) & 0xffffffffU;
  if (in.too_short() || h.size_of_data(4) > in.rest().size()) throw damage{"it is cut off"};
  if (h.types == 0) throw damage{"it has no offset"};
  if (h.leaps > 0) throw damage{"it counts leap seconds; take the zone without right/"};
  return h;
}

std::vector<std::int32_t> read_offsets(byte_reader& in, std::uint64_t count) {
  std::vector<std::int32_t> offsets;
  for (std::uint64_t i = 0; i < count && !in.too_short(); ++i) {
    const auto offset = in.number(4);
    in.take(2);
    if (offset < -widest_offset || offset > widest_offset) throw damage{"it has an offset of more than 26 hours"};
    offsets.push_back(static_cast<std::int32_t>(offset));
  }
  if (in.too_short()) throw damage{"it is cut off"};
  return offsets;
}

int year_of(instant at) {
  const auto day = std::chrono::floor<std::chrono::days>(std::chrono::sys_seconds{std::chrono::seconds{at}});
  return static_cast<int>(std::chrono::year_month_day{day}.year());
}

zone_table read_data(std::string_view name, byte_reader& in, const header& h, std::size_t time_size) {
  if (h.size_of_data(time_size) > in.rest().size()) throw damage{"it is cut off"};
  byte_reader times(in.take(h.times * time_size));
  const auto kinds = in.take(h.times);
  const auto offsets = read_offsets(in, h.types);
  in.take(h.letters + h.standard_flags + h.ut_flags);

  table_maker table(name, offsets.front());
  instant last = before_all;
  for (const char kind : kinds) {
    const auto at = times.number(time_size);
    const auto type = static_cast<unsigned char>(kind);
    if (type >= offsets.size()) throw damage{"a change has an offset that is not there"};
    if (at <= last && at > before_all) throw damage{"its changes are not in order"};
    last = std::max(at, before_all);
    if (at < latest) table.add({at, offsets[type]});
  }

  const auto line = in.rest();
  if (time_size == 4 || line.size() <= 2) return std::move(table).finish();  // no rule: the last offset stays
  const auto end = line.find('\n', 1);
  const auto rule =
      line.front() == '\n' && end != std::string_view::npos ? zone_rule::read(line.substr(1, end - 1)) : std::nullopt;
  if (!rule) throw damage{cat("its rule for the time to come cannot be read: ", printable(line.substr(0, 100)))};
  const auto from = std::max(last, earliest);
  if (!rule->changes()) {
    table.add({from + 1, rule->standard_offset()});
  } else {
    for (int year = year_of(std::min(from, latest)) - 1; year <= last_year; ++year)
      for (const auto& change : rule->of_year(year))
        if (change.at > last) table.add(change);
  }
  return std::move(table).finish();
}

}  // namespace

std::size_t zone_table::at(instant when) const {
  const auto after =
      std::upper_bound(spans.begin(), spans.end(), when, [](instant t, const zone_span& s) { return t < s.begin; });
  return static_cast<std::size_t>(after - spans.begin()) - 1;
}

result<zone_table> read_zone(std::string_view name, std::string_view bytes) {
  try {
    byte_reader in(bytes);
    auto h = read_header(in);
    if (h.version < '2') return read_data(name, in, h, 4);
    in.take(h.size_of_data(4));
    h = read_header(in);
    return read_data(name, in, h, 8);
  } catch (const damage& d) {
    return error{errc::invalid_argument,
                 cat("the file of time zone '", printable(name, 100), "' is damaged: ", d.what)};
  }
}

zone_table fixed_zone(std::string_view name, std::int32_t offset) { return table_maker(name, offset).finish(); }

}  // namespace sluice::scheduler
