// What the mode of an inode permits a simulated process to do.
#pragma once

#include <cstdint>

#include "harness/sim/sim_kernel.hpp"

namespace lastref::harness::sim {

inline constexpr std::uint32_t to_search = 1;
inline constexpr std::uint32_t to_write = 2;
inline constexpr std::uint32_t to_read = 4;

inline bool may(const SimProcess& caller, const Inode& inode, std::uint32_t access) {
  if (caller.user == 0) {
    return true;
  }
  const std::uint32_t bits = caller.user == inode.owner ? inode.mode >> 6U : inode.mode;
  return (bits & access) == access;
}

}  // namespace lastref::harness::sim
