// Names: suggestions for an unknown name.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lastref::harness {

/// At most three of `names` that differ by a few mistakes, or contain `wanted`; the nearest first.
std::vector<std::string> nearest(std::string_view wanted, std::span<const std::string> names);

/// "; did you mean a, b or c?", or nothing.
std::string suggestion(std::string_view wanted, std::span<const std::string> names);

}  // namespace lastref::harness
