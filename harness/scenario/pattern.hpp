// Patterns, which select several things by name.
#pragma once

#include <string>
#include <string_view>

namespace lastref::harness {

/// Whether `name` matches `pattern`: '*' is any text, '?' any one byte, "[a-z_]" one of these, and
/// "[!a-z_]" any other one. Any other byte matches itself, as do a '[' that no ']' closes and a
/// byte after a '\'.
bool matches(std::string_view pattern, std::string_view name) noexcept;

/// Whether the pattern matches exactly one name.
bool is_one_name(std::string_view pattern) noexcept;

/// A pattern that matches this name, on one line.
std::string pattern_of(std::string_view name);

}  // namespace lastref::harness
