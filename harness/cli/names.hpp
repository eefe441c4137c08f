// Names: picking scenarios by pattern, and guessing what was meant by a name that is none.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lastref::harness {

/// Whether `name` is what `pattern` says: '*' is any text, '?' any one byte, all else itself.
bool matches(std::string_view pattern, std::string_view name) noexcept;

/// At most three of `names` that are few mistakes away, or hold the wanted; the nearest first.
std::vector<std::string> nearest(std::string_view wanted, std::span<const std::string> names);

/// "; did you mean a, b or c?", or nothing.
std::string suggestion(std::string_view wanted, std::span<const std::string> names);

}  // namespace lastref::harness
