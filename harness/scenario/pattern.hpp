// Patterns, by which many are picked by their names.
#pragma once

#include <string>
#include <string_view>

namespace lastref::harness {

/// Whether `name` is what `pattern` says: '*' is any text, '?' any one byte, all else itself, and
/// what stands behind a '\', too.
bool matches(std::string_view pattern, std::string_view name) noexcept;

/// Whether it stands for one name alone.
bool is_one_name(std::string_view pattern) noexcept;

/// One that fits this name, on one line.
std::string pattern_of(std::string_view name);

}  // namespace lastref::harness
