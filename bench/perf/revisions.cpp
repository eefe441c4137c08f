#include "bench/perf/revisions.hpp"

#include <chrono>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/perf/file_lock.hpp"
#include "bench/perf/git.hpp"
#include "bench/perf/machine.hpp"
#include "bench/perf/measured_process.hpp"

namespace lastref::perf {

tl::expected<Revisions, std::string> Revisions::alone_in(
    std::filesystem::path checkout,
    std::filesystem::path folder,
    const std::function<void(const std::string&)>& tell) {
  Revisions revisions(std::move(checkout), std::move(folder));
  std::error_code error;
  std::filesystem::create_directories(revisions.folder_, error);
  const std::filesystem::path file = revisions.folder_ / "revision.lock";
  revisions.lock_ = std::make_shared<const FileLock>(file);
  const std::string worktree = revisions.worktree().string();
  if (!revisions.lock_->wait_alone([&] { tell("waiting for another record in " + worktree); })) {
    return tl::unexpected<std::string>("no lock on " + file.string());
  }
  return revisions;
}

tl::expected<std::filesystem::path, std::string> Revisions::build(const std::string& hash) const {
  std::error_code error;
  const auto run = [&](std::vector<std::string> words, const std::filesystem::path& in) {
    return run_measured({.words = std::move(words),
                         .folder = in,
                         .without = variables_of_git(),
                         .kept_open = lock_->descriptor(),
                         .log = log(),
                         .patience = std::chrono::hours(1)});
  };
  if (!std::filesystem::exists(worktree() / ".git", error)) {
    // --force, because a worktree that was removed by hand is still in git's list. Nothing is
    // pruned: folders of other worktrees that are missing now may come back.
    const auto made = run(
        {"git", "worktree", "add", "--force", "--detach", worktree().string(), hash}, checkout_);
    if (!made) {
      return tl::unexpected<std::string>("no worktree: " + describe(made.error()));
    }
  }
  if (const auto done = run({"git", "checkout", "--force", "--detach", hash}, worktree()); !done) {
    return tl::unexpected<std::string>("cannot be checked out: " + describe(done.error()));
  }
  if (!std::filesystem::exists(worktree() / "bench/CMakeLists.txt", error)) {
    return tl::unexpected<std::string>("has no benchmarks");
  }
  if (!std::filesystem::exists(tree() / "build.ninja", error)) {
    if (const auto done = run({"cmake", "--preset", "ci"}, worktree()); !done) {
      std::filesystem::remove(tree() / "CMakeCache.txt", error);
      return tl::unexpected<std::string>(
          fmt::format("cannot be configured; see {}", log().string()));
    }
  }
  // Many benchmarks start lastref_program, which has to be in their folder.
  const auto built = run({"ninja",
                          "-j",
                          fmt::format("{}", this_machine().cores),
                          "-C",
                          tree().string(),
                          "lastref_program",
                          "lastref_bench"},
                         worktree());
  if (!built) {
    return tl::unexpected<std::string>(fmt::format("does not build; see {}", log().string()));
  }
  // The second path is that of older commits.
  for (const char* const place : {"bin/lastref_bench", "bench/lastref_bench"}) {
    if (std::filesystem::exists(tree() / place, error)) {
      return tree() / place;
    }
  }
  return tl::unexpected<std::string>("has built its benchmarks somewhere else");
}

}  // namespace lastref::perf
