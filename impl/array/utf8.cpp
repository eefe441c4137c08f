#include "impl/array/utf8.hpp"

#include <cstddef>

namespace lastref::array {
namespace {

constexpr std::uint32_t end_of_ascii = 0x80;
constexpr std::uint32_t end_of_latin1 = 0x100;

std::uint32_t code_of(char byte) noexcept {
  return static_cast<unsigned char>(byte);
}

/// The character at the start, and its number of bytes; none if it is malformed.
struct Character {
  std::uint32_t code = 0;
  std::size_t size = 0;
};

std::optional<Character> first_of(std::string_view text) noexcept {
  const std::uint32_t lead = code_of(text.front());
  if (lead < end_of_ascii) {
    return Character{.code = lead, .size = 1};
  }
  struct Form {
    std::uint32_t mask;
    std::uint32_t mark;
    std::uint32_t least;
    std::size_t size;
  };
  constexpr Form forms[] = {
      {0xe0, 0xc0, 0x80, 2}, {0xf0, 0xe0, 0x800, 3}, {0xf8, 0xf0, 0x10000, 4}};
  for (const Form& form : forms) {
    if ((lead & form.mask) != form.mark) {
      continue;
    }
    if (text.size() < form.size) {
      return std::nullopt;
    }
    std::uint32_t code = lead & ~form.mask;
    for (const char byte : text.substr(1, form.size - 1)) {
      if ((code_of(byte) & 0xc0U) != 0x80U) {
        return std::nullopt;
      }
      code = code << 6U | (code_of(byte) & 0x3fU);
    }
    const bool surrogate = code >= 0xd800 && code < 0xe000;
    if (code < form.least || code > 0x10ffff || surrogate) {
      return std::nullopt;
    }
    return Character{.code = code, .size = form.size};
  }
  return std::nullopt;
}

}  // namespace

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const auto character = first_of(text);
    if (!character) {
      return false;
    }
    text.remove_prefix(character->size);
  }
  return true;
}

void append_utf8(std::string& text, std::uint32_t character) {
  const auto tail = [&](unsigned shift) {
    text += static_cast<char>(0x80U | (character >> shift & 0x3fU));
  };
  if (character < end_of_ascii) {
    text += static_cast<char>(character);
  } else if (character < 0x800) {
    text += static_cast<char>(0xc0U | character >> 6U);
    tail(0);
  } else if (character < 0x10000) {
    text += static_cast<char>(0xe0U | character >> 12U);
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xf0U | character >> 18U);
    tail(12);
    tail(6);
    tail(0);
  }
}

std::string utf8_from_latin1(std::string_view text) {
  std::string utf8;
  utf8.reserve(text.size());
  for (const char byte : text) {
    append_utf8(utf8, code_of(byte));
  }
  return utf8;
}

std::optional<std::string> latin1_from_utf8(std::string_view text) {
  std::string latin1;
  latin1.reserve(text.size());
  while (!text.empty()) {
    const auto character = first_of(text);
    if (!character || character->code >= end_of_latin1) {
      return std::nullopt;
    }
    latin1 += static_cast<char>(character->code);
    text.remove_prefix(character->size);
  }
  return latin1;
}

}  // namespace lastref::array
