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

#include "bench/perf/files.hpp"
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

OrWhy<FoundSide> find_revision(const std::string& word) {
  const auto commit = hash_of({}, word);
  if (!commit) {
    return no(fmt::format("{} is no file, no folder and no git revision", word));
  }
  const auto repository = git_in({}, {"rev-parse", "--show-toplevel"});
  if (!repository) {
    return no(repository.error());
  }
  const std::string shorter = commit->substr(0, letters_of_a_commit);
  return FoundSide{.kind = SideKind::revision,
                   .name = word == shorter ? word : fmt::format("{} ({})", word, shorter),
                   .folder = fs::path(*repository) / "build/perf" / shorter};
}

/// Adds a worktree to the repository of `checkout`, if it is not there.
OrWhy<void> make_worktree(const fs::path& checkout,
                          const fs::path& folder,
                          const std::string& commit,
                          const FileLock& lock) {
  std::error_code error;
  if (fs::exists(folder / ".git", error)) {
    return {};
  }
  // --force, because a worktree that was removed by hand is still in git's list. Nothing is pruned:
  // folders of other worktrees that are missing now may come back.
  const auto made =
      git_in(checkout,
             {"worktree", "add", "--force", "--detach", "--quiet", folder.string(), commit},
             lock.descriptor());
  return made ? OrWhy<void>() : no("no worktree: " + made.error());
}

struct Build {
  fs::path folder;      ///< to run in
  std::string command;  ///< of the shell
  fs::path log;
};

/// The children of the build inherit the lock. See build_side.
tl::expected<ProcessTimes, FailedProcess> run_build(const Build& build, const FileLock& lock) {
  return run_measured({.words = {"sh", "-c", build.command},
                       .folder = build.folder,
                       .without = variables_of_git(),
                       .kept_open = lock.descriptor(),
                       .log = build.log,
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
void remove_what_is_old(const fs::path& beside) {
  struct Built {
    fs::file_time_type used;
    fs::path stamp;
  };
  std::vector<Built> all;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(beside, error)) {
    if (entry.path().extension() == stamp_suffix) {
      all.push_back({.used = entry.last_write_time(error), .stamp = entry.path()});
    }
  }
  std::ranges::sort(all, std::ranges::greater(), &Built::used);
  for (std::size_t at = worktrees_kept; at < all.size(); ++at) {
    const fs::path& stamp = all[at].stamp;
    const FileLock use(stamp);
    const fs::path folder = fs::path(stamp).replace_extension();
    const auto is_gone = [&] {
      return !fs::exists(folder, error) || git_in({}, {"worktree", "remove", folder.string()});
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

OrWhy<fs::path> program_in(const fs::path& folder, const SideOptions& options) {
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
  return no(fmt::format("there is no {} in {}",
                        options.program.empty() ? "bin/lastref_bench" : options.program.string(),
                        folder.string()));
}

OrWhy<FoundSide> find_side(const std::string& word, const SideOptions& options) {
  std::error_code error;
  const fs::path path = word;
  if (fs::is_directory(path, error)) {
    FoundSide side{.name = word, .folder = fs::absolute(path).lexically_normal()};
    if (const auto program = program_in(path, options)) {
      side.program = *program;
    }
    return side;
  }
  if (fs::exists(path, error)) {
    const bool is_program = ::access(path.c_str(), X_OK) == 0;
    return FoundSide{.kind = is_program ? SideKind::program : SideKind::file,
                     .name = word,
                     .program = fs::absolute(path)};
  }
  return find_revision(word);
}

OrWhy<void> build_side(FoundSide& side,
                       const SideOptions& options,
                       const std::function<void(const std::string&)>& tell) {
  if (side.kind != SideKind::revision) {
    return {};
  }
  const std::string build = options.build.empty() ? default_build() : options.build;
  const fs::path beside = side.folder.parent_path();
  const fs::path stamp = fs::path(side.folder) += stamp_suffix;
  const fs::path log = fs::path(side.folder) += log_suffix;
  std::error_code error;
  fs::create_directories(beside, error);
  const FileLock lock(beside / "lock");
  if (!lock.wait_alone([&] { tell("waiting for another build in " + beside.string()); })) {
    return no("no lock on " + beside.string());
  }
  side.use = std::make_shared<const FileLock>(stamp);
  if (!side.use->wait_shared()) {
    return no("no lock on " + stamp.string());
  }
  fs::last_write_time(stamp, fs::file_time_type::clock::now(), error);
  remove_what_is_old(beside);
  if (fs::exists(side.folder / ".git", error) && text_of(stamp) == build) {
    return {};
  }
  // Does not wait: the process that measures there may need the lock that we have.
  if (!side.use->take_alone()) {
    return no(fmt::format("{} is in use, as another command has built it", side.folder.string()));
  }
  if (auto made = make_worktree({}, side.folder, side.folder.filename(), lock); !made) {
    return made;
  }
  // From here on the folder has a partial build. The empty stamp keeps others from using it as the
  // previous build.
  fs::resize_file(stamp, 0, error);
  if (error) {
    return no(fmt::format("cannot write {}: {}", stamp.string(), error.message()));
  }
  tell(fmt::format("building {}; {} shows the progress", side.name, log.string()));
  const auto built = run_build({.folder = side.folder, .command = build, .log = log}, lock);
  if (!built) {
    return no(fmt::format(
        "{} cannot be built: {}; see {}", side.name, describe(built.error()), log.string()));
  }
  tell(fmt::format("built {} in {:.0f} s", side.name, built->wall_seconds));
  std::ofstream(stamp, std::ios::binary | std::ios::trunc) << build;
  return side.use->wait_shared() ? OrWhy<void>() : no("no lock on " + stamp.string());
}

OrWhy<Revisions> Revisions::alone_in(fs::path checkout,
                                     fs::path folder,
                                     const std::function<void(const std::string&)>& tell) {
  Revisions revisions(std::move(checkout), std::move(folder));
  std::error_code error;
  fs::create_directories(revisions.folder_, error);
  const fs::path file = revisions.folder_ / "revision.lock";
  revisions.lock_ = std::make_shared<const FileLock>(file);
  const std::string worktree = revisions.worktree().string();
  if (!revisions.lock_->wait_alone([&] { tell("waiting for another record in " + worktree); })) {
    return no("no lock on " + file.string());
  }
  return revisions;
}

OrWhy<fs::path> Revisions::build(const std::string& hash) const {
  std::error_code error;
  if (auto made = make_worktree(checkout_, worktree(), hash, *lock_); !made) {
    return no(made.error());
  }
  if (const auto done =
          git_in(worktree(), {"checkout", "--force", "--detach", hash}, lock_->descriptor());
      !done) {
    return no("cannot be checked out: " + done.error());
  }
  if (!fs::exists(worktree() / "bench/CMakeLists.txt", error)) {
    return no("has no benchmarks");
  }
  if (!run_build({.folder = worktree(), .command = default_build(), .log = log()}, *lock_)) {
    return no(fmt::format("does not build; see {}", log().string()));
  }
  return program_in(worktree(), {}).map_error([](const std::string&) {
    return std::string("has built its benchmarks somewhere else");
  });
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
  const auto said = output_of(
      {.words = {"ninja", "-C", tree.string(), "-n", "lastref_program", "lastref_bench"}});
  return said && said->find("no work to do") != std::string::npos;
}

}  // namespace lastref::perf
