#include "harness/choice/footprint.hpp"

namespace lastref::harness {

bool conflict(std::span<const ObjectAccess> one, std::span<const ObjectAccess> other) noexcept {
  while (!one.empty() && !other.empty()) {
    const std::uint64_t first = one.front().object;
    const std::uint64_t second = other.front().object;
    if (first == second && conflict(one.front().access, other.front().access)) {
      return true;
    }
    one = first <= second ? one.subspan(1) : one;
    other = second <= first ? other.subspan(1) : other;
  }
  return false;
}

}  // namespace lastref::harness
