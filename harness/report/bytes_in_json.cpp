#include "harness/report/bytes_in_json.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lastref::harness {
namespace {

using Json = nlohmann::ordered_json;

void replace_texts(Json& json, std::string (*replaced)(std::string_view)) {
  if (json.is_string()) {
    json = replaced(json.get_ref<const std::string&>());
  } else if (json.is_structured()) {
    std::ranges::for_each(json, [&](Json& each) { replace_texts(each, replaced); });
  }
}

}  // namespace

std::size_t size_of_character(std::string_view text) noexcept {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char first = text.empty() ? 0xffU : byte(0);
  if (first < 0x80) {
    return 1;
  }
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) {
    return 0;
  }
  std::uint32_t code = first & (0xffU >> (size + 1));
  for (std::size_t at = 1; at < size; ++at) {
    if ((byte(at) & 0xc0U) != 0x80U) {
      return 0;
    }
    code = code << 6U | (byte(at) & 0x3fU);
  }
  const bool overlong = (size == 3 && code < 0x800) || (size == 4 && code < 0x10000);
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  const bool no_character = code == 0xfffe || code == 0xffff || code > 0x10ffff;
  return overlong || surrogate || no_character ? 0 : size;
}

std::string text_of_bytes(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const std::size_t size = bytes.front() == '\0' ? 0 : size_of_character(bytes);
    if (size == 0) {
      text += '\0';
      text += fmt::format("{:02x}", static_cast<unsigned char>(bytes.front()));
    } else {
      text += bytes.substr(0, size);
    }
    bytes.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return text;
}

std::string bytes_of_text(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    const std::string_view digits = text.substr(1, 2);
    std::uint8_t byte = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    const bool is_byte = text.front() == '\0' && digits.size() == 2 && error == std::errc{} &&
                         end == digits.data() + digits.size();
    bytes += is_byte ? static_cast<char>(byte) : text.front();
    text.remove_prefix(is_byte ? 3 : 1);
  }
  return bytes;
}

void write_bytes_as_text(Json& json) {
  replace_texts(json, text_of_bytes);
}

void read_text_as_bytes(Json& json) {
  replace_texts(json, bytes_of_text);
}

}  // namespace lastref::harness
