// Revisions: the benchmarks of other commits of this checkout, built in a worktree of their own.
//
// One worktree for all of them, so that of the next commit only what differs is built; and so one
// process alone, from the checkout of a commit until the last run of what was built of it.
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
  /// Works in `folder`, which it makes, and nobody else until it goes; `tell` is told if another
  /// one is at work there and has to be waited for. Or in a sentence why it cannot.
  static tl::expected<Revisions, std::string> alone_in(
      std::filesystem::path checkout,
      std::filesystem::path folder,
      const std::function<void(const std::string&)>& tell);

  /// Builds lastref_bench of the commit: its path, or in a sentence why there is none.
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
