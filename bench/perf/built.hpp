// Built: with what a tree of CMake's was built.
#pragma once

#include <filesystem>
#include <string>

namespace lastref::perf {

struct Built {
  std::string compiler;  ///< "GNU 12.2.0"; empty: not known
  std::string flags;     ///< those of the tree's build type, without what a target adds to them
};

/// As CMake has noted it there; what it has not stays empty.
Built built_in(const std::filesystem::path& tree);

/// Whether what is built there is what the sources say; asks ninja. False where it cannot be asked.
bool is_up_to_date(const std::filesystem::path& tree);

}  // namespace lastref::perf
