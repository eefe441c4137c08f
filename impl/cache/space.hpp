// space: how much space a cache may use, and the errors that mean there is no more.
#pragma once

#include <cerrno>
#include <cstdint>

#include <lastref/error.hpp>

namespace lastref::cache {

/// The maximum number of slots of a cache; their words take 2 GiB, which are written when it is
/// made.
inline constexpr std::uint64_t length_max = std::uint64_t{1} << 28U;

/// The file system or the user has no more space, or the file may not be so long (RLIMIT_FSIZE).
inline bool is_out_of_space(const Error& error) noexcept {
  constexpr auto quota_exceeded = static_cast<std::errc>(EDQUOT);  // C++ has no name for it.
  return error.code == std::errc::no_space_on_device || error.code == quota_exceeded ||
         error.code == std::errc::file_too_large;
}

}  // namespace lastref::cache
