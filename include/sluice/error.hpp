/// What can go wrong, as values. Every code is one sentence and says whether waiting can help; a
/// `result` is either a value or an `error`. Public calls report by results; they throw when memory or threads run out.
#pragma once

#include <cassert>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include <sluice/version.hpp>

namespace sluice {

/// The closed list of failures. The numbers are not stored anywhere and may change.
enum class errc : std::uint8_t {
  none,                 ///< Nothing went wrong.
  invalid_argument,     ///< A value is outside what is allowed; the message names it and the range.
  invalid_config,       ///< The configuration has faults; nothing was started.
  not_served,           ///< This version does not do that yet.
  too_large,            ///< A size limit was exceeded; nothing was stored.
  refused,              ///< An enqueue filter refused it, or another job of its enqueue_all was; nothing was stored.
  id_conflict,          ///< A job with this id and other content exists; nothing was changed.
  unique_conflict,      ///< Another job has the unique key of this one; nothing was changed.
  group_closed,         ///< The group was sealed or cancelled; nothing was stored.
  not_found,            ///< No such job, queue, group, throttler or store.
  illegal_transition,   ///< The job's state does not allow that; nothing was changed.
  stale_fence,          ///< This run or lock is no longer yours, and another may have it: its lease ran out, or
                        ///< somebody took it away. Nothing was changed.
  lock_held,            ///< Another holds the lock; the message says who and until when. Waiting may help.
  damaged_record,       ///< The stored record cannot be decoded; it is kept in quarantine.
  storage_full,         ///< The store has no room; nothing was stored. Waiting may help.
  storage_busy,         ///< Another process holds the store; nothing was stored. Waiting may help.
  storage_unavailable,  ///< The store did not answer; nothing was stored. Waiting may help.
  storage_lost,         ///< The store's file was removed or replaced under us. Restart is needed.
  storage_damaged,      ///< The store is damaged, or not one of Sluice's; nothing was touched.
  storage_newer,        ///< The store has the layout of a newer version; nothing was touched. Restart with that one.
  storage_older,        ///< The store has the layout of an older version and was not raised yet; nothing was touched.
  unknown_outcome,      ///< The store failed while committing: it may or may not have happened.
  overloaded,           ///< Too much is waiting for the store in this process. Waiting may help.
  timed_out,            ///< The deadline passed first.
  not_running,          ///< The server or client is stopped, or was opened before fork().
  io_error,             ///< The operating system refused; the message says what.
};

/// The sentence of a code, for logs and people. Never empty, never freed.
std::string_view describe(errc code) noexcept;

/// The code's name as it is written in JSON and logs, e.g. "id_conflict".
std::string_view name_of(errc code) noexcept;

/// True when the same call may succeed later without anybody changing anything.
bool is_transient(errc code) noexcept;

/// What a not_found speaks of, for who helps a person on.
enum class error_subject : std::uint8_t { other, job, queue, group, throttler, schedule, quarantine, store };

/// A code with what it was about. `message` is for people and never needed to decide.
struct error {
  errc code = errc::none;
  std::string message;
  error_subject subject = error_subject::other;
};

/// "code: message", or the code's sentence when there is no message.
std::string to_string(const error& e);

/// Thrown by reading the value of a result that is an error, with the error's words.
class bad_result : public std::logic_error {
public:
  explicit bad_result(sluice::error e);
  const sluice::error& error() const noexcept { return error_; }

private:
  sluice::error error_;
};
[[noreturn]] void throw_bad_result(const error& e);

/// The parts of something that may be moved: to use what was moved from is a `bad_result` that says so.
template <class Pointer>
struct parts_pointer : Pointer {
  auto* operator->() const {
    if (!*this)
      throw_bad_result(
          {errc::invalid_argument, std::string("this ") + Pointer::element_type::whose + " was moved from"});
    return this->get();
  }
  auto& operator*() const { return *operator->(); }
};

template <class T>
class result;
template <>
class result<void>;

/// A value of T or an error. Reading the value of an error throws `bad_result`, reading the error of a value
/// std::bad_variant_access.
template <class T>
class [[nodiscard]] result {
public:
  using value_type = T;

  result(T value) : content_(std::in_place_index<0>, std::move(value)) {}
  result(sluice::error e) : content_(std::in_place_index<1>, std::move(e)) {}

  bool ok() const noexcept { return content_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  T& value() & { return checked(*this); }
  const T& value() const& { return checked(*this); }
  T&& value() && { return std::move(checked(*this)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const sluice::error& error() const { return std::get<1>(content_); }

  /// The value, or `otherwise`.
  template <class U>
  T value_or(U&& otherwise) const& {
    return ok() ? std::get<0>(content_) : static_cast<T>(std::forward<U>(otherwise));
  }
  template <class U>
  T value_or(U&& otherwise) && {
    return ok() ? std::get<0>(std::move(content_)) : static_cast<T>(std::forward<U>(otherwise));
  }
  /// What `next` makes of the value, which is a result itself; or this error.
  template <class F>
  auto and_then(F&& next) const& -> std::remove_cvref_t<std::invoke_result_t<F, const T&>> {
    if (!ok()) return error();
    return std::invoke(std::forward<F>(next), value());
  }
  template <class F>
  auto and_then(F&& next) && -> std::remove_cvref_t<std::invoke_result_t<F, T>> {
    if (!ok()) return error();
    return std::invoke(std::forward<F>(next), std::move(*this).value());
  }
  /// What `change` makes of the value; or this error.
  template <class F>
  auto transform(F&& change) const& {
    return and_then([&](const T& v) { return made_by(std::forward<F>(change), v); });
  }
  template <class F>
  auto transform(F&& change) && {
    return std::move(*this).and_then([&](T v) { return made_by(std::forward<F>(change), std::move(v)); });
  }

private:
  template <class Self>
  static auto& checked(Self& self) {
    if (!self.ok()) throw_bad_result(self.error());
    return std::get<0>(self.content_);
  }
  template <class F, class V>
  static auto made_by(F&& change, V&& v) {
    using made = std::remove_cvref_t<std::invoke_result_t<F, V>>;
    if constexpr (std::is_void_v<made>) {
      std::invoke(std::forward<F>(change), std::forward<V>(v));
      return result<made>();
    } else {
      return result<made>(std::invoke(std::forward<F>(change), std::forward<V>(v)));
    }
  }

  std::variant<T, sluice::error> content_;
};

template <>
class [[nodiscard]] result<void> {
public:
  result() = default;
  result(sluice::error e) : error_(std::move(e)) {}

  bool ok() const noexcept { return !error_.has_value(); }
  explicit operator bool() const noexcept { return ok(); }
  void value() const {
    if (error_) throw_bad_result(*error_);
  }
  const sluice::error& error() const {
    assert(error_);
    return *error_;
  }
  /// What `next` answers, which is a result itself; or this error.
  template <class F>
  auto and_then(F&& next) const -> std::remove_cvref_t<std::invoke_result_t<F>> {
    if (!ok()) return error();
    return std::invoke(std::forward<F>(next));
  }

private:
  std::optional<sluice::error> error_;
};

}  // namespace sluice
