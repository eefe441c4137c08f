// copy: memory for data from others, which may be too large.
#pragma once

#include <cstddef>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include <lastref/error.hpp>
#include <lastref/os.hpp>

namespace lastref::cache {

/// Makes a vector that may be too large for the memory: its size may come from a file, for example.
///
/// Errors          not_enough_memory.
template <typename T, typename... Arguments>
Result<std::vector<T>> new_vector(Arguments... arguments) {
  try {
    return std::vector<T>(arguments...);
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  return failure(std::errc::not_enough_memory, "values of a cache");
}

/// Errors          not_enough_memory.
inline Result<std::vector<std::byte>> copy_of(os::Bytes bytes) {
  return new_vector<std::byte>(bytes.begin(), bytes.end());
}

}  // namespace lastref::cache
