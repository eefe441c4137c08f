#include "harness/scenario/pattern.hpp"

namespace lastref::harness {
namespace {

/// Whether this byte of a pattern escapes the next one, which then matches itself.
bool is_escape(std::string_view pattern, std::size_t at) noexcept {
  return at + 1 < pattern.size() && pattern[at] == '\\';
}

/// A part of a pattern that stands for one byte.
struct Sign {
  std::size_t size = 1;
  bool is_wildcard = false;
  bool fits = false;  ///< The byte that it is compared with
};

bool is_in(char byte, char first, char last) noexcept {
  const auto code = [](char each) { return static_cast<unsigned char>(each); };
  return code(first) <= code(byte) && code(byte) <= code(last);
}

/// "[a-z_]" or "[!a-z_]". A "]" that comes first is a member. Size 0: no "]" closes it.
Sign set_at(std::string_view pattern, std::size_t at, char byte) noexcept {
  const std::size_t start = at++;
  const bool is_negated = at < pattern.size() && (pattern[at] == '!' || pattern[at] == '^');
  at += is_negated ? 1U : 0U;
  bool has_byte = false;
  const auto next_member = [&] {
    at += is_escape(pattern, at) ? 1U : 0U;
    return pattern[at++];
  };
  for (bool is_first = true; at < pattern.size(); is_first = false) {
    if (pattern[at] == ']' && !is_first) {
      return {.size = at + 1 - start, .is_wildcard = true, .fits = has_byte != is_negated};
    }
    const char first = next_member();
    const bool is_range = at + 1 < pattern.size() && pattern[at] == '-' && pattern[at + 1] != ']';
    at += is_range ? 1U : 0U;
    has_byte = is_in(byte, first, is_range ? next_member() : first) || has_byte;
  }
  return {.size = 0};
}

Sign sign_at(std::string_view pattern, std::size_t at, char byte) noexcept {
  if (is_escape(pattern, at)) {
    return {.size = 2, .fits = pattern[at + 1] == byte};
  }
  if (const Sign set = pattern[at] == '[' ? set_at(pattern, at, byte) : Sign{.size = 0};
      set.size > 0) {
    return set;
  }
  const bool is_wildcard = pattern[at] == '?';
  return {.is_wildcard = is_wildcard, .fits = is_wildcard || pattern[at] == byte};
}

}  // namespace

bool matches(std::string_view pattern, std::string_view name) noexcept {
  std::size_t at = 0;
  std::size_t from = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resumed = 0;
  while (from < name.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      resumed = from;
      continue;
    }
    const Sign sign = at < pattern.size() ? sign_at(pattern, at, name[from]) : Sign{};
    if (sign.fits) {
      at += sign.size;
      ++from;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      from = ++resumed;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

bool is_one_name(std::string_view pattern) noexcept {
  for (std::size_t at = 0; at < pattern.size();) {
    const Sign sign = sign_at(pattern, at, '\0');
    if (pattern[at] == '*' || sign.is_wildcard) {
      return false;
    }
    at += sign.size;
  }
  return true;
}

std::string pattern_of(std::string_view name) {
  std::string pattern;
  for (const char byte : name) {
    const bool is_special = byte == '*' || byte == '?' || byte == '[' || byte == '\\';
    const auto code = static_cast<unsigned char>(byte);
    pattern += is_special ? "\\" : "";
    pattern += code < ' ' || code == 0x7f ? '?' : byte;
  }
  return pattern;
}

}  // namespace lastref::harness
