// The words for what a new job has to do with others: the options of `sluice enqueue`, the bodies of the API, the
// configuration and the store's rules have these and no others.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/job.hpp>

#include "core/ranges.hpp"
#include "core/text.hpp"

namespace sluice::enqueue_words {

template <class Value>
struct word {
  std::string_view text;
  Value value;
};

inline constexpr word<parent_end> on[] = {{"succeeded", parent_end::succeeded},
                                          {"failed", parent_end::failed},
                                          {"deleted", parent_end::deleted},
                                          {"finished", parent_end::finished},
                                          {"first-failure", parent_end::first_failure}};
inline constexpr word<when_unmet> unless[] = {
    {"delete", when_unmet::remove}, {"run", when_unmet::run}, {"keep", when_unmet::keep}};
inline constexpr word<when_missing> if_missing[] = {
    {"refuse", when_missing::refuse}, {"run", when_missing::met}, {"delete", when_missing::unmet}};
inline constexpr word<unique_until> until[] = {
    {"end", unique_until::end}, {"start", unique_until::start}, {"period", unique_until::period}};
inline constexpr word<when_taken> then[] = {{"skip", when_taken::skip},
                                            {"refuse", when_taken::refuse},
                                            {"replace", when_taken::replace},
                                            {"extend", when_taken::extend},
                                            {"coalesce", when_taken::coalesce}};

template <class Value, std::size_t N>
std::vector<std::string> texts_of(const word<Value> (&table)[N]) {
  std::vector<std::string> texts;
  for (const auto& one : table)
    texts.emplace_back(one.text);
  return texts;
}
template <class Value, std::size_t N>
std::optional<Value> value_of(const word<Value> (&table)[N], std::string_view text) {
  const auto* found = std::find_if(table, table + N, [&](const auto& one) { return one.text == text; });
  return found == table + N ? std::nullopt : std::optional(found->value);
}
template <class Value, std::size_t N>
std::string_view text_of(const word<Value> (&table)[N], Value value) {
  const auto* found = std::find_if(table, table + N, [&](const auto& one) { return one.value == value; });
  return found == table + N ? std::string_view() : found->text;
}

// "end", "start", or a period, as 10m. False when it is none of these.
inline bool read_until(const std::string& said, unique_rule& into) {
  const auto period = parse_duration(said);
  if (period && !ranges::unique_period.contains(*period)) return false;
  const auto point = period ? unique_until::period : value_of(until, said);
  if (!point || (!period && *point == unique_until::period)) return false;
  into.until = *point;
  into.period = period.value_or(duration(0));
  return true;
}

}  // namespace sluice::enqueue_words
