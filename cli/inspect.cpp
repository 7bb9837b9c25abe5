#include <algorithm>

#include <sluice/client.hpp>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "core/text.hpp"

namespace sluice::cli {
namespace {

template <class Item>
int show_all(const command& c, const result<std::vector<Item>>& got,
             std::string (*as_table)(const std::vector<Item>&)) {
  if (!got) return failed(got.error());
  if (!c.json) print(as_table(*got));
  else
    for (const auto& item : *got)
      print_line(json_line(item));
  return 0;
}

int enqueue(client& store, const command& c) {
  new_job job;
  job.queue = queue_name(c.queue);
  job.type = job_type(c.type);
  job.args = c.args;
  job.id = job_id(c.id);
  if (!c.in.empty()) {
    const auto delay = parse_duration(c.in);
    if (!delay)
      return wrong_words(cat("--in must be a time of 0s to 3650d, like 5s (units: us ms s m h d), not '", c.in, "'"));
    job.delay = *delay;
  }
  const auto id = store.enqueue(std::move(job));
  if (!id) return failed(id.error());
  print_line(c.json ? "{\"id\":" + json_quoted(id->value) + "}" : id->value);
  return 0;
}

int list(client& store, const command& c) {
  job_query query;
  query.queue = queue_name(c.queue);
  query.with_args = c.json;
  if (!c.state.empty()) {
    query.state = parse_job_state(c.state);
    if (!query.state)
      return wrong_words(cat(
          "--state must be enqueued, scheduled, awaiting, throttled, processing, succeeded, failed or deleted, not '",
          c.state, "'"));
  }
  std::vector<job> jobs;
  while (jobs.size() < c.limit) {
    query.limit = std::min<std::uint32_t>(200, c.limit - static_cast<unsigned>(jobs.size()));
    auto page = store.list(query);
    if (!page) return failed(page.error());
    for (auto& j : page->jobs) {
      if (c.json) print_line(json_line(j));
      jobs.push_back(std::move(j));
    }
    query.after = page->next;
    if (query.after.empty()) break;
  }
  if (!c.json) print(jobs_table(jobs));
  return 0;
}

int show(client& store, const command& c) {
  const auto found = store.get(job_id(c.id));
  if (!found) return failed(found.error());
  if (c.json) print_line(json_line(*found));
  else print(job_page_text(*found));
  return 0;
}

int change(const command& c, const result<void>& changed, const char* done) {
  if (!changed) return failed(changed.error());
  const auto& what = c.id.empty() ? c.queue : c.id;
  if (!c.json) print_line(cat(printable(what), " ", done));
  else
    print_line(
        cat("{", c.id.empty() ? "\"queue\":" : "\"id\":", json_quoted(what), ",\"done\":", json_quoted(done), "}"));
  return 0;
}

}  // namespace

int inspect(const command& c) {
  client_options options;
  options.storage = c.store;
  options.mode = mode_of(c);
  auto opened = client::open(options);
  if (!opened) return failed(opened.error());
  auto& store = *opened;
  if (c.name == "enqueue") return enqueue(store, c);
  if (c.name == "jobs") return list(store, c);
  if (c.name == "show") return show(store, c);
  if (c.name == "queues") return show_all(c, store.queues(), queues_table);
  if (c.name == "servers") return show_all(c, store.servers(), servers_table);
  if (c.name == "requeue") return change(c, store.requeue(job_id(c.id)), "enqueued");
  if (c.name == "delete") return change(c, store.remove(job_id(c.id)), "deleted");
  if (c.name == "pause") return change(c, store.pause(queue_name(c.queue)), "paused");
  if (c.name == "resume") return change(c, store.resume(queue_name(c.queue)), "resumed");
  return wrong_words(cat("unknown command ", c.name));
}

}  // namespace sluice::cli
