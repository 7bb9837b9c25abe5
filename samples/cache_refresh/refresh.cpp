#include "cache_refresh/refresh.hpp"

#include <iterator>

#include "common/fetch.hpp"

namespace sample {
namespace {

using nlohmann::json;

// Throws std::runtime_error when the provider refuses or does not answer: the run has failed then, and is repeated by
// the `retry` of the configuration.
json fetch_json(sluice::job_context& job, const std::string& url) {
  return json::parse(job.watch("provider", "GET", [&] { return fetch(url); }));
}

// Light: one small document, some 40 ms.
json document(sluice::job_context& job, const std::string& url) { return fetch_json(job, url); }

// Heavy: thousands of games on forty pages, some two seconds. Between pages it looks whether it should stop; then it
// goes back to its queue, and the entry stays as it was.
json catalogue(sluice::job_context& job, const std::string& url) {
  json games = json::array();
  for (int number = 1, pages = 1; number <= pages; ++number) {
    job.throw_if_stop_requested();
    auto page = fetch_json(job, url + "?page=" + std::to_string(number));
    pages = page.at("pages");
    auto& found = page.at("games").get_ref<json::array_t&>();
    std::move(found.begin(), found.end(), std::back_inserter(games.get_ref<json::array_t&>()));
    job.progress(double(number) / pages, "page " + std::to_string(number) + " of " + std::to_string(pages));
  }
  return games;
}

// What it answers is the job's result, which the dashboard and `sluice show` tell.
std::string refresh_entry(sluice::job_context& job, const refresh& what, const std::string& provider, cache& entries) {
  const bool is_heavy = what.resource.starts_with("/catalogues/");
  const auto text = (is_heavy ? catalogue : document)(job, provider + what.resource).dump();
  if (!entries.write(job.type().value, job.fence(), text)) return "not written: a later run was quicker";
  return std::to_string(text.size()) + " bytes";
}

}  // namespace

sluice::handler_registry refresh_handlers(const std::vector<sluice::recurring>& schedules, const std::string& provider,
                                          cache& entries) {
  sluice::handler_registry all;
  for (const auto& schedule : schedules)
    all.handle<refresh>(schedule.job.value, [provider, &entries](const refresh& what, sluice::job_context& job) {
      return refresh_entry(job, what, provider, entries);
    });
  return all;
}

}  // namespace sample
