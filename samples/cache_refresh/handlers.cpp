#include "cache_refresh/handlers.hpp"

#include "cache_refresh/content.hpp"
#include "cache_refresh/jobs.hpp"
#include "common/fetch.hpp"

namespace sample {
namespace {

template <class T>
T fetch_as(const std::string& url) {
  return nlohmann::json::parse(fetch(url)).get<T>();
}

std::string refresh_document(const std::string& url, const cache& entries, sluice::job_context& job) {
  const auto found = fetch_as<document>(url);
  entries.write(job.type().value, job.fence(), nlohmann::json(found).dump());
  return std::to_string(found.settings.size()) + " settings";
}

// The entry is written when all pages are there: a run that ends early leaves the old one whole.
std::string refresh_catalogue(const std::string& url, const cache& entries, sluice::job_context& job) {
  std::vector<game> games;
  for (std::uint32_t number = 1, pages = 1; number <= pages; ++number) {
    job.throw_if_stop_requested();
    auto page = fetch_as<catalogue_page>(url + "?page=" + std::to_string(number));
    pages = page.pages;
    std::move(page.games.begin(), page.games.end(), std::back_inserter(games));
    job.progress(static_cast<double>(number) / pages,
                 "page " + std::to_string(number) + " of " + std::to_string(pages));
  }
  entries.write(job.type().value, job.fence(), nlohmann::json(games).dump());
  return std::to_string(games.size()) + " games";
}

}  // namespace

void handle_all(sluice::server& server, const std::vector<sluice::recurring>& schedules,
                const std::string& provider_url, const cache& entries) {
  for (const auto& schedule : schedules)
    server.handle<refresh>(schedule.job.value, [provider_url, &entries](const refresh& what, sluice::job_context& job) {
      const auto run = is_heavy(what) ? refresh_catalogue : refresh_document;
      return run(provider_url + what.resource, entries, job);
    });
}

}  // namespace sample
