#include <sluice/dashboard.hpp>

#include "core/log.hpp"
#include "core/text.hpp"
#include "dashboard/site.hpp"

namespace sluice {

struct dashboard::parts {
  static constexpr auto whose = "dashboard";
  web::board on;
  web::site answers{on};
  std::string url{};
  std::unique_ptr<web::http_server> server{};  // ends first
};

dashboard::dashboard(std::unique_ptr<parts> p) : parts_{std::move(p)} {}
// A child that was forked has none of its threads, and leaves it as it is.
dashboard::~dashboard() {
  if (parts_ && !parts_->on.shared_store->is_of_this_process()) (void)parts_.release();
}
dashboard::dashboard(dashboard&&) noexcept = default;
dashboard& dashboard::operator=(dashboard&& other) noexcept {
  std::swap(parts_, other.parts_);
  return *this;
}

result<dashboard> dashboard::start(client_options store, dashboard_options options, std::function<bool()> is_ready) {
  using namespace std::chrono_literals;
  if (const auto fine = web::check(options); !fine) return fine.error();
  const auto where = web::parse_listen(options.listen);
  if (!where) return where.error();
  // A request must be answered before its socket is taken for a dead one: a change begins within 3 s, and is a list,
  // the change itself, and the note of it.
  store.deadline = std::min<duration>(store.deadline, 3500ms);
  auto shared_store = storage::open_shared_store(store.storage, nullptr, store.mode);
  if (!shared_store) return shared_store.error();
  auto backend = store.storage.substr(0, store.storage.find_first_of(":+"));
  auto opened = client::open(std::move(store));
  if (!opened) return opened.error();
  auto at = web::listen_at(*where);
  if (!at) return at.error();
  auto access = web::access_rules::make(options, at->port);
  if (!access) {
    web::close_all(*at);
    return access.error();
  }
  auto known = std::make_unique<sluice::snapshot>(*shared_store);
  std::unique_ptr<parts> p(new parts{{std::move(*opened), std::move(options), std::move(*access), *shared_store,
                                      std::move(known), std::move(is_ready), std::move(backend)}});
  const bool in_brackets = where->host.find(':') != std::string::npos;
  p->url = cat("http://", in_brackets ? "[" : "", where->host, in_brackets ? "]" : "", ":", at->port);
  auto& answers = p->answers;
  web::http_site site{[&answers](const web::http_request& r) { return answers.refuse(r); },
                      [&answers](const web::http_request& r) { return answers.answer(r); },
                      [on = &p->on](std::string_view reason) { on->numbers.note_refused(reason); }};
  const bool one_peer_for_all = !p->on.options.proxies.empty();
  auto server = web::http_server::start(std::move(*at), std::move(site), one_peer_for_all);
  if (!server) return server.error();
  p->server = std::move(*server);
  log::info("the dashboard listens at ", p->url, p->on.options.allow_changes ? "" : ", and only looks");
  return dashboard(std::move(p));
}

const std::string& dashboard::url() const { return parts_->url; }

}  // namespace sluice
