// builds: the programs that are compared or recorded, and the commits that are built for that.
//
// An argument A or B of a comparison is a side. A folder is a build, or a checkout with one. A file
// is a program if it is executable, else JSON of Google Benchmark. Anything else is a revision of
// the git repository around the working folder, which is built in a worktree of its own. The
// worktrees are in build/perf of the repository and are named by commit. An existing one is not
// built again, unless a build of it has failed since. The eight most recently used ones are kept,
// and those that are in use or have changes in git.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "bench/perf/files.hpp"

namespace lastref::perf {

enum class SideKind : std::uint8_t { program, file, revision };

struct SideOptions {
  /// A shell command, run in the worktree of a revision.
  std::string build = {};
  /// Where a folder has its benchmarks, in addition to the default places; empty: nowhere else.
  std::filesystem::path program = {};
};

struct FoundSide {
  SideKind kind = SideKind::program;
  std::string name;                    ///< display name; for a revision with its short commit hash
  std::filesystem::path folder = {};   ///< of a build or a worktree
  std::filesystem::path program = {};  ///< the benchmarks; or the file
  std::shared_ptr<const FileLock> use = {};  ///< Keeps the worktree from being removed.
};

/// The command with which this repository builds its benchmarks.
std::string default_build();

/// Finds a side without building it: a revision has its folder, but the folder may not exist yet.
///
/// Throws          the word is none of these
FoundSide find_side(const std::string& word, const SideOptions& options);

/// Builds a revision unless the same command has built it already, and removes worktrees that were
/// not used for long. Only one process builds in a repository at a time. If it is killed, the next
/// one waits for the children that it has left running. Sides that are not revisions are left as
/// they are.
///
/// Throws          why it is not built; if the worktree is in use and was built by another command,
///                 it is left as it is
void build_side(FoundSide& side, const SideOptions& options);

/// The benchmarks in the folder of a side. They exist only after the build.
std::optional<std::filesystem::path> program_in(const std::filesystem::path& folder,
                                                const SideOptions& options);

/// Builds the benchmarks of other commits of a checkout. All commits share one worktree, so that
/// only the differences of the next commit are built. So only one process uses it, from the
/// checkout of a commit until the last run of its build.
class Revisions {
 public:
  /// Waits for another process with such an object.
  explicit Revisions(std::filesystem::path checkout);

  /// Builds lastref_bench of the commit, and returns its path. Throws why it cannot.
  std::filesystem::path build(const std::string& hash) const;

  std::filesystem::path tree() const { return worktree() / "build/ci"; }

 private:
  std::filesystem::path worktree() const { return folder_ / "revision"; }

  std::filesystem::path checkout_;
  std::filesystem::path folder_;
  std::optional<FileLock> lock_;
};

/// The compiler and flags that a CMake build tree uses.
struct Built {
  std::string compiler;  ///< "GNU 12.2.0"; empty: not known
  std::string flags;     ///< those of the tree's build type, without the flags of targets
};

/// Reads what CMake has recorded in the tree; a value that is not there stays empty.
Built built_in(const std::filesystem::path& tree);

/// Whether the tree is up to date with the sources, according to ninja. False if ninja cannot run.
bool is_up_to_date(const std::filesystem::path& tree);

}  // namespace lastref::perf
