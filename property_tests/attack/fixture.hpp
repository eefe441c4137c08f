// AttackFixture: what every attack has: something precious of ours, and a place for a stranger.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lastref/kernel_os.hpp>

#include "property_tests/attack/other_user.hpp"

namespace lastref::pretend {

/// The kernel, and somebody who does something once, right after a call that is about a path.
class AmbushedOs final : public os::KernelOs {
 public:
  using KernelOs::KernelOs;

  Call when = Call::none;
  std::string ambushed_path;
  std::function<void()> strike;

  Result<os::Fd> open(const os::PathAt& where, const os::OpenOptions& options) noexcept override;
  Result<os::FileStatus> status_at(const os::PathAt& where) noexcept override;
  Result<std::vector<os::FolderEntry>> read_folder(os::Fd folder) noexcept override;

 private:
  void pass(Call call, const std::string& path);
};

/// What there is at some paths, to be the same at the end of the test.
class AttackFixture : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  /// From now on nothing there may change.
  void guard(const std::string& path);

  /// A folder of ours with a file in it, and nobody may touch either.
  const std::string precious = "/dev/shm/precious";
  const std::string precious_file = precious + "/letter";

  AmbushedOs os{{.program = "/proc/self/exe"}};

 private:
  struct Guarded {
    std::string path;
    std::string seen;
  };
  std::vector<Guarded> guarded_;
};

/// A dead tree of ours, made in a runtime folder of its own and taken away again: what `sweep`
/// would obey if it were where it looks.
struct ForgedTree {
  explicit ForgedTree(os::Os& os, const std::string& victim);

  /// By whoever calls it.
  bool make_below(const std::string& runtime) const;

  std::string name = std::string(32, 'f');
  std::string ledger;
};

}  // namespace lastref::pretend
