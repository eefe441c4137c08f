// Counts: how many faults were planned, and how many of them were injected.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "harness/scenario/fault.hpp"

namespace lastref::harness {

/// Planned, and injected.
struct Count {
  std::size_t total = 0;
  std::size_t executed = 0;

  void add(const Count& other) noexcept;
  bool operator==(const Count&) const = default;
};

/// The column of a fault: its kind, "kill_whole_tree", or that of a failing allocation.
std::string_view column_of(const Fault& fault) noexcept;

/// Sums over matrices.
struct MatrixCount {
  Count all;
  std::map<std::string, Count, std::less<>> by_role;
  std::map<std::string, Count, std::less<>> by_fault;

  void plan(const Fault& fault);
  void execute(const Fault& fault);
  void add(const MatrixCount& other);
  bool operator==(const MatrixCount&) const = default;
};

}  // namespace lastref::harness
