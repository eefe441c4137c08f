// Call: a row of the table of calls. The table itself is calls.def.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace lastref {

/// One row of calls.def; `none` marks an error that no call produced.
enum class Call : std::uint8_t {
  none,
#define LASTREF_CALL(method, point, traits, ...) method,
#include <lastref/calls.def>
#undef LASTREF_CALL
};

/// One row of steps.def.
enum class Step : std::uint8_t {
#define LASTREF_STEP(name, point) name,
#include <lastref/steps.def>
#undef LASTREF_STEP
};

/// A set of properties of a call; see calls.def.
enum class Traits : std::uint8_t {
  plain = 0,
  blocks = 1,
  shortens = 2,
  observes = 4,
  process_private = 8,
  private_on_pipes = 16,
  needed = 32,
};

constexpr Traits operator|(Traits one, Traits other) noexcept {
  return static_cast<Traits>(static_cast<unsigned>(one) | static_cast<unsigned>(other));
}

/// Whether `traits` contains the single trait `one`.
constexpr bool has(Traits traits, Traits one) noexcept {
  return (static_cast<unsigned>(traits) & static_cast<unsigned>(one)) != 0;
}

/// What a program may do about an error of a call; see calls.def.
enum class Response : std::uint8_t { none, ignore, retry, answer, fall_back, fail };

/// An error of a call that is worth trying.
struct ErrorRow {
  int error;  ///< errno
  Response in_tracker;
  Response elsewhere;
};

/// A row of the table of calls.
struct CallRow {
  Call call;
  std::string_view method;
  const char* point;  ///< Null-terminated, because libfiu requires it.
  Traits traits;
  std::span<const ErrorRow> errors;  ///< In the order of the table.
};

/// A row of the table of steps.
struct StepRow {
  Step step;
  std::string_view name;
  const char* point;
};

/// All rows, in the order of the enumerations.
std::span<const CallRow> call_rows() noexcept;
std::span<const StepRow> step_rows() noexcept;

/// The row of one call or step. `call` is not `none`.
const CallRow& row_of(Call call) noexcept;
const StepRow& row_of(Step step) noexcept;

/// The method's name, or "none".
std::string_view name_of(Call call) noexcept;

}  // namespace lastref
