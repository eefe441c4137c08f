// extend: gives a file more bytes, with space for them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <lastref/owners.hpp>

#include "impl/os/limits.hpp"

namespace lastref::os {

/// Extends a file of `from` bytes by zeros, with space for them. Writes them if the file system
/// cannot allocate space.
///
/// Errors          those of allocate and write_at.
inline Status extend(Os& os, Fd fd, std::uint64_t from, std::uint64_t end) {
  const Status allocated = retry_interrupted([&] { return os.allocate(fd, from, end - from); });
  if (!failed_with(allocated, std::errc::operation_not_supported) &&
      !failed_with(allocated, std::errc::function_not_supported)) {
    return allocated;
  }
  const std::vector<std::byte> zeros(
      static_cast<std::size_t>(std::min(limits_of(os).array_zeros, end - from)));
  for (std::uint64_t at = from; at < end; at += zeros.size()) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(zeros.size(), end - at));
    LASTREF_CHECK(write_all_at(os, fd, Bytes(zeros).first(size), at));
  }
  return ok();
}

}  // namespace lastref::os
