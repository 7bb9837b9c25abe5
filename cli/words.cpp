#include "cli/words.hpp"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <sluice/exec_key.hpp>

#include "cli/output.hpp"
#include "core/log.hpp"
#include "core/no_job.hpp"
#include "core/text.hpp"
#include "storage/shared_store.hpp"
#include "wire/query_words.hpp"

namespace sluice::cli {
namespace {

// The login name of whoever typed the command, also behind sudo, and the host. Only root can have come by sudo: anybody
// else may have set the variable to blame another.
std::string person() {
  std::array<char, 16 * 1024> names{};
  passwd entry{};
  passwd* known = nullptr;
  const char* before_sudo = ::getuid() == 0 ? std::getenv("SUDO_USER") : nullptr;
  std::string name = before_sudo ? before_sudo : "";
  if (name.empty() && ::getpwuid_r(::getuid(), &entry, names.data(), names.size(), &known) == 0 && known)
    name = known->pw_name;
  if (name.empty()) name = cat("uid ", ::getuid());
  std::array<char, 256> host{};
  const bool has_host = ::gethostname(host.data(), host.size() - 1) == 0;
  return cat(name, "@", has_host ? host.data() : "unknown");
}

}  // namespace

client_options options_of(const command& c) {
  client_options options;
  options.storage = c.store;
  options.mode = mode_of(c);
  options.by = {person(), "sluice"};
  if (!c.exec_key.empty()) options.filters.push_back(signing_exec_jobs(c.exec_key));
  return options;
}

result<client> open_at_once(client_options options) {
  const auto store = storage::open_shared_store(options.storage, nullptr, options.mode);  // the client finds it open
  return store ? client::open(std::move(options)) : result<client>(store.error());
}

std::string summary(const std::string& help) {
  auto text = help.substr(0, std::min(help.find('\n'), help.find(". ")));
  for (const std::string_view tail : {".", ":", ", e.g"})
    if (text.ends_with(tail)) text.resize(text.size() - tail.size());
  return text;
}

std::string shell_line(const std::vector<std::string>& typed) {
  constexpr std::string_view plain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";  // to every shell
  std::string line;
  for (const auto& word : typed) {
    line += line.empty() ? "" : " ";
    if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word)
      line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return log::redact(line);
}

result<std::string> read_file(const std::string& path) {
  const auto wrong = [&](int why) {
    return error{errc::io_error, cat("cannot read ", path, ": ", std::strerror(why))};
  };
  if (std::error_code unknown; std::filesystem::is_directory(path, unknown))
    return error{errc::io_error, cat("cannot read ", path, ": it is a folder; name a file")};
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file.is_open() || file.bad()) return wrong(errno);
  return text;
}

result<std::map<std::string, std::string>> headers_of(const command& c) { return wire::headers_of(c.headers, "--"); }

result<void> check_queue(client& store, const std::string& name) {
  if (name.empty()) return {};
  const auto all = store.queues();
  if (!all) return all.error();
  std::vector<std::string> names;
  for (const auto& one : *all)
    names.push_back(one.queue.value);
  if (std::find(names.begin(), names.end(), name) == names.end()) return no_queue(name, names);
  return {};
}

result<void> check_found_none(client& store, const command& c) {
  if (auto known = check_queue(store, c.queue); !known || c.type.empty()) return known;
  job_query some;
  some.queue = queue_name(c.queue);
  some.type = job_type(c.type);
  some.limit = 1;
  some.with_args = false;
  if (const auto its = store.list(some); !its || !its->jobs.empty()) return {};
  some.type = {};
  some.limit = 200;
  std::vector<std::string> types;
  if (const auto page = store.list(some))
    for (const auto& one : page->jobs)
      types.push_back(one.type.value);
  note(cat("there is no job of type ", c.type, c.queue.empty() ? std::string() : cat(" in queue ", c.queue),
           did_you_mean(c.type, types)));
  return {};
}

result<void> check_key(const command& c, bool signed_by_it) {
  if (!c.signs) return {};
  if (const auto key = exec_key::read(c.exec_key); !key) return key.error();
  if (!signed_by_it) note("--exec-key has no effect: it signs jobs of type exec alone");
  return {};
}

result<job_query> query_of(const command& c) {
  wire::query_words words{c.state, c.queue, c.type,  c.id_begins, c.server,
                          c.since, c.until, c.match, c.error,     c.headers};
  auto query = wire::query_of(words, "--");
  if (query) query->with_args = c.json;
  return query;
}

}  // namespace sluice::cli
