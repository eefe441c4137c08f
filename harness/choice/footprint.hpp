// Footprint: the objects that a step accesses. The order of two steps matters only if one accesses
// an object in a way that conflicts with the access of the other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lastref::harness {

/// Accesses of the same kind commute, except writes. For example, a listing of a folder reads the
/// set of its entries, and a call that makes or removes one of them adds to what changes the set.
enum class Access : std::uint8_t { read, add, write };

constexpr bool conflict(Access one, Access other) noexcept {
  return one != other || one == Access::write;
}

struct ObjectAccess {
  std::uint64_t object = 0;  ///< A number that the object has in all runs that begin alike
  Access access = Access::read;

  bool operator==(const ObjectAccess&) const = default;
};

/// Sorted by object; each object once.
using Footprint = std::vector<ObjectAccess>;

/// Both are sorted like a Footprint.
bool conflict(std::span<const ObjectAccess> one, std::span<const ObjectAccess> other) noexcept;

}  // namespace lastref::harness
