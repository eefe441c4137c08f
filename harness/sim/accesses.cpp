#include "harness/sim/accesses.hpp"

#include <algorithm>

#include "harness/choice/choices.hpp"
#include "harness/platform/hash.hpp"

namespace lastref::harness::sim {
namespace {

constexpr std::uint64_t everything = ~std::uint64_t{0};
/// Positions that are not told apart: the bytes of a word.
constexpr std::uint64_t block_size = 8;
constexpr std::uint64_t blocks_max = 32;
// Details of a range, followed by its blocks.
constexpr std::uint64_t small_reads = 0;
constexpr std::uint64_t writes = 1;
constexpr std::uint64_t first_block = 2;

/// A collision only makes two steps conflict.
std::uint64_t number_of(Part part, std::uint64_t object, std::uint64_t detail) noexcept {
  std::uint64_t state = object * 0x9e3779b97f4a7c15U + static_cast<std::uint64_t>(part);
  state = next_random(state) + detail;
  return next_random(state);
}

}  // namespace

void Accesses::touch(Part part, std::uint64_t object, Access access, std::uint64_t detail) {
  if (!are_noted) {
    return;
  }
  if (is_over_) {
    noted_.clear();
    is_over_ = false;
  }
  noted_.push_back({.object = number_of(part, object, detail), .access = access});
}

void Accesses::touch(Part part, std::uint64_t object, Access access, std::string_view name) {
  if (are_noted) {
    touch(part, object, access, hash_of(name));
  }
}

// A large range is not noted by its blocks: it conflicts with all ranges of which one is written.
void Accesses::touch_range(
    Part part, std::uint64_t object, Access access, std::uint64_t begin, std::uint64_t end) {
  if (!are_noted || begin >= end) {
    return;
  }
  const std::uint64_t first = begin / block_size;
  const std::uint64_t last = (end - 1) / block_size;
  const bool is_small = last - first < blocks_max;
  if (is_small) {
    for (std::uint64_t block = first; block <= last; ++block) {
      touch(part, object, access, first_block + block);
    }
    touch(part, object, Access::add, access == Access::read ? small_reads : writes);
    return;
  }
  touch(part, object, access, writes);
  if (access != Access::read) {
    touch(part, object, access, small_reads);
  }
}

void Accesses::touch(Shared what, Access access) {
  touch(Part::shared, static_cast<std::uint64_t>(what), access);
}

void Accesses::touch_all() {
  touch(Part::shared, everything, Access::write);
}

std::span<const ObjectAccess> Accesses::end_step(std::uint64_t process) {
  touch(Part::process, process, Access::write);
  touch(Part::shared, everything, Access::read);
  std::ranges::sort(noted_, {}, &ObjectAccess::object);
  std::size_t count = 0;
  for (const ObjectAccess& each : noted_) {
    if (count == 0 || noted_[count - 1].object != each.object) {
      noted_[count++] = each;
    } else if (noted_[count - 1].access != each.access) {
      noted_[count - 1].access = Access::write;
    }
  }
  noted_.resize(count);
  is_over_ = true;
  return noted_;
}

}  // namespace lastref::harness::sim
