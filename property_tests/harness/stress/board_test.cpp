// board_test: the shared memory of an ungated run, when processes that share it are killed.
#include "harness/stress/board.hpp"

#include <cstdint>

#include <gtest/gtest.h>

#include "harness/kernel/patience.hpp"
#include "harness/platform/one_processor.hpp"
#include "property_tests/support/process_actions.hpp"

namespace lastref::harness {
namespace {

constexpr int sigkill = 9;

/// Starts a copy of this process that reads the board, for which it needs the lock. Returns when
/// the copy waits.
os::Pid ask_in_copy(Board& board, OneProcessor& here, bool gives_way) {
  const os::Pid copy = pretend::run_in_copy([&] {
    if (gives_way) {
      pretend::give_way();
    }
    board.why_left_out();
    return 0;
  });
  here.share_with(copy);
  pretend::until([&] { return !doing_of({{copy}}).could_go_on; });
  return copy;
}

/// A process waits for the lock after one that is killed while the lock is passed to it. The
/// process that takes the lock instead wakes no waiter: with a robust lock of the C library the
/// first would sleep indefinitely.
TEST(Board, is_free_for_who_waits_behind_one_who_is_killed) {
  constexpr int rounds = 100;
  Board board;
  ASSERT_TRUE(board.add_process("root"));
  OneProcessor here;
  for (int round = 0; round < rounds; ++round) {
    os::Pid first = 0;
    os::Pid second = 0;
    board.for_each_process([&](std::uint16_t /*at*/, FreeProcess& /*each*/) {
      first = ask_in_copy(board, here, true);
      second = ask_in_copy(board, here, false);
    });
    board.for_each_process([&](std::uint16_t /*at*/, FreeProcess& /*each*/) {
      pretend::send_signal(first, sigkill);
      pretend::exit_code_of(first);
    });
    ASSERT_TRUE(outwait(second)) << "in round " << round;
    pretend::send_signal(second, sigkill);
    pretend::exit_code_of(second);
  }
}

}  // namespace
}  // namespace lastref::harness
