// sides: resolves the arguments A and B of a comparison.
//
// A folder is a build, or a checkout with one. A file is a program if it is executable, else JSON
// of Google Benchmark. Anything else is a revision of the git repository around the working folder,
// which is built in a worktree of its own. The worktrees are in build/perf of the repository and
// are named by commit. An existing one is not built again, unless a build of it has failed since.
// The eight most recently used ones are kept, and those that are in use or have changes in git.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include <tl/expected.hpp>

namespace lastref::perf {

class FileLock;

enum class SideKind : std::uint8_t { program, file, revision };

struct SideOptions {
  /// A shell command, run in the worktree of a revision.
  std::string build = {};
  /// Where a folder has its benchmarks, in addition to the default places; empty: nowhere else.
  std::filesystem::path program = {};
};

struct FoundSide {
  SideKind kind = SideKind::program;
  std::string word;                    ///< as it was given
  std::string name;                    ///< display name; for a revision with its short commit hash
  std::filesystem::path folder = {};   ///< of a build or a worktree
  std::filesystem::path program = {};  ///< the benchmarks; or the file
  std::shared_ptr<const FileLock> use = {};  ///< Keeps the worktree from being removed.
};

/// The command with which this repository builds its benchmarks.
std::string default_build();

/// Finds a side without building it: a revision has its folder, but the folder may not exist yet.
tl::expected<FoundSide, std::string> find_side(const std::string& word, const SideOptions& options);

/// Builds a revision unless the same command has built it already, and removes worktrees that were
/// not used for long. Calls `tell` before it does something slow. Only one process builds in a
/// repository at a time. If it is killed, the next one waits for the children that it has left
/// running. Sides that are not revisions are left as they are. If the worktree is in use and was
/// built by another command, it is left as it is and an error is returned.
tl::expected<void, std::string> build_side(FoundSide& side,
                                           const SideOptions& options,
                                           const std::function<void(const std::string&)>& tell);

/// The benchmarks in the folder of a side. They exist only after the build.
tl::expected<std::filesystem::path, std::string> program_in(const std::filesystem::path& folder,
                                                            const SideOptions& options);

}  // namespace lastref::perf
