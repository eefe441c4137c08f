// AttackFixture: the basis of every attack: a precious file of ours, and folders where a stranger
// may act.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lastref/kernel_os.hpp>

#include "property_tests/attack/other_user.hpp"
#include "property_tests/support/hooked_os.hpp"

namespace lastref::pretend {

/// Records the contents of some paths, which must be the same at the end of the test.
class AttackFixture : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  /// From now on nothing there may change.
  void guard(const std::string& path);

  /// Runs the action once, right after a call.
  void ambush(const Crossing& at, std::function<void()> action);

  /// A folder of ours with a file in it. No process may change either.
  const std::string precious = "/dev/shm/precious";
  const std::string precious_file = precious + "/letter";

  HookedOs os{{.program = "/proc/self/exe"}};

 private:
  struct Guarded {
    std::string path;
    std::string seen;
  };
  std::vector<Guarded> guarded_;
};

/// The name and the ledger of an orphaned tree of ours. The ledger was written to a file that is
/// removed again. `sweep` would obey the ledger if it were in the folder that it reads.
struct ForgedTree {
  explicit ForgedTree(os::Os& os, const std::string& victim);

  /// Made by the calling process.
  bool make_below(const std::string& runtime) const;

  std::string name = std::string(32, 'f');
  std::string ledger;
};

}  // namespace lastref::pretend
