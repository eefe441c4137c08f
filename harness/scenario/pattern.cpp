#include "harness/scenario/pattern.hpp"

namespace lastref::harness {

bool matches(std::string_view pattern, std::string_view name) noexcept {
  std::size_t at = 0;
  std::size_t from = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resumed = 0;
  while (from < name.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      resumed = from;
    } else if (at < pattern.size() && (pattern[at] == '?' || pattern[at] == name[from])) {
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

}  // namespace lastref::harness
