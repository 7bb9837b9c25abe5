#include "core/watching.hpp"

#include <algorithm>

#include <sluice/filter.hpp>
#include <sluice/handler.hpp>

#include "core/text.hpp"

namespace sluice {
namespace {

constexpr std::size_t max_parts = 16;
constexpr std::size_t longest_system = 40;
constexpr std::size_t longest_what = 80;
constexpr const char* others = "(others)";

// Cut where a character ends, without a mark.
std::string name_of_part(std::string_view text, std::size_t most) {
  if (text.size() > most) {
    while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80)
      --most;
    text = text.substr(0, most);
  }
  return bounded_utf8(text, text.size());
}

// The entry of these names; behind the last that there is room for, all are one.
watched_part& entry_of(std::vector<watched_part>& parts, std::string system, std::string what) {
  const auto find = [&] {
    return std::find_if(parts.begin(), parts.end(),
                        [&](const watched_part& p) { return p.system == system && p.what == what; });
  };
  auto at = find();
  if (at == parts.end() && parts.size() + 1 >= max_parts) {
    system = what = others;
    at = find();
  }
  if (at != parts.end()) return *at;
  return parts.emplace_back(watched_part{std::move(system), std::move(what)});
}

std::string in_words(duration took) { return format_duration(std::max(took, duration(0))); }

}  // namespace

// What cannot be noted, since memory is out, is not: a handler must not fail for having been watched.
void job_context::watched(std::string_view system, std::string_view what, duration took, bool failed) noexcept {
  try {
    std::lock_guard hold(watching_);
    took = std::max(took, duration(0));
    auto& part = entry_of(watched_, name_of_part(system, longest_system), name_of_part(what, longest_what));
    part.times += 1;
    part.failed += failed ? 1 : 0;
    part.total += took;
    part.longest = std::max(part.longest, took);
  } catch (...) {
  }
}

std::vector<watched_part> job_context::take_watched() {
  std::lock_guard hold(watching_);
  return std::exchange(watched_, {});
}

outcome watch_filter::around(job_context& context, const std::function<outcome(job_context&)>& next) {
  const auto since = std::chrono::steady_clock::now();
  auto ended = next(context);
  const auto took = std::chrono::duration_cast<duration>(std::chrono::steady_clock::now() - since);
  context.watched("JOB", context.type().value, took, ended.what == run_end::failed || ended.what == run_end::given_up);
  return ended;
}

std::string in_words(const watched_part& part) {
  auto text = cat(printable(part.system), ' ', printable(part.what), ' ', in_words(part.total));
  if (part.times == 1) return part.failed > 0 ? text + " (failed)" : text;
  text += cat(" (", part.times, " times, longest ", in_words(part.longest));
  return part.failed > 0 ? text + cat(", ", part.failed, " failed)") : text + ")";
}

std::string in_words(const std::vector<watched_part>& parts) {
  std::string all;
  for (const auto& part : parts)
    all += (all.empty() ? "" : ", ") + in_words(part);
  return all;
}

}  // namespace sluice
