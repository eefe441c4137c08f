// sides: what the words A and B of a comparison stand for.
//
// A folder is a build, or a checkout with one; a file is a program if it may be executed, else
// Google Benchmark's JSON; anything else is a revision of the git repository around the working
// folder, which is built in a worktree of its own. Those lie in build/perf of the repository, named
// by their commits: what is there is not built again, unless a build of it failed since. The eight
// that were used last stay, with those in use and those in which git finds changes of somebody's.
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
  /// The shell's, run in the worktree of a revision.
  std::string build = {};
  /// Where a folder has its benchmarks, besides where ours has them; empty: nowhere else.
  std::filesystem::path program = {};
};

struct FoundSide {
  SideKind kind = SideKind::program;
  std::string word;                    ///< as it was given
  std::string name;                    ///< for people: of a revision, the short commit as well
  std::filesystem::path folder = {};   ///< of a build or a worktree
  std::filesystem::path program = {};  ///< the benchmarks; or the file
  std::shared_ptr<const FileLock> use = {};  ///< Nobody removes the worktree meanwhile.
};

/// How this repository builds its benchmarks.
std::string default_build();

/// Finds what there is, without building it: a revision has its folder, but it may be empty.
tl::expected<FoundSide, std::string> find_side(const std::string& word, const SideOptions& options);

/// Builds a revision, if that has not been done by the same command, and removes what nobody has
/// used for long; `tell` is told what takes long. One at a time in a repository; where that one is
/// killed, the next waits for what it has left running. Others are left as they are, and so is a
/// worktree in use that another command has built: that is an error.
tl::expected<void, std::string> build_side(FoundSide& side,
                                           const SideOptions& options,
                                           const std::function<void(const std::string&)>& tell);

/// The benchmarks in the folder of a side; only there after it was built.
tl::expected<std::filesystem::path, std::string> program_in(const std::filesystem::path& folder,
                                                            const SideOptions& options);

}  // namespace lastref::perf
