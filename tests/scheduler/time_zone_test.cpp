#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "scheduler/cron_times.hpp"
#include "scheduler/zone_rule.hpp"
#include "scheduler/zone_table.hpp"
#include "support/temp_dir.hpp"

using namespace sluice;
using namespace sluice::test;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream all;
  all << in.rdbuf();
  return all.str();
}

const std::string& london() {
  static const auto bytes = bytes_of("/usr/share/zoneinfo/Europe/London");
  return bytes;
}

std::string problem(std::string_view bytes) {
  const auto table = scheduler::read_zone("Test/Zone", bytes);
  return table ? "" : table.error().message;
}

// Zone files of one's own while it lives.
class own_zones {
public:
  own_zones() {
    fs::create_directories(path() / "Europe");
    write("Europe/London", london());
    ::setenv("TZDIR", path().c_str(), 1);
  }
  ~own_zones() { ::unsetenv("TZDIR"); }
  own_zones(const own_zones&) = delete;
  own_zones& operator=(const own_zones&) = delete;

  fs::path path() const { return fs::path(dir_.path()) / "zones"; }
  void write(const std::string& name, const std::string& bytes) {
    const auto fresh = path() / "new";
    std::ofstream(fresh, std::ios::binary) << bytes;
    fs::rename(fresh, path() / name);  // as a package manager does
  }

private:
  temp_dir dir_;
};

}  // namespace

TEST_CASE("a zone is found by its name and an unknown one names the nearest") {
  CHECK(zone_named("Europe/London").name() == "Europe/London");
  CHECK(zone_named("Europe/London").offset_at(instant_of("2026-07-01T00:00:00Z")) == 1h);
  CHECK(zone_named("Asia/Kathmandu").offset_at(instant_of("2026-07-01T00:00:00Z")) == 5h + 45min);
  CHECK(zone_named("UTC").name() == "UTC");
  const auto unknown = [](const std::string& name) {
    const auto found = time_zone::find(name);
    REQUIRE_FALSE(found);
    CHECK(found.error().code == errc::invalid_argument);
    return found.error().message;
  };
  CHECK(unknown("Europe/Londn") == "there is no time zone 'Europe/Londn'; did you mean 'Europe/London'?");
  CHECK(unknown("europe/london") == "there is no time zone 'europe/london'; did you mean 'Europe/London'?");
  CHECK(unknown("Tokyo") == "there is no time zone 'Tokyo'; did you mean 'Asia/Tokyo'?");
  CHECK(unknown("Nowhere at all") == "there is no time zone 'Nowhere at all'; it is an IANA name, as Europe/London");
  for (const std::string offset : {"UTC+2", "GMT+2", "+02:00", "CET-1CEST"})
    CHECK(unknown(offset) ==
          "there is no time zone '" + offset +
              "'; a zone is an IANA name, as Europe/Berlin; UTC+2 is Etc/GMT-2, whose sign is reversed");
  for (const auto* name : {"", "/etc/passwd", "../zoneinfo/Europe/London", "Europe/../Europe/London", "Europe",
                           "Europe/", "zone.tab", "localtime", "\x1b[2J"})
    CHECK(unknown(name).find("there is no time zone '") == 0);
}

TEST_CASE("without zone files there is UTC and an error that says what to install") {
  own_zones zones;
  fs::remove_all(zones.path());
  CHECK(time_zone::find("UTC"));
  CHECK(time_zone_version().empty());
  const auto found = time_zone::find("Europe/London");
  REQUIRE_FALSE(found);
  CHECK(found.error().message == "there is no time zone 'Europe/London': no zone files in " + zones.path().string() +
                                     "; install tzdata, or use UTC");
}

TEST_CASE("a zone file that changes is read anew and changes the version") {
  own_zones zones;
  const auto at = instant_of("2026-07-01T00:00:00Z");
  const auto before = zone_named("Europe/London");
  const auto version = time_zone_version();
  CHECK(version.starts_with("unknown-"));
  CHECK(time_zone_version() == version);

  zones.write("Europe/London", bytes_of("/usr/share/zoneinfo/Asia/Tokyo"));
  CHECK(zone_named("Europe/London").offset_at(at) == 9h);
  CHECK(before.offset_at(at) == 1h);  // what was found stays as it was
  CHECK(time_zone_version() != version);

  zones.write("Europe/London", london());
  CHECK(time_zone_version() == version);
  std::ofstream(zones.path() / "tzdata.zi") << "# version 2031x\n";
  CHECK(time_zone_version() == "2031x" + version.substr(version.find('-')));
  zones.write("Europe/Paris", london());
  CHECK(time_zone_version() != "2031x" + version.substr(version.find('-')));
}

TEST_CASE("a damaged zone file is an error that says so") {
  REQUIRE(problem(london()).empty());
  CHECK(problem("not a zone") == "the file of time zone 'Test/Zone' is damaged: it is no zone file");
  for (std::size_t n = 0; n + 1 < london().size(); n += 3) {
    INFO(n);
    const auto cut = problem(london().substr(0, n));
    // The rule of London is only the last line; without it the last offset would stay for ever.
    if (n < london().size() - 25) CHECK(cut.find("it is cut off") != std::string::npos);
  }
  CHECK(problem(london().substr(0, london().size() - 3)).find("its rule for the time to come") != std::string::npos);
  auto leaps = london();
  leaps[31] = 1;
  CHECK(problem(leaps).find("leap seconds") != std::string::npos);
}

TEST_CASE("no change of its bytes makes a zone file crash its reader") {
  auto seed = std::uint64_t{1};
  const auto random = [&](std::size_t below) {
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::size_t>((seed >> 33) % below);
  };
  int understood = 0;
  for (int i = 0; i < 20'000; ++i) {
    auto bytes = london();
    for (auto n = 1 + random(8); n > 0; --n)
      bytes[random(4) == 0 ? random(60) : random(bytes.size())] = static_cast<char>(random(256));
    const auto table = scheduler::read_zone("Test/Zone", bytes);
    if (!table) continue;
    ++understood;
    const auto& spans = table->spans;
    REQUIRE(std::adjacent_find(spans.begin(), spans.end(),
                               [](const auto& a, const auto& b) { return a.begin >= b.begin; }) == spans.end());
  }
  CHECK(understood > 100);
}

TEST_CASE("the rule of a zone is read with all that zone files have in it") {
  const auto changes = [](const char* text, int year) {
    const auto rule = scheduler::zone_rule::read(text);
    INFO(text);
    REQUIRE(rule);
    texts all;
    for (const auto& c : rule->of_year(year))
      all.push_back(written(time_point(std::chrono::seconds(c.at)), time_zone::utc()) + " " + std::to_string(c.offset));
    return all;
  };
  CHECK(changes("EST5EDT,M3.2.0,M11.1.0", 2026) == texts{"2026-03-08T07:00:00Z -14400", "2026-11-01T06:00:00Z -18000"});
  CHECK(changes("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", 2026) ==
        texts{"2026-03-29T01:00:00Z -3600", "2026-10-25T01:00:00Z -7200"});
  CHECK(changes("IST-1GMT0,M10.5.0,M3.5.0/1", 2026) == texts{"2026-03-29T01:00:00Z 3600", "2026-10-25T01:00:00Z 0"});
  CHECK(changes("EET-2EEST,M3.4.4/50,M10.4.4/50", 2026) ==
        texts{"2026-03-28T00:00:00Z 10800", "2026-10-23T23:00:00Z 7200"});
  CHECK(changes("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", 2026) ==
        texts{"2026-04-04T15:00:00Z 37800", "2026-10-03T15:30:00Z 39600"});
}

TEST_CASE("a rule that cannot be read is none") {
  for (const auto* text : {"", "EST", "5", "EST5EDT", "EST5EDT,", "EST5EDT,M3.2.0", "EST5EDT,M13.2.0,M11.1.0",
                           "EST5EDT,M3.6.0,M11.1.0", "EST5EDT,M3.2.7,M11.1.0", "EST5EDT,M3.2.0,M11.1.0x", "<EST5",
                           "EST25", "EST5:60", "EST5EDT,J0,J1", "EST5EDT,366,1", "EST5EDT,M3.2.0/168,M11.1.0"}) {
    INFO(text);
    CHECK_FALSE(scheduler::zone_rule::read(text));
  }
}

namespace {

std::string bytes(std::int64_t n, int size) {
  std::string all;
  for (int i = size; i-- > 0;)
    all.push_back(static_cast<char>(n >> (8 * i) & 0xff));
  return all;
}

// A zone file of the first version: UTC until the first of `changes`.
std::string zone_file(const std::vector<scheduler::zone_change>& changes) {
  const auto n = static_cast<std::int64_t>(changes.size());
  std::string text = "TZif" + std::string(16, '\0');
  for (const std::int64_t count : {std::int64_t{0}, std::int64_t{0}, std::int64_t{0}, n, n + 1, std::int64_t{4}})
    text += bytes(count, 4);
  for (const auto& c : changes)
    text += bytes(c.at, 4);
  for (std::int64_t i = 1; i <= n; ++i)
    text += bytes(i, 1);
  text += bytes(0, 6);
  for (const auto& c : changes)
    text += bytes(c.offset, 4) + bytes(0, 2);
  return text + std::string("ABC\0", 4);
}

}  // namespace

TEST_CASE("a file of the first version is read and its last offset stays") {
  own_zones zones;
  zones.write("Europe/London", zone_file({{1'000'000, 7200}, {2'000'000'000, -3600}}));
  const auto zone = zone_named("Europe/London");
  CHECK(zone.offset_at(instant_of("1970-01-01T00:00:00Z")) == 0h);
  CHECK(zone.offset_at(instant_of("2033-05-18T03:33:19Z")) == 2h);
  CHECK(zone.offset_at(instant_of("2033-05-18T03:33:20Z")) == -1h);
  CHECK(zone.offset_at(instant_of("2199-05-18T00:00:00Z")) == -1h);
}

TEST_CASE("a clock that goes back far and forth a little shows no new times") {
  own_zones zones;
  // At 1970-01-12T13:46:40 back by three hours, half an hour later forth by one: what is up to 13:46:39 was.
  zones.write("Europe/London", zone_file({{1'000'000, -10800}, {1'001'800, -7200}}));
  CHECK(occurrences("30 11,12,14 * * *", "Europe/London", "1970-01-12T11:00:00Z", 4) ==
        texts{"1970-01-12T11:30:00+00:00", "1970-01-12T12:30:00+00:00", "1970-01-12T14:30:00-02:00",
              "1970-01-13T11:30:00-02:00"});
  CHECK(occurrences("30 11-14 * * *", "Europe/London", "1970-01-12T13:00:00Z", 4) ==
        texts{"1970-01-12T13:30:00+00:00", "1970-01-12T12:30:00-02:00", "1970-01-12T13:30:00-02:00",
              "1970-01-12T14:30:00-02:00"});
}
