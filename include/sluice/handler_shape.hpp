/// What a function takes, and what its author meant when it is no handler: so that the compiler says what to write.
/// For <sluice/handler.hpp>, which says what a handler is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string_view>
#include <type_traits>
#include <utility>

#include <sluice/version.hpp>

namespace sluice {

class job_context;

/// What keeps a function from being a handler; the first that applies.
enum class handler_fault : std::uint8_t {
  none,
  several_args,
  member_function,
  no_function,
  move_only,
  context_by_value,
  stop_token,
  args_second,
  args_not_const,
  text_args,
  other_args,
  unknown,
  other,
};

namespace shape {

/// The types of a function's parameters.
template <class... P>
struct parameters {
  static constexpr bool known = true;
  static constexpr std::size_t count = sizeof...(P);
  template <template <class> class Is>
  static constexpr bool any = (Is<P>::value || ...);
};
/// Of what is a template, or overloaded.
struct unknown_parameters {
  static constexpr bool known = false;
  static constexpr std::size_t count = 0;
};

template <class R, class... P>
parameters<P...> of(R (*)(P...));
template <class R, class C, class... P>
parameters<P...> of(R (C::*)(P...));
template <class R, class C, class... P>
parameters<P...> of(R (C::*)(P...) const);

template <class F>
auto parameters_of() {
  if constexpr (requires { of(&F::operator()); }) return decltype(of(&F::operator())){};
  else if constexpr (requires(F f) { of(f); }) return decltype(of(std::declval<F>())){};
  else return unknown_parameters{};
}

template <class P>
struct first {
  using type = void;
};
template <class P, class... More>
struct first<parameters<P, More...>> {
  using type = P;
};
/// The first parameter as it is written; void: there is none, or it is not known.
template <class F>
using first_of = typename first<decltype(parameters_of<F>())>::type;

template <class P>
using is_context = std::is_same<std::remove_cvref_t<std::remove_pointer_t<P>>, job_context>;
template <class P>
using is_context_by_value = std::bool_constant<is_context<P>::value && !std::is_lvalue_reference_v<P>>;
template <class P>
using is_stop_token = std::is_same<std::remove_cvref_t<P>, std::stop_token>;

template <class F, class Args>
inline constexpr bool takes_args =
    std::is_invocable_v<F&, const Args&> || std::is_invocable_v<F&, const Args&, job_context&>;

/// The args that a function alone tells of: its first parameter, unless that is the context. void: it tells of none.
template <class F>
auto told_args() {
  using told = std::remove_cvref_t<first_of<F>>;
  if constexpr (std::is_invocable_v<F&, job_context&> || std::is_invocable_v<F&> || std::is_void_v<told>)
    return std::type_identity<void>{};
  else return std::type_identity<told>{};
}

template <class F, class... Args>
struct args_of_handler : decltype(told_args<F>()) {};
template <class F, class Args>
struct args_of_handler<F, Args> : std::type_identity<Args> {};
template <class F, class... Args>
using args_of = typename args_of_handler<F, Args...>::type;

template <class F, class... Args>
constexpr handler_fault fault_of_parameters() {
  using all = decltype(parameters_of<F>());
  using told = first_of<F>;
  if constexpr (!all::known || all::count == 0) {
    return !all::known && sizeof...(Args) == 0 ? handler_fault::unknown : handler_fault::other;
  } else {
    if constexpr (all::template any<is_context_by_value>) return handler_fault::context_by_value;
    else if constexpr (all::template any<is_stop_token>) return handler_fault::stop_token;
    else if constexpr (is_context<told>::value)
      return all::count == 2 ? handler_fault::args_second : handler_fault::other;
    else if constexpr (sizeof...(Args) == 1 && !(std::is_same_v<std::remove_cvref_t<told>, Args> || ...))
      return handler_fault::other_args;
    else if constexpr (!std::is_invocable_v<F&, const std::remove_cvref_t<told>&> && std::is_reference_v<told> &&
                       !std::is_const_v<std::remove_reference_t<told>>)
      return handler_fault::args_not_const;
    else return handler_fault::other;
  }
}

template <class F, class... Args>
constexpr handler_fault fault_of() {
  using args = args_of<F, Args...>;
  if constexpr (sizeof...(Args) > 1) return handler_fault::several_args;
  else if constexpr (std::is_member_pointer_v<F>) return handler_fault::member_function;
  else if constexpr (!std::is_class_v<F> && !std::is_function_v<std::remove_pointer_t<F>>)
    return handler_fault::no_function;
  else if constexpr (!std::is_copy_constructible_v<F>) return handler_fault::move_only;
  else if constexpr (std::is_void_v<args>)
    return std::is_invocable_v<F&, job_context&> || std::is_invocable_v<F&> ? handler_fault::none
                                                                            : fault_of_parameters<F>();
  else if constexpr (is_context<args>::value || is_stop_token<args>::value || !takes_args<F, args>)
    return fault_of_parameters<F, Args...>();
  else if constexpr (sizeof...(Args) == 0 && std::is_convertible_v<const args&, std::string_view>)
    return handler_fault::text_args;
  else return handler_fault::none;
}

/// A class that can be called, or a function: what a fault of its parameters can be told of.
template <class F, class... Args>
constexpr bool explain() {
  constexpr auto fault = fault_of<F, Args...>();
  static_assert(fault != handler_fault::several_args,
                "a handler has one type of args: write handle<ARGS>(\"type\", function)");
  static_assert(fault != handler_fault::member_function,
                "a member function needs its object: write handle(\"type\", [&object](const ARGS& args) { return "
                "object.function(args); })");
  static_assert(fault != handler_fault::no_function,
                "a handler is a function: write handle(\"type\", [](const ARGS& args) { ... })");
  static_assert(fault != handler_fault::move_only, "a handler must be copyable: hold what is not by std::shared_ptr");
  static_assert(fault != handler_fault::context_by_value,
                "a handler takes its context by reference: write sluice::job_context& job");
  static_assert(fault != handler_fault::stop_token,
                "a handler is given no stop token: take sluice::job_context& job, and ask job.stop()");
  static_assert(fault != handler_fault::args_second,
                "a handler takes its args first: write (const ARGS& args, sluice::job_context& job)");
  static_assert(fault != handler_fault::args_not_const, "the args of a handler are const: write (const ARGS& args)");
  static_assert(fault != handler_fault::text_args,
                "for the JSON text take sluice::job_context& job, and read job.args(); for args that are one JSON text "
                "write handle<std::string>(\"type\", function)");
  static_assert(fault != handler_fault::other_args,
                "the function takes other args than handle<ARGS> names: write handle<ARGS>(\"type\", [](const ARGS& "
                "args) { ... })");
  static_assert(fault != handler_fault::unknown,
                "what a function takes that is generic or overloaded must be named: write handle<ARGS>(\"type\", "
                "function), which is called with (const ARGS& args) or (const ARGS& args, sluice::job_context& job)");
  static_assert(fault != handler_fault::other,
                "a handler takes (const ARGS& args), (sluice::job_context& job), or both in this order");
  return fault == handler_fault::none;
}

}  // namespace shape

/// Whether `handle("type", f)`, or `handle<Args>("type", f)`, takes such a function.
template <class F, class... Args>
concept handler_function = shape::fault_of<F, Args...>()
== handler_fault::none;

}  // namespace sluice
