#include "bench/perf/profile/shares.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace lastref::perf {
namespace {

constexpr std::uint64_t ms = 1'000'000;  // ns

TEST(InKernel, is_told_by_the_names_on_the_stack) {
  struct Row {
    const char* claim;
    std::vector<std::string_view> names;
    Spent spent;
    const char* call = "";
  };
  const Row rows[] = {
      {"a call has its name",
       {"shmem_get_folio", "vfs_write", "ksys_pwrite64", "do_syscall_64", ""},
       Spent::system_calls,
       "pwrite64"},
      {"a call whose name is not known is one", {"fput", "do_syscall_64"}, Spent::system_calls},
      {"a call of another kind", {"", "do_int80_emulation"}, Spent::system_calls},
      {"a copy is told from its call",
       {"rep_movs_alternative", "__x64_sys_write", "do_syscall_64"},
       Spent::copies,
       "write"},
      {"a copy", {"copy_folio_from_iter_atomic", "generic_perform_write"}, Spent::copies},
      {"what is cleared for a fault is of the fault",
       {"clear_page_erms", "shmem_fault", "exc_page_fault"},
       Spent::page_faults},
      {"a fault within a call is a fault",
       {"handle_mm_fault", "exc_page_fault", "_copy_to_iter", "__x64_sys_read"},
       Spent::page_faults,
       "read"},
      {"what no call asked for is an interrupt",
       {"tick_nohz_handler", "sysvec_apic_timer_interrupt"},
       Spent::interrupts},
      {"one name is enough", {"", "sysvec_apic_timer_interrupt"}, Spent::interrupts},
      {"without a stack nothing is known", {}, Spent::in_kernel},
      {"without names nothing is known", {"", ""}, Spent::in_kernel}};
  for (const auto& [claim, names, spent, call] : rows) {
    const InKernel what = in_kernel(names);
    EXPECT_EQ(what.spent, spent) << claim;
    EXPECT_EQ(what.call, call) << claim;
  }
}

class AccountTest : public testing::Test {
 protected:
  AccountTest() {
    account.take({.process = 7, .thread = 7, .what = Named{.name = "a", .is_new_program = true}});
  }

  Account account{Symbols()};
};

TEST_F(AccountTest, adds_up_turns_of_each_processor_by_their_times) {
  // Another processor reports it later: the thread waits from 10 to 30 ms, and is runnable from 50
  // ms on.
  account.take({.process = 7, .thread = 7, .at = 50 * ms, .what = Turn{.could_go_on = true}});
  account.take({.process = 7, .thread = 7, .at = 10 * ms, .what = Turn{}});
  account.take({.process = 7, .thread = 7, .at = 30 * ms, .what = Turn{.comes = true}});
  account.take({.process = 7, .thread = 7, .at = 55 * ms, .what = Turn{.comes = true}});
  const auto all = account.shares();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].name, "a");
  EXPECT_DOUBLE_EQ(all[0].runs, 0.030);
  EXPECT_DOUBLE_EQ(all[0].waits, 0.020);
  EXPECT_DOUBLE_EQ(all[0].ready, 0.005);
  EXPECT_EQ(all[0].wake_ups, 1U);
}

TEST_F(AccountTest, a_thread_runs_until_it_ends_and_what_has_its_number_then_is_another_one) {
  account.take({.thread = 7, .at = 3 * ms, .what = Ended{}});
  account.take({.process = 7, .thread = 7, .at = 8 * ms, .what = Turn{.comes = true}});
  const auto all = account.shares();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_DOUBLE_EQ(all[0].runs, 0.003);
  EXPECT_DOUBLE_EQ(all[0].ready, 0);
  EXPECT_DOUBLE_EQ(all[0].waits, 0);
}

TEST_F(AccountTest, a_child_has_the_name_and_the_files_of_its_parent) {
  account.take({.process = 8, .thread = 8, .at = ms, .what = Begun{.parent = 7}});
  account.take({.process = 8, .thread = 8, .at = 3 * ms, .what = Turn{.comes = true}});
  const auto all = account.shares();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].name, "a");
  EXPECT_DOUBLE_EQ(all[1].ready, 0.002);
}

TEST_F(AccountTest, a_thread_is_of_its_process) {
  account.take({.process = 7, .thread = 9, .at = ms, .what = Begun{.parent = 7}});
  account.take({.process = 7, .thread = 9, .at = ms, .what = Named{.name = "its thread"}});
  account.take({.process = 7, .thread = 9, .at = 2 * ms, .what = Turn{.comes = true}});
  const auto all = account.shares();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].name, "a");
}

TEST(Account, ticks_go_to_what_ran) {
  Symbols kernel;
  kernel.add(0x1000, 0, "__x64_sys_read");
  kernel.add(0x2000, 0, "_copy_to_iter");
  kernel.sort();
  Account account(std::move(kernel));
  account.take(
      {.process = 7, .what = Tick{.address = 0x2010, .in_kernel = true, .callers = {0x1004}}});
  account.take({.process = 7, .what = Tick{.address = 0x1004, .in_kernel = true, .callers = {}}});
  account.take({.process = 7, .what = Tick{.address = 0x77, .in_kernel = false, .callers = {}}});
  const auto all = account.shares();
  ASSERT_EQ(all.size(), 1U);
  for (const Spent spent : {Spent::copies, Spent::system_calls, Spent::own}) {
    EXPECT_EQ(all[0].spent[static_cast<std::size_t>(spent)], 1U) << name_of(spent);
  }
  EXPECT_EQ(all[0].calls.at("read"), 2U);
  EXPECT_EQ(all[0].functions.at("?"), 1U);
}

TEST(SymbolsTest, an_address_belongs_to_what_begins_before_it) {
  Symbols symbols;
  symbols.add(200, 10, "second");
  symbols.add(100, 0, "first");
  symbols.sort();
  EXPECT_EQ(symbols.at(99), "");
  EXPECT_EQ(symbols.at(100), "first");
  EXPECT_EQ(symbols.at(199), "first");
  EXPECT_EQ(symbols.at(209), "second");
  EXPECT_EQ(symbols.at(210), "");
}

TEST(SymbolsTest, only_a_program_has_some) {
  EXPECT_TRUE(symbols_of_file("/proc/self/status").empty());
  EXPECT_TRUE(symbols_of_file("no/such/file").empty());
  EXPECT_FALSE(symbols_of_file("/proc/self/exe").empty());
}

class PerfEventsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto how = run_under_perf_events({"true"}, 99, [](const PerfRecord&) {}); !how) {
      GTEST_SKIP() << describe(how.error());
    }
  }

  std::vector<ProcessShares> shares_of(const std::vector<std::string>& command) {
    EXPECT_EQ(run_under_perf_events(
                  command, 4999, [&](const PerfRecord& record) { account.take(record); }),
              0);
    return account.shares();
  }

  Account account{kernel_symbols()};
};

/// A program that does little but copy, as far as the kernel lets us observe it.
TEST_F(PerfEventsTest, sees_what_a_program_does) {
  const auto all =
      shares_of({"dd", "if=/dev/zero", "of=/dev/null", "bs=1M", "count=300", "status=none"});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].name, "dd");
  EXPECT_GT(all[0].runs, 0);
  if (account.knows_the_kernel() && all[0].ticks > 0) {
    EXPECT_EQ(all[0].spent[static_cast<std::size_t>(Spent::own)] / all[0].ticks, 0U);
    EXPECT_GT(all[0].calls.count("read"), 0U);
  }
}

/// The name of its parent is reported on another processor, and earlier.
TEST_F(PerfEventsTest, names_a_child_on_a_lower_processor_by_its_own_name) {
  try {
    run_measured({.words = {"taskset", "-c", "0", "taskset", "-c", "1", "true"}});
  } catch (const FailedProcess&) {
    GTEST_SKIP() << "processors 0 and 1 are not both ours";
  }
  const auto all =
      shares_of({"taskset",
                 "-c",
                 "1",
                 "sh",
                 "-c",
                 "taskset -c 0 dd if=/dev/zero of=/dev/null bs=1M count=300 status=none; true"});
  EXPECT_NE(std::ranges::find(all, "dd", &ProcessShares::name), all.end());
}

TEST_F(PerfEventsTest, tells_how_a_program_ends_that_cannot_be_run) {
  EXPECT_NE(run_under_perf_events({"no/such/program"}, 99, [](const PerfRecord&) {}), 0);
}

}  // namespace
}  // namespace lastref::perf
