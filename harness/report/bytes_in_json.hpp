// bytes_in_json: names and outputs of programs as text of JSON, which is UTF-8, without loss.
//
// A byte that is part of no UTF-8 character is written as U+0000 and two hexadecimal digits:
// "caf\u0000e9". A zero byte, which names do not have, is written in the same way.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace lastref::harness {

/// In bytes, of the UTF-8 character at the front; 0: there is none.
std::size_t size_of_character(std::string_view text) noexcept;

std::string text_of_bytes(std::string_view bytes);
/// The inverse. What text_of_bytes() does not write remains as it is.
std::string bytes_of_text(std::string_view text);

/// Applies them to all values of the document that are text.
void write_bytes_as_text(nlohmann::ordered_json& json);
void read_text_as_bytes(nlohmann::ordered_json& json);

}  // namespace lastref::harness
