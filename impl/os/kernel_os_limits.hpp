// kernel_os_limits: which limit the kernel means that says ENOMEM, or a C library that says EAGAIN
// in its place.
#pragma once

#include <cstddef>
#include <string_view>

namespace lastref::os {

/// The limit that does not let this process have so many bytes of addresses more; empty if they can
/// be had, or no limit is known that refuses them. Allocates nothing, and changes no errno.
std::string_view limit_of_addresses(std::size_t bytes) noexcept;

/// Whether so many bytes of addresses can be had now.
bool has_addresses(std::size_t bytes) noexcept;

}  // namespace lastref::os
