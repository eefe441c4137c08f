// git: runs git on the repository around a folder, and on no other.
//
// A common mistake: git passes the repository to its hooks in variables, GIT_DIR among them. Then
// git works on that repository in any child, whatever folder the child runs in. So neither git nor
// a build that may run it gets these variables.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "bench/perf/measured_process.hpp"

namespace lastref::perf {

/// The variables in which git passes a repository, or parts of it.
/// Source  git rev-parse --local-env-vars, without those of configuration, which git leaves to
///         children in other repositories, too: submodule.c, prepare_submodule_repo_env.
std::vector<std::string> variables_of_git();

/// The output of git in the folder, without trailing newlines. An empty folder is the current one.
/// The child inherits `kept_open`.
tl::expected<std::string, FailedProcess> git_in(const std::filesystem::path& folder,
                                                std::vector<std::string> words,
                                                int kept_open = -1);

}  // namespace lastref::perf
