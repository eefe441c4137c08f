// ungated_lock_test: the lock of an ungated run, when processes that share it are killed.
#include <cstdint>

#include <gtest/gtest.h>

#include "harness/kernel/progress_timeout.hpp"
#include "harness/kernel/ungated_member.hpp"
#include "harness/platform/one_processor.hpp"
#include "property_tests/support/process_actions.hpp"

namespace lastref::harness {
namespace {

constexpr int sigkill = 9;

/// Starts a copy of this process that needs the lock. Returns when the copy waits.
os::Pid lock_in_copy(ControlBlock& control_block, OneProcessor& here, bool gives_way) {
  const os::Pid copy = pretend::run_in_copy([&] {
    if (gives_way) {
      pretend::give_way();
    }
    const UngatedLock held(control_block);
    return 0;
  });
  here.share_with(copy);
  pretend::until([&] { return !doing_of({{copy}}).could_go_on; });
  return copy;
}

/// A process waits for the lock after one that is killed while the lock is passed to it. The
/// process that takes the lock instead wakes no waiter: with a robust lock of the C library the
/// first would sleep indefinitely.
TEST(UngatedLock, is_free_for_a_process_that_waits_after_a_killed_one) {
  constexpr int rounds = 100;
  SharedRun run(/*is_gated=*/false);
  ControlBlock& control_block = run.control_block();
  OneProcessor here;
  for (int round = 0; round < rounds; ++round) {
    os::Pid first = 0;
    os::Pid second = 0;
    {
      const UngatedLock held(control_block);
      first = lock_in_copy(control_block, here, true);
      second = lock_in_copy(control_block, here, false);
    }
    {
      const UngatedLock held(control_block);
      pretend::send_signal(first, sigkill);
      pretend::exit_code_of(first);
    }
    ASSERT_TRUE(wait_dead(second)) << "in round " << round;
    pretend::send_signal(second, sigkill);
    pretend::exit_code_of(second);
  }
}

}  // namespace
}  // namespace lastref::harness
