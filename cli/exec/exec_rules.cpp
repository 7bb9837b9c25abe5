#include "cli/exec/exec_rules.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/text.hpp"

namespace sluice::exec {
namespace {

rlim_t started_with = RLIM_INFINITY;

// What commands mostly need. Not the server's own settings: the store's password is among these.
bool is_passed_on(std::string_view name, const std::vector<std::string>& more) {
  static constexpr std::string_view common[] = {"PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR"};
  if (name.starts_with("SLUICE_")) return false;
  if (name.starts_with("LC_") || std::find(std::begin(common), std::end(common), name) != std::end(common)) return true;
  return std::any_of(more.begin(), more.end(), [&](const std::string& one) { return one == "*" || one == name; });
}

error cannot_be(std::string what) { return {errc::invalid_argument, std::move(what)}; }

result<void> run_as(const std::string& name, rules& r) {
  std::array<char, 16 * 1024> texts{};
  passwd entry{};
  passwd* found = nullptr;
  ::getpwnam_r(name.c_str(), &entry, texts.data(), texts.size(), &found);
  if (!found) return cannot_be(cat("/exec/user: this machine knows no user '", printable(name, 60), "'"));
  if (::geteuid() != 0 && found->pw_uid != ::geteuid())
    return cannot_be(
        cat("/exec/user: only root can run commands as ", name, "; start the server as root, or as ", name));
  r.has_user = ::geteuid() == 0;
  r.user = found->pw_uid;
  r.group = found->pw_gid;
  int count = 64;
  r.groups.resize(static_cast<std::size_t>(count));
  if (::getgrouplist(name.c_str(), r.group, r.groups.data(), &count) < 0) {
    r.groups.resize(static_cast<std::size_t>(count));
    ::getgrouplist(name.c_str(), r.group, r.groups.data(), &count);
  }
  r.groups.resize(static_cast<std::size_t>(count));
  set_variable(r.environment, "HOME", found->pw_dir);
  set_variable(r.environment, "USER", name);
  set_variable(r.environment, "LOGNAME", name);
  return {};
}

}  // namespace

void set_variable(std::vector<std::string>& environment, const std::string& name, const std::string& value) {
  std::erase_if(environment, [&](const std::string& entry) { return entry.starts_with(name + "="); });
  environment.push_back(name + "=" + value);
}

rlim_t raise_open_files() {
  constexpr rlim_t enough = 1024 * 1024;
  rlimit own{};
  if (::getrlimit(RLIMIT_NOFILE, &own) != 0) return RLIM_INFINITY;
  started_with = own.rlim_cur;
  rlimit raised{std::max(own.rlim_cur, std::min(own.rlim_max, enough)), own.rlim_max};
  return ::setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised.rlim_cur : own.rlim_cur;
}

result<rules> rules_of(const exec_options& o, const std::vector<std::string>& secrets) {
  constexpr rlim_t mib = 1024 * 1024;
  rules r;
  r.allow = o.allow;
  r.variables = o.variables;
  r.folder = o.folder;
  for (char** at = ::environ; at && *at; ++at) {
    const std::string_view entry(*at);
    const auto name = entry.substr(0, entry.find('='));
    const bool is_secret = std::find(secrets.begin(), secrets.end(), name) != secrets.end();
    if (!is_secret && is_passed_on(name, o.variables)) r.environment.emplace_back(entry);
  }
  if (!o.user.empty())
    if (auto fine = run_as(o.user, r); !fine) return fine.error();
  struct stat seen {};
  if (!o.folder.empty() && (::stat(o.folder.c_str(), &seen) != 0 || !S_ISDIR(seen.st_mode)))
    return cannot_be(cat("/exec/folder: there is no folder '", printable(o.folder, 200), "'"));
  if (!o.key_file.empty()) {
    auto key = exec_key::read(o.key_file);
    if (!key) return error{key.error().code, cat("/exec/key_file: ", key.error().message)};
    r.key = std::move(*key);
  }
  if (o.processor_time)
    r.limits.push_back(
        {RLIMIT_CPU, static_cast<rlim_t>(std::chrono::ceil<std::chrono::seconds>(*o.processor_time).count())});
  if (o.memory_mib) r.limits.push_back({RLIMIT_AS, *o.memory_mib * mib});
  if (o.file_mib) r.limits.push_back({RLIMIT_FSIZE, *o.file_mib * mib});
  if (o.open_files) r.limits.push_back({RLIMIT_NOFILE, *o.open_files});
  if (o.processes) r.limits.push_back({RLIMIT_NPROC, *o.processes});
  r.soft_files = started_with;
  r.new_privileges = o.new_privileges;
  if (::geteuid() != 0)
    for (const auto& limit : r.limits) {
      rlimit own{};
      if (::getrlimit(limit.what, &own) == 0 && own.rlim_max < limit.most)
        return cannot_be(cat("/exec: this server may have at most ", own.rlim_max, " where ", limit.most, " is said"));
    }
  return r;
}

bool may_set(const rules& r, const std::string& variable) {
  static constexpr std::string_view harmless[] = {"LANG", "TZ"};
  if (r.allow.empty() || variable.starts_with("LC_")) return true;
  return std::find(std::begin(harmless), std::end(harmless), variable) != std::end(harmless) ||
         std::find(r.variables.begin(), r.variables.end(), variable) != r.variables.end();
}

std::optional<std::string> program_of(const rules& r, const std::string& word) {
  if (r.allow.empty()) return word;
  for (const auto& path : r.allow)
    if (word == path || path.substr(path.rfind('/') + 1) == word) return path;
  return std::nullopt;
}

}  // namespace sluice::exec
