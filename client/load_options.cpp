// sluice::load_options: joins the configuration's reader with the checks of the store and of throttlers.
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include <sluice/config.hpp>

#include "config/load.hpp"
#include "core/log.hpp"
#include "core/text.hpp"
#include "scheduler/recurrence.hpp"
#include "storage/store.hpp"

namespace sluice {

result<server_options> load_options(const std::string& path, const std::vector<std::string>& sets) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  try {
    text.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  } catch (const std::exception&) {  // a folder opens, and cannot be read
    file.setstate(std::ios::badbit);
  }
  if (!file.is_open() || file.bad())
    return error{errc::io_error, cat("cannot read ", printable(path, 300), ": ", std::strerror(errno))};
  auto loaded = config::load({text, config::environment(), sets}, {storage::check_url, scheduler::check});
  for (const auto& warning : loaded.warnings)
    log::warn(path, ": ", warning);
  if (loaded.faults.empty()) return std::move(loaded.options);
  std::string all;
  for (const auto& f : loaded.faults)
    all += cat(all.empty() ? "" : "\n", path, ": ", f.pointer.empty() ? "(the file)" : printable(f.pointer, 300), ": ",
               printable(f.problem, 1000));
  return error{errc::invalid_config, std::move(all)};
}

}  // namespace sluice
