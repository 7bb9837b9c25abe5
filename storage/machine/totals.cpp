// How many jobs came and ended: reading what rules/totals.lua writes.
#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "storage/machine/transitions.hpp"

namespace sluice::storage::machine {
namespace {

constexpr duration one_hour = std::chrono::hours(1);
constexpr std::uint64_t max_minutes = 10'000'000'000;  // what stands behind that no clock said

struct list_shape {
  std::string_view kind;
  duration row, list;  // how long each lasts
  std::int64_t kept;   // lists
};
list_shape shape_of(totals_step step) {
  if (step == totals_step::hour) return {"hours", one_hour, 24 * one_hour, days_of_hours};
  return {"minutes", std::chrono::minutes(1), one_hour, hours_of_minutes};
}

// Numbers with a space or comma between; what is none ends them.
class numbers {
public:
  explicit numbers(std::string_view text) : at_(text.data()), end_(at_ + text.size()) {}

  template <std::size_t N>
  std::optional<std::array<std::uint64_t, N>> next() {
    std::array<std::uint64_t, N> all{};
    for (auto& n : all) {
      if (at_ != end_ && (*at_ == ' ' || *at_ == ',')) ++at_;
      const auto read = std::from_chars(at_, end_, n);
      if (read.ec != std::errc{}) return std::nullopt;
      at_ = read.ptr;
    }
    return all;
  }
  std::optional<job_totals> next_totals() {
    const auto n = next<6>();
    if (!n) return std::nullopt;
    return job_totals{(*n)[0], (*n)[1], (*n)[2], (*n)[3], (*n)[4], (*n)[5]};
  }

private:
  const char* at_;
  const char* end_;
};

constexpr std::uint64_t job_totals::*fields[] = {&job_totals::enqueued, &job_totals::succeeded, &job_totals::failed,
                                                 &job_totals::deleted,  &job_totals::retried,   &job_totals::lost};

job_totals& operator+=(job_totals& to, const job_totals& more) {
  for (const auto field : fields)
    to.*field += more.*field;
  return to;
}

class rows_by_time {
public:
  explicit rows_by_time(const totals_query& query) : query_(query) {}

  // Of several queues, or of a minute that is in a list and goes on.
  void add(time_point begins, const job_totals& in_it) {
    if ((query_.from && begins < *query_.from) || (query_.to && begins >= *query_.to) || in_it == job_totals{}) return;
    rows_[begins] += in_it;
  }
  std::vector<totals_row> take() const {
    std::vector<totals_row> all;
    for (const auto& [begins, in_it] : rows_)
      all.push_back({begins, in_it});
    return all;
  }

private:
  const totals_query& query_;
  std::map<time_point, job_totals> rows_;
};

job_totals growth(const job_totals& now, const job_totals& before) {
  job_totals grown;
  for (const auto field : fields)
    grown.*field = now.*field > before.*field ? now.*field - before.*field : 0;
  return grown;
}

}  // namespace

void ask(steps& x, const totals_request& r, answer& into) {
  into = totals_answer{};
  const auto shape = shape_of(r.query.step);
  const auto instant = [](const std::optional<time_point>& at) { return at ? std::to_string(micros(*at)) : ""; };
  call c(verb::totals);
  c.add(r.query.queue ? r.query.queue->value : "").add(shape.kind).add(shape.list.count()).add(shape.kept);
  c.add(instant(r.query.from)).add(instant(r.query.to));
  x.send(
      std::move(c),
      [&r, &into, shape](const item& reply) {
        auto* filled = filling<totals_answer>(into);
        if (!filled) return;
        rows_by_time rows(r.query);
        const auto lists = 1 + 3 * static_cast<std::size_t>(reply[0].number());
        for (std::size_t i = 1; i < lists; i += 3) {
          numbers now(reply[i].text()), before(reply[i + 1].text());
          const auto minute = now.next<1>();
          const auto ever = minute && minute->front() < max_minutes ? now.next_totals() : std::nullopt;
          if (!ever) continue;
          filled->report.ever += *ever;
          if (reply[i + 2].number() == 0) continue;
          // What its last minute and hour have had so far stands in no list yet.
          const auto of_minute = before.next_totals(), of_hour = before.next_totals();
          const auto& began = shape.row == one_hour ? of_hour : of_minute;
          const auto last = std::chrono::minutes(1) * static_cast<std::int64_t>(minute->front());
          rows.add(time_point(last / shape.row * shape.row),
                   growth(*ever, began.value_or(reply[i + 1].text().empty() ? job_totals{} : *ever)));
        }
        for (auto i = lists; i + 1 < reply.size(); i += 2) {
          const auto begins = shape.list * reply[i].number();
          for (numbers row(reply[i + 1].text());;) {
            const auto place = row.next<1>();
            const auto in_it = place ? row.next_totals() : std::nullopt;
            if (!in_it) break;
            if (place->front() >= static_cast<std::uint64_t>(shape.list / shape.row)) continue;
            rows.add(time_point(begins + shape.row * static_cast<std::int64_t>(place->front())), *in_it);
          }
        }
        filled->report.rows = rows.take();
      },
      fails(into));
}

}  // namespace sluice::storage::machine
