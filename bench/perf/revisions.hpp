// Revisions: the benchmarks of other commits of this checkout, built in a worktree of their own.
//
// One worktree for all of them, so that of the next commit only what differs is built.
#pragma once

#include <filesystem>
#include <string>

#include <tl/expected.hpp>

namespace lastref::perf {

class Revisions {
 public:
  /// Works in `folder`, which it makes; says what it does on standard error.
  Revisions(std::filesystem::path checkout, std::filesystem::path folder)
      : checkout_(std::move(checkout)), folder_(std::move(folder)) {}

  /// Builds lastref_bench of the commit: its path, or in a sentence why there is none.
  tl::expected<std::filesystem::path, std::string> build(const std::string& hash) const;

  std::filesystem::path tree() const { return worktree() / "build/ci"; }

 private:
  std::filesystem::path worktree() const { return folder_ / "revision"; }
  std::filesystem::path log() const { return folder_ / "revision.log"; }

  std::filesystem::path checkout_;
  std::filesystem::path folder_;
};

}  // namespace lastref::perf
