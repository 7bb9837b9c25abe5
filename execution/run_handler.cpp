#include "execution/run_handler.hpp"

#include <cxxabi.h>

#include "core/early_end.hpp"
#include "core/log.hpp"
#include "core/watching.hpp"
#include "execution/filters.hpp"

namespace sluice::execution {
namespace {

using step = std::function<outcome(job_context&)>;

// How `run` ended, also when that was an exception. A thread that is ended unwinds with an exception that is no object:
// the sanitizer takes its reference for a null one.
__attribute__((no_sanitize("null"))) outcome end_of(const step& run, job_context& context) {
  take_early_end();
  try {
    auto ended = run(context);
    if (const auto asked = take_early_end())
      log::warn("job ", context.id().value, " (", context.type().value, "): its handler asked to end as ",
                name_of(*asked), ", and caught that with catch (...): it counts as ", name_of(ended.what));
    if (ended.what == run_end::succeeded && ended.text.empty()) ended.text = context.result();
    return ended;
  } catch (ended_early& early) {
    take_early_end();
    return std::move(early.how);
  } catch (const stopped&) {
    if (!context.stop_requested()) return outcome::failed("the handler stopped without being asked to");
    return outcome::give_back("stopped on request");
  } catch (const args_mismatch& e) {
    return outcome::do_not_retry(message_of(e));
  } catch (const std::exception& e) {
    return outcome::failed(message_of(e));
  } catch (const error& thrown) {
    return outcome::failed(to_string(thrown));
  } catch (const char* text) {
    return outcome::failed(text ? text : "the handler threw a null text");
  } catch (const std::string& text) {
    return outcome::failed(text);
  } catch (abi::__forced_unwind&) {
    throw;  // the thread is being ended (pthread_exit); its pool turns that into a failed run
  } catch (...) {
    return outcome::failed("the handler threw something that is no std::exception");
  }
}

// The filters from one on, with the handler inside. None of them sees an exception of what is inside of it.
outcome run_inside(const execution_config& config, const job& about, std::size_t from, const step& handle,
                   job_context& context) {
  const auto& filters = config.filters;
  while (from < filters.size() && !concerns(filters[from], about))
    ++from;
  if (from == filters.size() || !config.has_user_filters()) return end_of(handle, context);
  const step next = [&](job_context& c) { return run_inside(config, about, from + 1, handle, c); };
  return end_of([&](job_context& c) { return filters[from].filter->around(c, next); }, context);
}

}  // namespace

outcome run_handler(const execution_config& config, const job& about, const std::stop_token& stop,
                    job_context::progress_sink progress, const std::atomic<stop_reason>* reason) {
  const auto found = config.handlers.entries().find(about.type.value);
  if (found == config.handlers.entries().end())
    return outcome::give_back("this server knows no handler for type " + about.type.value);
  job_context context(about, stop, std::move(progress), reason);
  auto ended = run_inside(config, about, 0, found->second.run, context);
  ended.watched = context.take_watched();
  if (!ended.watched.empty()) log::info("job ", about.id.value, " (", about.type.value, "): ", in_words(ended.watched));
  return ended;
}

}  // namespace sluice::execution
