// board_test: the memory of an ungated run, under what happens to those who share it.
#include "harness/stress/board.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <memory>

#include <gtest/gtest.h>

#include "harness/kernel/patience.hpp"
#include "harness/warden/one_processor.hpp"

namespace lastref::harness {
namespace {

/// A copy of this process that asks the board something and ends.
class Asker {
 public:
  Asker(Board& board, int niceness) : pid_(::fork()) {
    if (pid_ == 0) {
      [[maybe_unused]] const int now = ::nice(niceness);
      board.why_left_out();
      ::_exit(0);
    }
  }
  Asker(const Asker&) = delete;
  Asker& operator=(const Asker&) = delete;
  ~Asker() { kill(); }

  /// Until it waits for something, or has ended.
  void see_at_rest() const {
    while (doing_of({{pid_}}).could_go_on) {
      ::poll(nullptr, 0, 1);
    }
  }
  void kill() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
      pid_ = 0;
    }
  }
  os::Pid pid() const noexcept { return pid_; }

 private:
  pid_t pid_;
};

/// Somebody waits for the lock behind one who is killed while it is given the lock, and who takes
/// the lock instead wakes nobody: a robust lock of the C library lets that waiter sleep for ever.
TEST(Board, is_free_for_who_waits_behind_one_who_is_killed) {
  constexpr int rounds = 5;
  constexpr int last_of_all = 19;
  Board board;
  ASSERT_TRUE(board.add_process("root"));
  warden::OneProcessor here;
  for (int round = 0; round < rounds; ++round) {
    std::unique_ptr<Asker> first;
    std::unique_ptr<Asker> second;
    board.for_each_process([&](std::uint16_t /*at*/, FreeProcess& /*each*/) {
      first = std::make_unique<Asker>(board, last_of_all);
      here.share_with(first->pid());
      first->see_at_rest();
      second = std::make_unique<Asker>(board, 0);
      here.share_with(second->pid());
      second->see_at_rest();
    });
    board.for_each_process([&](std::uint16_t /*at*/, FreeProcess& /*each*/) { first->kill(); });
    ASSERT_TRUE(outwait(second->pid())) << "in round " << round;
  }
}

}  // namespace
}  // namespace lastref::harness
