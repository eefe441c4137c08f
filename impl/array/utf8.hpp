// utf8: the text of .npy headers, which older versions store as Latin-1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lastref::array {

/// Whether it is well-formed: nothing overlong, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view text) noexcept;

/// Appends a character; no surrogate, and none above U+10FFFF.
void append_utf8(std::string& text, std::uint32_t character);

std::string utf8_from_latin1(std::string_view text);
/// None if a character is above U+00FF. The text must be well-formed.
std::optional<std::string> latin1_from_utf8(std::string_view text);

}  // namespace lastref::array
