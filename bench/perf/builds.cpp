#include "bench/perf/builds.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <fstream>
#include <functional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/perf/git.hpp"
#include "bench/perf/process.hpp"
#include "bench/perf/record.hpp"

namespace lastref::perf {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::seconds patience_for_builds{7200};
constexpr std::size_t letters_of_a_commit = 12;
constexpr std::size_t worktrees_kept = 8;
constexpr const char* stamp_suffix = ".built";
constexpr const char* log_suffix = ".log";

FoundSide find_revision(const std::string& word) {
  const auto commit = hash_of({}, word);
  if (!commit) {
    give_up("{} is no file, no folder and no git revision", word);
  }
  const std::string repository = git_in({}, {"rev-parse", "--show-toplevel"});
  const std::string shorter = commit->substr(0, letters_of_a_commit);
  return {.kind = SideKind::revision,
          .name = word == shorter ? word : fmt::format("{} ({})", word, shorter),
          .folder = fs::path(repository) / "build/perf" / shorter};
}

/// Adds a worktree to the repository of `checkout`, if it is not there.
void make_worktree(const fs::path& checkout,
                   const fs::path& folder,
                   const std::string& commit,
                   const FileLock& lock) {
  std::error_code error;
  if (!fs::exists(folder / ".git", error)) {
    // --force, because a worktree that was removed by hand is still in git's list. Nothing is
    // pruned: folders of other worktrees that are missing now may come back.
    git_in(checkout,
           {"worktree", "add", "--force", "--detach", "--quiet", folder.string(), commit},
           lock.descriptor());
  }
}

/// Runs a command of the shell. The children of the build inherit the lock. See build_side.
ProcessTimes run_build(const fs::path& folder,
                       const std::string& command,
                       const fs::path& log,
                       const FileLock& lock) {
  return run_measured({.words = {"sh", "-c", command},
                       .folder = folder,
                       .without = variables_of_git(),
                       .kept_open = lock.descriptor(),
                       .log = log,
                       .patience = patience_for_builds});
}

/// The text after `start` in the first line that begins with it, up to `end`.
std::string after(const fs::path& path, std::string_view start, char end) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(start)) {
      const std::string rest = line.substr(start.size());
      return rest.substr(0, rest.find(end));
    }
  }
  return {};
}

std::string joined(const std::string& one, const std::string& other) {
  return one + (one.empty() || other.empty() ? "" : " ") + other;
}

/// Keeps the most recently used worktrees and removes older ones that are unused and unchanged. No
/// process can begin to use one meanwhile, because that needs the lock on all, which we have.
void remove_what_is_old(const fs::path& root) {
  std::vector<std::pair<fs::file_time_type, fs::path>> stamps;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root, error)) {
    if (entry.path().extension() == stamp_suffix) {
      stamps.emplace_back(entry.last_write_time(error), entry.path());
    }
  }
  std::ranges::sort(stamps, std::ranges::greater());
  for (std::size_t at = worktrees_kept; at < stamps.size(); ++at) {
    const fs::path& stamp = stamps[at].second;
    const FileLock use(stamp);
    const fs::path folder = fs::path(stamp).replace_extension();
    const auto is_gone = [&] {
      return !fs::exists(folder, error) || ask_git({}, {"worktree", "remove", folder.string()});
    };
    if (use.take_alone() && is_gone()) {
      fs::remove(fs::path(folder) += log_suffix, error);
      fs::remove(stamp, error);
    }
  }
}

}  // namespace

// Uses the flags of ordinary builds, so that ccache finds what was compiled before.
std::string default_build() {
  return fmt::format(
      "for linker in mold lld gold bfd; do command -v ld.$linker >/dev/null && break; done; "
      "cmake --preset ci -DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=$linker && "
      "ninja -C build/ci -j{} lastref_bench lastref_program",
      std::max(this_machine().cores, 1U));
}

std::optional<fs::path> program_in(const fs::path& folder, const SideOptions& options) {
  const std::array<fs::path, 4> places = {
      options.program,
      "bin/lastref_bench",
      "build/ci/bin/lastref_bench",
      "build/ci/bench/lastref_bench",  // of commits before it was in bin
  };
  for (const fs::path& place : places) {
    std::error_code error;
    if (!place.empty() && fs::is_regular_file(folder / place, error)) {
      return fs::absolute(folder / place);
    }
  }
  return std::nullopt;
}

FoundSide find_side(const std::string& word, const SideOptions& options) {
  std::error_code error;
  const fs::path path = word;
  if (fs::is_directory(path, error)) {
    return {.name = word,
            .folder = fs::absolute(path).lexically_normal(),
            .program = program_in(path, options).value_or("")};
  }
  if (fs::exists(path, error)) {
    const bool is_program = ::access(path.c_str(), X_OK) == 0;
    return {.kind = is_program ? SideKind::program : SideKind::file,
            .name = word,
            .program = fs::absolute(path)};
  }
  return find_revision(word);
}

void build_side(FoundSide& side, const SideOptions& options) {
  if (side.kind != SideKind::revision) {
    return;
  }
  const std::string build = options.build.empty() ? default_build() : options.build;
  const fs::path root = side.folder.parent_path();
  const fs::path stamp = fs::path(side.folder) += stamp_suffix;
  const fs::path log = fs::path(side.folder) += log_suffix;
  std::error_code error;
  fs::create_directories(root, error);
  const FileLock lock(root / "lock");
  lock.wait_alone("another build in " + root.string());
  side.use = std::make_shared<const FileLock>(stamp);
  side.use->wait_shared();
  fs::last_write_time(stamp, fs::file_time_type::clock::now(), error);
  remove_what_is_old(root);
  if (fs::exists(side.folder / ".git", error) && text_of(stamp) == build) {
    return;
  }
  // Does not wait: the process that measures there may need the lock that we have.
  if (!side.use->take_alone()) {
    give_up("{} is in use, as another command has built it", side.folder.string());
  }
  make_worktree({}, side.folder, side.folder.filename(), lock);
  // From here on the folder has a partial build. The empty stamp keeps others from using it as the
  // previous build.
  fs::resize_file(stamp, 0);
  say(fmt::format("building {}; {} shows the progress", side.name, log.string()));
  try {
    const ProcessTimes times = run_build(side.folder, build, log, lock);
    say(fmt::format("built {} in {:.0f} s", side.name, times.wall_seconds));
  } catch (const FailedProcess& failed) {
    give_up("{} cannot be built: {}; see {}", side.name, failed.what(), log.string());
  }
  std::ofstream(stamp, std::ios::binary | std::ios::trunc) << build;
  side.use->wait_shared();
}

Revisions::Revisions(fs::path checkout)
    : checkout_(std::move(checkout)), folder_(checkout_ / "build/perf") {
  std::error_code error;
  fs::create_directories(folder_, error);
  lock_.emplace(folder_ / "revision.lock");
  lock_->wait_alone("another record in " + worktree().string());
}

fs::path Revisions::build(const std::string& hash) const {
  make_worktree(checkout_, worktree(), hash, *lock_);
  git_in(worktree(), {"checkout", "--force", "--detach", hash}, lock_->descriptor());
  std::error_code error;
  if (!fs::exists(worktree() / "bench/CMakeLists.txt", error)) {
    give_up("it has no benchmarks");
  }
  const fs::path log = folder_ / "revision.log";
  try {
    run_build(worktree(), default_build(), log, *lock_);
  } catch (const FailedProcess&) {
    give_up("it does not build; see {}", log.string());
  }
  const auto program = program_in(worktree(), {});
  if (!program) {
    give_up("it has built its benchmarks somewhere else");
  }
  return *program;
}

Built built_in(const fs::path& tree) {
  const fs::path cache = tree / "CMakeCache.txt";
  std::string type = after(cache, "CMAKE_BUILD_TYPE:STRING=", '\n');
  std::ranges::transform(type, type.begin(), [](unsigned char letter) {
    return static_cast<char>(std::toupper(letter));
  });
  Built built;
  built.flags = joined(after(cache, "CMAKE_CXX_FLAGS:STRING=", '\n'),
                       after(cache, "CMAKE_CXX_FLAGS_" + type + ":STRING=", '\n'));
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(tree / "CMakeFiles", error)) {
    const fs::path noted = entry.path() / "CMakeCXXCompiler.cmake";
    if (fs::exists(noted, error)) {
      built.compiler = joined(after(noted, "set(CMAKE_CXX_COMPILER_ID \"", '"'),
                              after(noted, "set(CMAKE_CXX_COMPILER_VERSION \"", '"'));
    }
  }
  return built;
}

bool is_up_to_date(const fs::path& tree) {
  try {
    return output_of(
               {.words = {"ninja", "-C", tree.string(), "-n", "lastref_program", "lastref_bench"}})
               .find("no work to do") != std::string::npos;
  } catch (const FailedProcess&) {
    return false;
  }
}

}  // namespace lastref::perf
