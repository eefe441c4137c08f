// fd_inventory: what a process has open and mapped, as the kernel reports it in /proc, independent
// of the product's own accounting.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lastref::harness {

/// The descriptors of this process between the standard ones and the harness's own, and its maps of
/// files on shared memory. A process calls it about itself, below every interceptor.
class FdInventory {
 public:
  /// The present state. Empty if limits or privileges prevent reading it.
  static FdInventory look();

  /// What exists and did not exist before: "socket", "pipe", the object of a path; "map:" and the
  /// object for maps.
  std::vector<std::string> more_than(const FdInventory& before) const;

 private:
  std::vector<std::string> descriptors_;       ///< Sorted: a number, and what it refers to.
  std::map<std::string, std::uint64_t> maps_;  ///< bytes of each path
};

}  // namespace lastref::harness
