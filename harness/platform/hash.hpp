// hash: distinguishes texts; not for security.
#pragma once

#include <cstdint>
#include <string_view>

namespace lastref::harness {

/// FNV-1a.
///
/// @param hash  That of the text before it
constexpr std::uint64_t hash_of(std::string_view text,
                                std::uint64_t hash = 0xcbf29ce484222325U) noexcept {
  for (const char each : text) {
    hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001b3U;
  }
  return hash;
}

}  // namespace lastref::harness
