// names: errors, signals and counts as text.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace lastref::harness {

/// "ENOENT"; the number of an error without a name.
std::string name_of_error(int error);
/// The value of "ENOSPC"; absent: no errno has this name.
std::optional<int> error_named(std::string_view name) noexcept;

/// "1 run", "2 runs"; "2 processes" with the ending "es".
std::string counted(std::size_t number, std::string_view noun, std::string_view ending = "s");

/// "pwrite64"; "call_999" for a number without a name.
std::string name_of_call(long number);

/// "KILL"; the number of a signal without a name.
std::string name_of_signal(int signal);

}  // namespace lastref::harness
