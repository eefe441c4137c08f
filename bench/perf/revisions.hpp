// Revisions: builds the benchmarks of other commits of this checkout in a separate worktree.
//
// All commits share one worktree, so that only the differences of the next commit are built. So
// only one process uses it, from the checkout of a commit until the last run of its build.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include <tl/expected.hpp>

namespace lastref::perf {

class FileLock;

class Revisions {
 public:
  /// Creates `folder` and locks it until the object is destroyed. Calls `tell` if it has to wait
  /// for another process there. An error is a sentence that gives the reason.
  static tl::expected<Revisions, std::string> alone_in(
      std::filesystem::path checkout,
      std::filesystem::path folder,
      const std::function<void(const std::string&)>& tell);

  /// Builds lastref_bench of the commit. Returns its path, or a sentence why there is none.
  tl::expected<std::filesystem::path, std::string> build(const std::string& hash) const;

  std::filesystem::path tree() const { return worktree() / "build/ci"; }

 private:
  Revisions(std::filesystem::path checkout, std::filesystem::path folder)
      : checkout_(std::move(checkout)), folder_(std::move(folder)) {}

  std::filesystem::path worktree() const { return folder_ / "revision"; }
  std::filesystem::path log() const { return folder_ / "revision.log"; }

  std::filesystem::path checkout_;
  std::filesystem::path folder_;
  std::shared_ptr<const FileLock> lock_;
};

}  // namespace lastref::perf
