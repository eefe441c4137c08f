// typed_call: the tasks that carry calls of typed functions.
#pragma once

#include <string_view>

#include <lastref/array.hpp>
#include <lastref/task.hpp>
#include <lastref/view.hpp>

namespace lastref::backends {

/// {group, shared arguments, arrays...}: keeps them for the tasks of the group.
inline constexpr const char* share_function = "lastref.share";
/// {path, bytes}: results of more bytes are put into files. The path is what their names begin
/// with; their numbers from 0 on follow.
inline constexpr const char* results_function = "lastref.results";
/// {group}
inline constexpr const char* forget_function = "lastref.forget";

/// An array of bytes that are borrowed.
inline Result<Array> array_of(os::Bytes bytes) {
  LASTREF_TRY(byte, dtype_of<std::uint8_t>());
  return Array::over(Memory::wrap(bytes, nullptr), {.dtype = byte, .shape = {bytes.size()}});
}

/// The error of a call of a function that this process does not have. Its name may be the id of a
/// TypedFunction.
Error about_unknown(std::string_view id);

}  // namespace lastref::backends
