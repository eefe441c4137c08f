// leftover_lines: names in a report. Of many names that calls of one kind made in one folder, the
// first are listed, and a pattern stands for the others.
#pragma once

#include <string>
#include <vector>

#include "harness/warden/names_ledger.hpp"

namespace lastref::harness::warden {

struct LeftoverLine {
  std::string pattern;  ///< "/tmp/a", "/tmp/d/*"
  std::string kind;     ///< "file", "file, and 49990 more"
  std::string maker;    ///< "root/openat(/tmp/a)#1", "child.*/openat"
};

/// At most ten lines and one more for each kind of call in a folder; after the first hundred lines,
/// the folders are no longer distinguished.
std::vector<LeftoverLine> lines_of(const std::vector<Leftover>& all);

}  // namespace lastref::harness::warden
