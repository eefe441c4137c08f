// file_snapshot: the contents of a run's files, as seen from outside.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/oracle/file_look.hpp"

namespace lastref::harness {

/// Adds every regular file below the folder that may be published, in order of folders and names. A
/// holder of record locks there must not call it: closing a file drops them. A file that cannot be
/// read is left out: a process has removed it, or made it inaccessible.
void read_files_below(const std::string& folder, std::size_t moment, std::vector<FileLook>& into);

}  // namespace lastref::harness
