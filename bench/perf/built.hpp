// Built: the compiler and flags that a CMake build tree uses.
#pragma once

#include <filesystem>
#include <string>

namespace lastref::perf {

struct Built {
  std::string compiler;  ///< "GNU 12.2.0"; empty: not known
  std::string flags;     ///< those of the tree's build type, without the flags of targets
};

/// Reads what CMake has recorded in the tree; a value that is not there stays empty.
Built built_in(const std::filesystem::path& tree);

/// Whether the tree is up to date with the sources, according to ninja. False if ninja cannot run.
bool is_up_to_date(const std::filesystem::path& tree);

}  // namespace lastref::perf
