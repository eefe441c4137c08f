#include "bench/perf/html.hpp"

#include <cstddef>

#include <fmt/format.h>

namespace lastref::perf {
namespace {

unsigned byte_at(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

/// The number of bytes of the first character; 0: it is invalid, a surrogate or overlong.
std::size_t size_of_character(std::string_view text) {
  const unsigned first = byte_at(text, 0);
  const std::size_t size = first < 0x80   ? 1
                           : first < 0xc2 ? 0
                           : first < 0xe0 ? 2
                           : first < 0xf0 ? 3
                           : first < 0xf5 ? 4
                                          : 0;
  if (size > text.size()) {
    return 0;
  }
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte_at(text, i) & 0xc0U) != 0x80) {
      return 0;
    }
  }
  if (size > 2) {
    const unsigned start = first << 8U | byte_at(text, 1);
    const bool is_valid = size == 3 ? start >= 0xe0a0 && (start < 0xeda0 || start > 0xedbf)
                                    : start >= 0xf090 && start < 0xf490;
    return is_valid ? size : 0;
  }
  return size;
}

bool is_control(unsigned first) {
  return (first < 0x20 && first != '\n' && first != '\t') || first == 0x7f;
}

}  // namespace

std::string html(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const unsigned first = byte_at(text, 0);
    const std::size_t size = size_of_character(text);
    if (size == 0 || is_control(first)) {
      shown += fmt::format("\\x{:02x}", first);
    } else if (first == '&') {
      shown += "&amp;";
    } else if (first == '<') {
      shown += "&lt;";
    } else if (first == '>') {
      shown += "&gt;";
    } else if (first == '"') {
      shown += "&quot;";
    } else if (first == '\'') {
      shown += "&#39;";
    } else {
      shown += text.substr(0, size);
    }
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return shown;
}

}  // namespace lastref::perf
