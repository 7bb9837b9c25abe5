// What a client is made of, for the files of this room.
#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
#include <span>
#include <type_traits>

#include <sluice/client.hpp>

#include "client/asking.hpp"
#include "core/log.hpp"
#include "core/pipeline.hpp"
#include "core/text.hpp"
#include "scheduler/schedules.hpp"
#include "storage/async_store.hpp"
#include "storage/shared_store.hpp"

namespace sluice {

// Of a page.
inline result<void> check_limit(std::uint32_t limit) {
  if (limit >= 1 && limit <= storage::largest_page) return {};
  return error{errc::invalid_argument, cat("limit must be 1 to ", storage::largest_page)};
}

struct client::parts {
  client_options options;
  enqueue_pipeline pipeline;
  std::shared_ptr<storage::shared_store> shared_store;

  parts(client_options o, enqueue_pipeline p, std::shared_ptr<storage::shared_store> r)
      : options(std::move(o)), pipeline(std::move(p)), shared_store(std::move(r)) {}

  storage::answer ask(const storage::request& r) { return sluice::ask(*shared_store, r, options.deadline); }
  template <class Answer>
  result<Answer> ask_for(const storage::request& r) {
    return sluice::ask_for<Answer>(*shared_store, r, options.deadline);
  }

  // Notes by whom something was done to these, if he says who he is. The change stands, whatever becomes of its note.
  void note(std::string_view what, std::vector<std::string> about) {
    if (options.by.name.empty() || about.empty()) return;
    storage::log_action_request noted{options.by, std::string(what), {}, about.size()};
    about.resize(std::min<std::size_t>(about.size(), storage::max_about));
    noted.about = std::move(about);
    const auto answer = ask_once(*shared_store, noted, options.deadline);
    if (const auto* failed = std::get_if<error>(&answer))
      log::warn("'", what, "' by ", options.by.name,
                " was done, and could not be noted in the operator log: ", to_string(*failed));
  }

  // Whether each was changed, or was so already. Some in one commit.
  std::vector<result<storage::change_answer>> change(const storage::shared_store::requests& all) {
    std::vector<result<storage::change_answer>> each;
    for (std::size_t from = 0; from < all.size();) {
      storage::shared_store::requests some;
      for (; from < all.size() && some.size() < storage::largest_page; ++from)
        some.push_back(all[from]);
      for (auto& answer : sluice::ask(*shared_store, some, options.deadline)) {
        if (auto* failed = std::get_if<error>(&answer)) {
          each.emplace_back(std::move(*failed));
          continue;
        }
        auto& said = std::get<storage::change_answer>(answer);
        if (said.code == errc::none) each.emplace_back(std::move(said));
        else each.emplace_back(error{said.code, std::move(said.message)});
      }
    }
    return each;
  }

  // So many cancels are told to servers by one hint: a cancel, once more, of one that was asked.
  static constexpr std::size_t told_by_one_hint = 1'000;
  std::vector<result<storage::change_answer>> cancel(const storage::shared_store::requests& all) {
    if (all.size() == 1) return change(all);
    std::vector<result<storage::change_answer>> each;
    for (std::size_t from = 0; from < all.size(); from = each.size()) {
      const auto slice = std::span(all).subspan(from, std::min(told_by_one_hint, all.size() - from));
      storage::shared_store::requests some(slice.begin(), slice.end());
      for (auto& one : some)
        std::get<storage::cancel_request>(one).hints = false;
      std::ranges::move(change(some), std::back_inserter(each));
      for (std::size_t i = each.size(); i > from; --i) {
        if (!each[i - 1] || !each[i - 1]->asked) continue;
        const auto told = change({all[i - 1]}).front();
        if (told ? told->asked : is_transient(told.error().code)) break;  // else it has ended meanwhile
      }
    }
    return each;
  }

  template <class Request>
  std::vector<result<storage::change_answer>> change(std::string_view what, const std::vector<job_id>& ids,
                                                     std::optional<job_state> only_in = {}) {
    storage::shared_store::requests all;
    for (const auto& id : ids)
      all.push_back(Request{id, only_in, options.by});
    auto each = [&] {
      if constexpr (std::is_same_v<Request, storage::cancel_request>) return cancel(all);
      else return change(all);
    }();
    std::vector<std::string> done;
    for (std::size_t i = 0; i < ids.size(); ++i)
      if (each[i] && each[i]->changed) done.push_back(ids[i].value);
    note(what, std::move(done));
    return each;
  }

  template <class Request>
  std::vector<result<void>> change_each(std::string_view what, const std::vector<job_id>& ids) {
    std::vector<result<void>> told;
    for (auto& one : change<Request>(what, ids))
      told.push_back(one ? result<void>() : one.error());
    return told;
  }

  // All of one page of a list, unless one left its state meanwhile.
  template <class Request>
  result<changed_page> change(std::string_view what, job_query query) {
    if (!query.state)
      return error{errc::invalid_argument, "jobs are changed by a query of one state: it must say which"};
    if (auto fine = check_limit(query.limit); !fine) return fine.error();
    query.with_args = false;
    const auto state = query.state;
    auto page = ask_for<storage::list_answer>(storage::list_request{std::move(query)});
    if (!page) return page.error();
    std::vector<job_id> ids;
    for (auto& j : page->page.jobs)
      ids.push_back(std::move(j.id));
    const auto each = change<Request>(what, ids, state);
    changed_page changed{0, {}, std::move(page->page.next), page->page.records_read};
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (each[i]) ++(each[i]->changed ? changed.done : changed.unchanged);
      else changed.failed.emplace_back(ids[i], each[i].error());
    }
    return changed;
  }

  // On the caller's thread.
  template <class T>
  result<T> carry_out(const std::function<void(const storage::async_store&, const storage::callback<T>&)>& begin) {
    return sluice::carry_out<T>(*shared_store, options.deadline, begin);
  }

  result<void> change_group(storage::change_group_request asked, std::string_view noted_as);
  result<recurring_page> schedules_by_name(const recurring_query& query);
  void add_unserved(std::vector<recurring_status>& all);
  result<void> pause(const queue_name& queue, bool paused);
  result<void> requeue_quarantined(const job_id& id);
  // not_found, with which was meant or which there are.
  error missing_schedule(const std::string& name);
  result<storage::update_schedule_answer> swap_schedule(const std::string& name,
                                                        const scheduler::schedule_change& change);
  result<void> change_schedule(std::string_view what, const std::string& name,
                               const scheduler::schedule_change& change);
};

}  // namespace sluice
