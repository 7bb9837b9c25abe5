// Any bytes as a cron expression: no crash, no hang; what is understood is printed and read as the same; its
// occurrences are in order. The first byte chooses a name, the second the second when absent; the rest is the
// expression.
#include <cstdio>
#include <cstdlib>

#include <sluice/cron.hpp>

namespace {

using sluice::cron;
using sluice::time_point;
using sluice::time_zone;

void must(bool holds, const char* what, const std::string& text) {
  if (holds) return;
  std::fprintf(stderr, "%s: '%s'\n", what, text.c_str());
  std::abort();
}

const time_zone& apia() {
  static const auto found = time_zone::find("Pacific/Apia");
  if (!found) std::abort();
  return *found;
}

// Twelve occurrences from a day before the zone left out a whole one.
void walk(const cron& c, const time_zone& zone) {
  auto at = time_point(std::chrono::seconds(1'325'066'400));
  for (int n = 0; n < 12; ++n) {
    const auto next = c.next(at, zone);
    if (!next) return;
    must(*next > at, "next is not later", c.text());
    must(c.previous(*next, zone) == next, "previous is not the occurrence itself", c.text());
    const auto before = c.previous(*next - sluice::duration(1), zone);
    must(!before || *before <= at, "next left one out", c.text());
    at = *next;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string name(data[0] % 8, 'n');
  const std::string text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const auto c = cron::parse(text, name, data[1] % 61);
  if (!c) {
    must(!c.error().message.empty(), "an error without words", text);
    return 0;
  }
  const auto again = cron::parse(c->text());
  must(again.ok(), "what was printed is not read", c->text());
  must(*again == *c, "what was printed is read as something else", c->text());
  must(again->text() == c->text(), "what was printed is printed otherwise", c->text());
  walk(*c, time_zone::utc());
  walk(*c, apia());
  return 0;
}
