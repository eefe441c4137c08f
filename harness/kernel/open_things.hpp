// open_things: what a process has open and mapped, as the kernel has it in /proc, whatever anybody
// keeps count of.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lastref::harness {

/// The descriptors of this process between the standard ones and the harness's own, and its maps of
/// files on shared memory. Called below every interceptor, by a process about itself.
class OpenThings {
 public:
  /// As it is. Nothing where limits or privileges forbid to look.
  static OpenThings look();

  /// What is there and was not there before: "socket", "pipe", the object of a path; "map:" and the
  /// object for maps.
  std::vector<std::string> more_than(const OpenThings& before) const;

 private:
  std::vector<std::string> descriptors_;       ///< Sorted: a number, and what it leads to.
  std::map<std::string, std::uint64_t> maps_;  ///< bytes of each path
};

}  // namespace lastref::harness
