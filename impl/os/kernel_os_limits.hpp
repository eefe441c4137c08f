// kernel_os_limits: the limit that caused ENOMEM of the kernel, or EAGAIN of a C library in its
// place.
#pragma once

#include <cstddef>
#include <string_view>

namespace lastref::os {

/// The limit that refuses this process that many more bytes of addresses; empty if they are
/// available, or no known limit refuses them. Allocates nothing, and does not change errno.
std::string_view limit_of_addresses(std::size_t bytes) noexcept;

/// Whether that many bytes of addresses are available now.
bool has_addresses(std::size_t bytes) noexcept;

}  // namespace lastref::os
