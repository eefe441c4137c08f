// Machine: the properties of a machine that affect how long things take.
#pragma once

#include <string>

namespace lastref::perf {

struct Machine {
  std::string processor;
  unsigned cores = 0;  ///< that this program may use
  std::string kernel;
  std::string governor;  ///< of the clock rate; empty: unknown
  bool is_virtual = false;
  double load = 0;  ///< tasks that ran or were ready, averaged over the last minute

  bool operator==(const Machine&) const = default;
};

/// As /proc, /sys and uname(2) report it; unknown values stay empty.
Machine this_machine();

/// One line, without the load.
std::string name_of(const Machine& machine);

}  // namespace lastref::perf
