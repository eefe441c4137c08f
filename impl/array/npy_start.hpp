// NpyStart: the bytes before the text of an .npy header, which contain its length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <lastref/npy.hpp>
#include <lastref/owners.hpp>

namespace lastref::array {

inline constexpr std::string_view npy_magic = "\x93NUMPY";

/// bytes; the size of the text takes four of them from version 2 on.
constexpr std::size_t npy_start_size(std::uint8_t version) noexcept {
  return npy_magic.size() + 2 + (version == 1 ? 2 : 4);
}

struct NpyStart {
  std::uint8_t version = 1;
  std::size_t size = 0;       ///< bytes; offset of the text
  std::size_t text_size = 0;  ///< bytes
};

/// Errors          bad_message, with the reason as subject; value_too_large.
Result<NpyStart> parse_npy_start(os::Bytes bytes);

}  // namespace lastref::array
