// git: runs git on the repository around a folder, and on no other.
//
// A common mistake: git passes the repository to its hooks in variables, GIT_DIR among them. Then
// git works on that repository in any child, whatever folder the child runs in. So neither git nor
// a build that may run it gets these variables.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "bench/perf/record.hpp"

namespace lastref::perf {

/// The variables in which git passes a repository, or parts of it.
/// Source  git rev-parse --local-env-vars, without those of configuration, which git leaves to
///         children in other repositories, too: submodule.c, prepare_submodule_repo_env.
std::vector<std::string> variables_of_git();

/// The output of git in the folder, without trailing newlines. An empty folder is the current one.
/// The child inherits `kept_open`.
///
/// Throws          FailedProcess
std::string git_in(const std::filesystem::path& folder,
                   std::vector<std::string> words,
                   int kept_open = -1);
/// As above, but nothing if git fails.
std::optional<std::string> ask_git(const std::filesystem::path& folder,
                                   std::vector<std::string> words);

/// The full hash of a commit; nothing if there is none of this name.
std::optional<std::string> hash_of(const std::filesystem::path& checkout, const std::string& name);

/// The commit of that name, with its full hash; nothing if there is none, or no checkout.
std::optional<Commit> commit_in(const std::filesystem::path& checkout, const std::string& name);

/// The commit that is checked out. If tracked files are modified, "-modified-1a2b3c4d" follows its
/// hash, with a digest of the changes, and its time is `now`, in seconds since 1970.
std::optional<Commit> checked_out(const std::filesystem::path& checkout, std::int64_t now);

/// The hashes of the commits after `good` up to `bad`, oldest first, along first parents; nothing
/// unless `good` is an ancestor of `bad`.
std::optional<std::vector<std::string>> commits_between(const std::filesystem::path& checkout,
                                                        const std::string& good,
                                                        const std::string& bad);

/// The URL that the checkout was cloned from, if it is http or https; else empty.
std::string url_of(const std::filesystem::path& checkout);

/// The checkout that this program was built in; nothing if the program is not in a checkout.
std::optional<std::filesystem::path> own_checkout();

}  // namespace lastref::perf
