// files_there: what is in the files of a run, for who looks at them from outside.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/oracle/file_look.hpp"

namespace lastref::harness {

/// Adds every regular file below the folder that may be published, in order of folders and names.
/// Not for who holds record locks there: to close a file drops them. What cannot be read is left
/// out: somebody has removed it, or forbidden it.
void read_files_below(const std::string& folder, std::size_t moment, std::vector<FileLook>& into);

}  // namespace lastref::harness
