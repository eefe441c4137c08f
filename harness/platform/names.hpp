// names: errors and signals as text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lastref::harness {

/// "ENOENT"; the number of an error without a name.
std::string name_of_error(int error);
/// The value of "ENOSPC"; absent: no errno has this name.
std::optional<int> error_named(std::string_view name) noexcept;

/// "KILL"; the number of a signal without a name.
std::string name_of_signal(int signal);

}  // namespace lastref::harness
