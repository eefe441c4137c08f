// Patterns, by which many are picked by their names.
#pragma once

#include <string_view>

namespace lastref::harness {

/// Whether `name` is what `pattern` says: '*' is any text, '?' any one byte, all else itself.
bool matches(std::string_view pattern, std::string_view name) noexcept;

}  // namespace lastref::harness
