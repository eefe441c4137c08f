// git: asks git about the repository around a folder, and about no other.
//
// What a newcomer would get wrong: git tells the hooks that it starts by variables, GIT_DIR among
// them, which repository is meant, and whatever folder a child then runs in, its git works on that
// one. So neither git nor a build that may ask it is to see them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "bench/perf/measured_process.hpp"

namespace lastref::perf {

/// Variables by which git names a repository, or what of it.
/// Source  git rev-parse --local-env-vars, without those of configuration, which git leaves to
///         children in other repositories, too: submodule.c, prepare_submodule_repo_env.
std::vector<std::string> variables_of_git();

/// What git says in the folder, without the ends of lines behind it; empty: in ours. It may keep a
/// descriptor open.
tl::expected<std::string, FailedProcess> git_in(const std::filesystem::path& folder,
                                                std::vector<std::string> words,
                                                int kept_open = -1);

}  // namespace lastref::perf
