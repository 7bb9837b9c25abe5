#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>

#include <sluice/cron.hpp>

#include "core/never_destroyed.hpp"
#include "core/per_process.hpp"
#include "core/text.hpp"
#include "scheduler/zone_table.hpp"

namespace sluice {
namespace {

namespace fs = std::filesystem;
using scheduler::zone_table;
using table_pointer = std::shared_ptr<const zone_table>;

constexpr std::uintmax_t largest_file = 1 << 20;  // the system's have 4 KiB

fs::path zone_folder() {
  const char* const named = std::getenv("TZDIR");
  return named && *named ? named : "/usr/share/zoneinfo";
}

// As names are made, so that none leads out of the folder. Two files stand for what this machine was told.
bool is_zone_name(std::string_view name) {
  if (name == "localtime" || name == "posixrules") return false;
  if (name.empty() || name.size() > 100 || name.front() == '/' || name.back() == '/') return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '+' || c == '/';
  });
}

std::optional<std::string> contents(const fs::path& file) {
  std::error_code failed;
  const auto size = fs::file_size(file, failed);
  std::ifstream in(file, std::ios::binary);
  if (failed || !in) return std::nullopt;
  std::string bytes(std::min(size, largest_file), '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(in.gcount()));
  return bytes;
}

// Every zone by name with its bytes, in the order of names. What is no zone file is none.
template <class Take>
void each_zone(const fs::path& folder, Take take) {
  std::vector<std::string> names;
  std::error_code failed;
  auto it = fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied, failed);
  for (; !failed && it != fs::recursive_directory_iterator(); it.increment(failed)) {
    const auto name = it->path().lexically_relative(folder).generic_string();
    std::error_code gone;
    if (name == "posix" || name == "right") it.disable_recursion_pending();
    else if (is_zone_name(name) && it->is_regular_file(gone)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  for (const auto& name : names)
    if (const auto bytes = contents(folder / name); bytes && bytes->starts_with("TZif")) take(name, *bytes);
}

// What tells one state of a file from the next.
using file_mark = std::array<std::int64_t, 4>;

std::optional<file_mark> mark_of(const fs::path& file) {
  struct stat s {};
  if (::stat(file.c_str(), &s) != 0 || !S_ISREG(s.st_mode)) return std::nullopt;
  return file_mark{static_cast<std::int64_t>(s.st_ino), s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec};
}

struct kept_zone {
  file_mark mark{};
  table_pointer table;
};

// A table for each zone that was found, some hundred at most of some KiB.
struct kept_zones {
  std::mutex mutex;
  std::map<std::string, kept_zone> by_file;
};

kept_zones& kept() {
  static constinit per_process<kept_zones> all;
  return all.here();
}

// The last part: "london" of "Europe/London".
std::string place(std::string_view name) { return lowered(name.substr(name.rfind('/') + 1)); }

// At most three: the name in another case, then places of that name, then what is near.
std::vector<std::string> near_to(std::string_view name, const std::vector<std::string>& known) {
  std::vector<std::string> found;
  const auto take = [&](const std::string& zone) {
    if (found.size() < 3 && std::find(found.begin(), found.end(), zone) == found.end()) found.push_back(zone);
  };
  const auto same_name = lowered(name);
  const auto same_place = place(name);
  for (const auto& zone : known)
    if (lowered(zone) == same_name) take(zone);
  for (const auto& zone : known)
    if (place(zone) == same_place) take(zone);
  if (const auto meant = nearest(name, known)) take(*meant);
  return found;
}

error unknown_zone(std::string_view name, const fs::path& folder) {
  std::vector<std::string> known;
  each_zone(folder, [&](const std::string& zone, const std::string&) { known.push_back(zone); });
  auto text = cat("there is no time zone '", printable(name, 100), "'");
  if (known.empty())
    return {errc::invalid_argument, cat(text, ": no zone files in ", folder.string(), "; install tzdata, or use UTC")};
  if (name.find_first_of("+-") != std::string_view::npos && name.find_first_of("0123456789") != std::string_view::npos)
    return {errc::invalid_argument,
            cat(text, "; a zone is an IANA name, as Europe/Berlin; UTC+2 is Etc/GMT-2, whose sign is reversed")};
  const auto near = near_to(name, known);
  for (std::size_t i = 0; i < near.size(); ++i)
    text += cat(i == 0 ? "; did you mean '" : i + 1 == near.size() ? "' or '" : "', '", near[i]);
  return {errc::invalid_argument, near.empty() ? cat(text, "; it is an IANA name, as Europe/London") : text + "'?"};
}

result<table_pointer> read_file(std::string_view name, const fs::path& folder) {
  const auto bytes = contents(folder / name);
  if (!bytes) return unknown_zone(name, folder);
  auto table = scheduler::read_zone(name, *bytes);
  if (!table) return table.error();
  return table_pointer(std::make_shared<const zone_table>(std::move(*table)));
}

// "2025b", as the first line of tzdata.zi has it.
std::string release(const fs::path& folder) {
  std::ifstream in(folder / "tzdata.zi");
  std::string hash, version, name;
  if (!(in >> hash >> version >> name) || hash != "#" || version != "version" || !valid_name(name)) return "unknown";
  return name;
}

}  // namespace

time_zone time_zone::utc() {
  static const auto& table = *never_destroyed<std::shared_ptr<const zone_table>>(
      std::make_shared<const zone_table>(scheduler::fixed_zone("UTC", 0)));
  return time_zone(table);
}

result<time_zone> time_zone::find(std::string_view iana_name) {
  if (iana_name == "UTC") return utc();
  const auto folder = zone_folder();
  const auto mark = is_zone_name(iana_name) ? mark_of(folder / iana_name) : std::nullopt;
  if (!mark) return unknown_zone(iana_name, folder);
  const auto file = (folder / iana_name).string();
  {
    const std::lock_guard hold(kept().mutex);
    const auto found = kept().by_file.find(file);
    if (found != kept().by_file.end() && found->second.mark == *mark) return time_zone(found->second.table);
  }
  auto table = read_file(iana_name, folder);
  if (!table) return table.error();
  const std::lock_guard hold(kept().mutex);
  kept().by_file[file] = {*mark, *table};
  return time_zone(std::move(*table));
}

const std::string& time_zone::name() const noexcept { return table_->name; }

std::chrono::seconds time_zone::offset_at(time_point at) const {
  const auto second = std::chrono::floor<std::chrono::seconds>(at.time_since_epoch()).count();
  return std::chrono::seconds(
      table_->spans[table_->at(std::clamp(second, scheduler::earliest, scheduler::latest))].offset);
}

std::string time_zone_version() {
  const auto folder = zone_folder();
  std::uint64_t sum = fnv1a("");
  bool any = false;
  each_zone(folder, [&](const std::string& name, const std::string& bytes) {
    any = true;
    sum = fnv1a(bytes, fnv1a(name, sum));
  });
  if (!any) return {};
  std::array<char, 17> hash{};
  std::snprintf(hash.data(), hash.size(), "%016llx", static_cast<unsigned long long>(sum));
  return release(folder) + "-" + hash.data();
}

}  // namespace sluice
