// exit_hooks_test: the list that implements Os::at_exit.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lastref/kernel_os.hpp>

#include "impl/os/kernel_os_exit.hpp"

namespace lastref::os {
namespace {

constexpr std::uint64_t here = 7;
constexpr std::uint64_t elsewhere = 8;

using Words = std::vector<std::string>;

class ExitHooksTest : public testing::Test {
 protected:
  std::unique_ptr<ExitHook> say(const std::string& text, std::uint64_t process = here) {
    return hooks_.add(process, [this, text] { said_.push_back(text); });
  }

  ExitHooks hooks_;
  Words said_;
};

TEST_F(ExitHooksTest, the_last_registered_runs_first_and_each_runs_once) {
  const auto first = say("first");
  const auto second = say("second");
  const auto third = say("third");
  hooks_.run(here);
  EXPECT_EQ(said_, (Words{"third", "second", "first"}));
  hooks_.run(here);
  EXPECT_EQ(said_.size(), 3U);
}

TEST_F(ExitHooksTest, what_was_taken_back_does_not_run) {
  const auto first = say("first");
  auto second = say("second");
  const auto third = say("third");
  second.reset();
  hooks_.run(here);
  EXPECT_EQ(said_, (Words{"third", "first"}));
}

TEST_F(ExitHooksTest, what_an_action_registers_comes_next) {
  const auto first = say("first");
  std::unique_ptr<ExitHook> late;
  const auto second = hooks_.add(here, [&] {
    said_.emplace_back("second");
    late = say("late");
  });
  hooks_.run(here);
  EXPECT_EQ(said_, (Words{"second", "late", "first"}));
}

TEST_F(ExitHooksTest, an_action_takes_back_another_or_itself) {
  auto first = say("first");
  auto second = say("second");
  std::unique_ptr<ExitHook> third;
  third = hooks_.add(here, [this, &second, &third, text = std::string("third")] {
    second.reset();
    third.reset();
    said_.push_back(text);
  });
  hooks_.run(here);
  EXPECT_EQ(said_, (Words{"third", "first"}));
}

TEST_F(ExitHooksTest, what_an_action_has_goes_when_it_has_run_or_is_taken_back) {
  const auto shared = std::make_shared<int>();
  const auto ran = hooks_.add(here, [shared] {});
  auto taken_back = hooks_.add(elsewhere, [shared] {});
  EXPECT_EQ(shared.use_count(), 3);
  hooks_.run(here);
  EXPECT_EQ(shared.use_count(), 2);
  taken_back.reset();
  EXPECT_EQ(shared.use_count(), 1);
}

TEST_F(ExitHooksTest, what_another_process_registered_stays) {
  const auto parents = say("parent's", elsewhere);
  const auto own = say("own");
  const auto again = say("parent's last", elsewhere);
  hooks_.run(here);
  EXPECT_EQ(said_, Words{"own"});
  hooks_.run(elsewhere);
  EXPECT_EQ(said_, (Words{"own", "parent's last", "parent's"}));
}

TEST_F(ExitHooksTest, a_list_that_goes_destroys_no_action) {
  const auto shared = std::make_shared<int>();
  std::optional<ExitHooks> list;
  list.emplace();
  // Its owner was killed: the hook is not destroyed before the list.
  auto hook = list->add(here, [shared] {});
  // Lost, but still reachable for leak checkers.
  static const ExitHook* lost = nullptr;
  lost = hook.release();
  list.reset();
  EXPECT_EQ(shared.use_count(), 2);
  EXPECT_NE(lost, nullptr);
}

/// The bytes of a stream are written after all actions of exit(3) have run: fclose of all open
/// streams comes last. exit(3).
ssize_t register_late(void* os, const char*, std::size_t size) {
  const auto hook = static_cast<Os*>(os)->at_exit([] {});
  return static_cast<ssize_t>(size);
}

[[noreturn]] void exit_and_register_late() {
  static auto& os = *std::make_unique<KernelOs>().release();
  const auto early = os.at_exit([] {});
  std::FILE* const stream = ::fopencookie(
      &os, "w", {.read = nullptr, .write = register_late, .seek = nullptr, .close = nullptr});
  std::fputs("x", stream);
  std::exit(7);
}

TEST(ExitHooksOfAProgram, that_come_too_late_leave_it_its_exit_code_E9) {
  EXPECT_EXIT(exit_and_register_late(), testing::ExitedWithCode(7), "^$");
}

}  // namespace
}  // namespace lastref::os
