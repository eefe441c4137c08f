#include "harness/scenario/pattern.hpp"

namespace lastref::harness {

namespace {

/// Whether this byte of a pattern escapes the next one, which then matches itself.
bool is_escape(std::string_view pattern, std::size_t at) noexcept {
  return at + 1 < pattern.size() && pattern[at] == '\\';
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
    } else if (is_escape(pattern, at) && pattern[at + 1] == name[from]) {
      at += 2;
      ++from;
    } else if (at < pattern.size() && !is_escape(pattern, at) &&
               (pattern[at] == '?' || pattern[at] == name[from])) {
      ++at;
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
  for (std::size_t at = 0; at < pattern.size(); at += is_escape(pattern, at) ? 2U : 1U) {
    if (pattern[at] == '*' || pattern[at] == '?') {
      return false;
    }
  }
  return true;
}

std::string pattern_of(std::string_view name) {
  std::string pattern;
  for (const char byte : name) {
    const bool is_special = byte == '*' || byte == '?' || byte == '\\';
    const auto code = static_cast<unsigned char>(byte);
    pattern += is_special ? "\\" : "";
    pattern += code < ' ' || code == 0x7f ? '?' : byte;
  }
  return pattern;
}

}  // namespace lastref::harness
