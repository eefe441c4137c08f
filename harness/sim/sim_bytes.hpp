// Copies bytes into and out of the simulated kernel's own strings.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include <lastref/os.hpp>

namespace lastref::harness::sim {

inline std::string text_of(os::Bytes bytes) {
  std::string text(bytes.size(), '\0');
  if (!bytes.empty()) {
    std::memcpy(text.data(), bytes.data(), bytes.size());
  }
  return text;
}

/// Copies as much as fits, and returns how much.
inline std::size_t copy_out(std::string_view from, os::Buffer into) {
  const std::size_t size = std::min(from.size(), into.size());
  if (size > 0) {
    std::memcpy(into.data(), from.data(), size);
  }
  return size;
}

}  // namespace lastref::harness::sim
