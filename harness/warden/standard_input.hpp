// standard_input: several runs of a program get the same standard input, if it is a file.
#pragma once

#include <cstdint>
#include <optional>

namespace lastref::harness::warden {

/// Where the next read of standard input begins; absent: it is no regular file.
std::optional<std::int64_t> place_of_input() noexcept;
void return_to(std::int64_t place) noexcept;

}  // namespace lastref::harness::warden
