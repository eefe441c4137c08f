#include "bench/perf/sides.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <functional>
#include <iterator>
#include <vector>

#include <fmt/format.h>

#include "bench/perf/file_lock.hpp"
#include "bench/perf/git.hpp"
#include "bench/perf/machine.hpp"
#include "bench/perf/measured_process.hpp"

namespace lastref::perf {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::seconds patience_for_builds{7200};
constexpr std::size_t letters_of_a_commit = 12;
constexpr std::size_t worktrees_kept = 8;
constexpr const char* stamp_suffix = ".built";
constexpr const char* log_suffix = ".log";

tl::unexpected<std::string> no(std::string why) {
  return tl::unexpected<std::string>(std::move(why));
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The output of git in the working folder.
tl::expected<std::string, std::string> git_says(std::vector<std::string> words) {
  return git_in({}, std::move(words)).map_error(describe);
}

tl::expected<FoundSide, std::string> find_revision(const std::string& word) {
  // Otherwise a word that begins with a dash would be an option of git.
  const auto commit =
      git_says({"rev-parse", "--verify", "--quiet", "--end-of-options", word + "^{commit}"});
  if (!commit) {
    return no(fmt::format("{} is no file, no folder and no git revision", word));
  }
  const auto repository = git_says({"rev-parse", "--show-toplevel"});
  if (!repository) {
    return no(repository.error());
  }
  const std::string shorter = commit->substr(0, letters_of_a_commit);
  return FoundSide{.kind = SideKind::revision,
                   .word = word,
                   .name = word == shorter ? word : fmt::format("{} ({})", word, shorter),
                   .folder = fs::path(*repository) / "build/perf" / shorter};
}

tl::expected<void, std::string> make_worktree(const FoundSide& side, const FileLock& lock) {
  std::error_code error;
  if (fs::exists(side.folder / ".git", error)) {
    return {};
  }
  // --force, because a worktree that was removed by hand is still in git's list. Nothing is pruned:
  // folders of other worktrees that are missing now may come back.
  const auto made = git_in({},
                           {"worktree",
                            "add",
                            "--force",
                            "--detach",
                            "--quiet",
                            side.folder.string(),
                            side.folder.filename().string()},
                           lock.descriptor());
  return made ? tl::expected<void, std::string>() : no("no worktree: " + describe(made.error()));
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
      return !fs::exists(folder, error) || git_says({"worktree", "remove", folder.string()});
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

tl::expected<fs::path, std::string> program_in(const fs::path& folder, const SideOptions& options) {
  const std::array<fs::path, 3> places = {
      options.program, "bin/lastref_bench", "build/ci/bin/lastref_bench"};
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

tl::expected<FoundSide, std::string> find_side(const std::string& word,
                                               const SideOptions& options) {
  std::error_code error;
  const fs::path path = word;
  if (fs::is_directory(path, error)) {
    FoundSide side{.word = word, .name = word, .folder = fs::absolute(path).lexically_normal()};
    if (const auto program = program_in(path, options)) {
      side.program = *program;
    }
    return side;
  }
  if (fs::exists(path, error)) {
    const bool is_program = ::access(path.c_str(), X_OK) == 0;
    return FoundSide{.kind = is_program ? SideKind::program : SideKind::file,
                     .word = word,
                     .name = word,
                     .program = fs::absolute(path)};
  }
  return find_revision(word);
}

tl::expected<void, std::string> build_side(FoundSide& side,
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
  if (auto made = make_worktree(side, lock); !made) {
    return made;
  }
  // From here on the folder has a partial build. The empty stamp keeps others from using it as the
  // previous build.
  fs::resize_file(stamp, 0, error);
  if (error) {
    return no(fmt::format("cannot write {}: {}", stamp.string(), error.message()));
  }
  tell(fmt::format("building {}; {} says how far it is", side.name, log.string()));
  const auto built = run_measured({.words = {"sh", "-c", build},
                                   .folder = side.folder,
                                   .without = variables_of_git(),
                                   .kept_open = lock.descriptor(),
                                   .log = log,
                                   .patience = patience_for_builds});
  if (!built) {
    return no(fmt::format(
        "{} cannot be built: {}; see {}", side.name, describe(built.error()), log.string()));
  }
  tell(fmt::format("built {} in {:.0f} s", side.name, built->wall_seconds));
  std::ofstream(stamp, std::ios::binary | std::ios::trunc) << build;
  return side.use->wait_shared() ? tl::expected<void, std::string>()
                                 : no("no lock on " + stamp.string());
}

}  // namespace lastref::perf
