// Result: a value or an Error. Errors travel as values: lastref throws only if a program asks a
// Result without a value for its value.
#pragma once

#if __cplusplus < 202002L
#error "lastref needs C++20: -std=c++20"
#endif

#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include <tl/expected.hpp>

#include <lastref/call.hpp>

namespace lastref {

/// The reason of a failure.
struct Error {
  std::errc code{};        ///< What the kernel returned, or would have returned.
  Call call = Call::none;  ///< The row of the table of calls.
  std::string subject;     ///< Path, descriptor or pid, as the caller named it.
  bool injected = false;   ///< Evidence for reports. Product code never branches on it.

  bool operator==(const Error&) const = default;

  /// As `describe`.
  std::string what() const;
};

/// Thrown by `value()` of a Result that has none. Its what() describes the error.
class Failure : public std::runtime_error {
 public:
  explicit Failure(Error error);

  const Error& error() const noexcept { return error_; }

 private:
  Error error_;
};

[[noreturn]] void throw_failure(const Error& error);

/// Calls `body` with `argument`, and returns whether all of its allocations succeeded. Other
/// exceptions propagate. For headers, which programs without exceptions include.
bool call_within_memory(void (*body)(void* argument), void* argument);

/// A tl::expected that the compiler does not let a caller drop. Its copies throw if an allocation
/// fails; those of tl::expected end the program.
template <typename T, typename E>
class [[nodiscard]] Expected : public tl::expected<T, E> {
 public:
  using Unmarked = tl::expected<T, E>;
  using Unmarked::Unmarked;

  static constexpr bool is_copyable = std::is_copy_constructible_v<Unmarked>;

  Expected() = default;
  Expected(const Expected& other) requires is_copyable : Unmarked(copy_of(other)) {}
  Expected(const Expected&) requires(!is_copyable) = delete;
  // NOLINTBEGIN(performance-noexcept-move-constructor): they are, where those of T are.
  Expected(Expected&&) = default;
  Expected& operator=(const Expected& other) requires is_copyable {
    return *this = Expected(other);
  }
  Expected& operator=(Expected&&) = default;
  // NOLINTEND(performance-noexcept-move-constructor)
  ~Expected() = default;
  // Members of tl::expected, such as map(), return unmarked values: a function can return them.
  // NOLINTNEXTLINE(google-explicit-constructor)
  Expected(const Unmarked& unmarked) : Unmarked(copy_of(unmarked)) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  Expected(Unmarked&& unmarked) noexcept(std::is_nothrow_move_constructible_v<Unmarked>)
      : Unmarked(std::move(unmarked)) {}

  /// Throws Failure if there is an Error instead.
  decltype(auto) value() & { return checked(*this); }
  decltype(auto) value() const& { return checked(*this); }
  /// Not a reference: a loop over the value of a returned Result may use it.
  T value() && { return checked(std::move(*this)); }

 private:
  template <typename Self>
  static decltype(auto) checked(Self&& self) {
    if (!self) {
      throw_failure(self.error());
    }
    if constexpr (!std::is_void_v<T>) {
      return *std::forward<Self>(self);
    }
  }

  /// Only moves into it, which needs no memory.
  static Unmarked copy_of(const Unmarked& other) {
    if (!other) {
      return tl::unexpected<E>(other.error());
    }
    if constexpr (std::is_void_v<T>) {
      return {};
    } else {
      return T(*other);
    }
  }
};

/// The operators of tl::expected are ambiguous for two Expected: one takes a value of any type.
template <typename T, typename E>
bool operator==(const Expected<T, E>& one, const Expected<T, E>& other) {
  return static_cast<const tl::expected<T, E>&>(one) ==
         static_cast<const tl::expected<T, E>&>(other);
}

template <typename T>
using Result = Expected<T, Error>;
using Status = Result<void>;

/// The Status of success.
inline Status ok() noexcept {
  return {};
}

/// An Error that a function returning any Result can return.
inline tl::unexpected<Error> failure(std::errc code, std::string subject, Call call = Call::none) {
  return tl::unexpected<Error>(
      Error{.code = code, .call = call, .subject = std::move(subject), .injected = false});
}

/// As above, for an Error that another function has returned.
inline tl::unexpected<Error> failure(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

/// Whether `result` is an error with this code.
template <typename T>
bool failed_with(const Result<T>& result, std::errc code) {
  return !result && result.error().code == code;
}

/// The success or error of `result`, without its value.
template <typename T>
Status status_of(const Result<T>& result) {
  return result ? ok() : Status(failure(result.error()));
}
template <typename T>
Status status_of(Result<T>&& result) noexcept {
  return result ? ok() : Status(failure(std::move(result).error()));
}

/// Returns the result of `body`; not_enough_memory, about `what`, if an allocation failed in it.
template <typename Body>
std::invoke_result_t<Body&> result_within_memory(const char* what, Body body) {
  std::optional<std::invoke_result_t<Body&>> result;
  auto run = [&] { result.emplace(body()); };
  const auto call = [](void* given) { (*static_cast<decltype(run)*>(given))(); };
  if (!call_within_memory(call, &run)) {
    return failure(std::errc::not_enough_memory, what);  // A short text needs no memory.
  }
  return *std::move(result);
}

/// One line for the user: the operation, its subject, and the kernel's error.
std::string describe(const Error& error);

/// Writes the name of the program and the error on standard error, and returns an exit code for
/// `main`.
int fail(const Error& error) noexcept;

[[noreturn]] void assertion_failed(const char* condition, const char* file, int line) noexcept;

}  // namespace lastref

#define LASTREF_CONCATENATE_AGAIN(left, right) left##right
#define LASTREF_CONCATENATE(left, right) LASTREF_CONCATENATE_AGAIN(left, right)
#define LASTREF_TRY_AS(result, name, expression)                          \
  auto result = (expression);                                             \
  if (!result) {                                                          \
    return ::tl::unexpected<::lastref::Error>(std::move(result).error()); \
  }                                                                       \
  auto name = *std::move(result)

/// Binds the value of `expression` to `name`, or returns its error.
#define LASTREF_TRY(name, expression) \
  LASTREF_TRY_AS(LASTREF_CONCATENATE(name##_result_, __LINE__), name, expression)

/// Returns the error of a Status, if it has one.
#define LASTREF_CHECK(status)                                                                      \
  do {                                                                                             \
    if (auto&& checked = (status); !checked) {                                                     \
      return ::tl::unexpected<::lastref::Error>(std::forward<decltype(checked)>(checked).error()); \
    }                                                                                              \
  } while (false)

/// For bugs in lastref: one condition without side effects, checked in every build.
#define LASTREF_ASSERT(condition)                                  \
  do {                                                             \
    if (!(condition)) {                                            \
      ::lastref::assertion_failed(#condition, __FILE__, __LINE__); \
    }                                                              \
  } while (false)
