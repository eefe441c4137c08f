#include "bench/perf/profile/shares.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "bench/perf/process.hpp"

namespace lastref::perf {
namespace {

constexpr std::uint64_t ms = 1'000'000;  // ns

TEST(InKernelTest, a_call_has_its_name) {
  const InKernel what =
      in_kernel({"shmem_get_folio", "vfs_write", "ksys_pwrite64", "do_syscall_64", ""});
  EXPECT_EQ(what.spent, Spent::system_calls);
  EXPECT_EQ(what.call, "pwrite64");
}

TEST(InKernelTest, a_call_whose_name_is_not_known_is_one) {
  const InKernel what = in_kernel({"fput", "do_syscall_64"});
  EXPECT_EQ(what.spent, Spent::system_calls);
  EXPECT_EQ(what.call, "");
}

TEST(InKernelTest, a_copy_is_told_from_its_call) {
  const InKernel what = in_kernel({"rep_movs_alternative", "__x64_sys_write", "do_syscall_64"});
  EXPECT_EQ(what.spent, Spent::copies);
  EXPECT_EQ(what.call, "write");
  EXPECT_EQ(in_kernel({"copy_folio_from_iter_atomic", "generic_perform_write"}).spent,
            Spent::copies);
}

TEST(InKernelTest, what_is_cleared_for_a_fault_is_of_the_fault) {
  EXPECT_EQ(in_kernel({"clear_page_erms", "shmem_fault", "exc_page_fault"}).spent,
            Spent::page_faults);
}

TEST(InKernelTest, a_fault_within_a_call_is_a_fault) {
  const InKernel what =
      in_kernel({"handle_mm_fault", "exc_page_fault", "_copy_to_iter", "__x64_sys_read"});
  EXPECT_EQ(what.spent, Spent::page_faults);
  EXPECT_EQ(what.call, "read");
}

TEST(InKernelTest, what_nobody_asked_for_is_an_interrupt) {
  EXPECT_EQ(in_kernel({"tick_nohz_handler", "sysvec_apic_timer_interrupt"}).spent,
            Spent::interrupts);
  EXPECT_EQ(in_kernel({}).spent, Spent::in_kernel);
  EXPECT_EQ(in_kernel({"", ""}).spent, Spent::in_kernel);
  EXPECT_EQ(in_kernel({"", "sysvec_apic_timer_interrupt"}).spent, Spent::interrupts);
  EXPECT_EQ(in_kernel({"", "do_int80_emulation"}).spent, Spent::system_calls);
}

TEST(AccountTest, adds_up_turns_of_each_processor_by_their_times) {
  Account account{Symbols()};
  account.take(Named{.process = 7, .thread = 7, .at = 0, .name = "a", .is_new_program = true});
  // Another processor reports it later: the thread waits from 10 to 30 ms, and is runnable from 50
  // ms on.
  account.take(Turn{.process = 7, .thread = 7, .at = 50 * ms, .could_go_on = true});
  account.take(Turn{.process = 7, .thread = 7, .at = 10 * ms});
  account.take(Turn{.process = 7, .thread = 7, .at = 30 * ms, .comes = true});
  account.take(Turn{.process = 7, .thread = 7, .at = 55 * ms, .comes = true});
  const auto all = account.shares();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].name, "a");
  EXPECT_DOUBLE_EQ(all[0].runs, 0.030);
  EXPECT_DOUBLE_EQ(all[0].waits, 0.020);
  EXPECT_DOUBLE_EQ(all[0].ready, 0.005);
  EXPECT_EQ(all[0].wake_ups, 1U);
}

TEST(AccountTest, a_thread_runs_until_it_ends_and_what_has_its_number_then_is_another_one) {
  Account account{Symbols()};
  account.take(Named{.process = 7, .thread = 7, .at = ms, .name = "a", .is_new_program = true});
  account.take(Ended{.thread = 7, .at = 4 * ms});
  account.take(Turn{.process = 7, .thread = 7, .at = 9 * ms, .comes = true});
  const auto all = account.shares();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_DOUBLE_EQ(all[0].runs, 0.003);
  EXPECT_DOUBLE_EQ(all[0].ready, 0);
  EXPECT_DOUBLE_EQ(all[0].waits, 0);
}

TEST(AccountTest, a_child_has_the_name_and_the_files_of_its_parent) {
  Account account{Symbols()};
  account.take(Named{.process = 7, .thread = 7, .name = "a", .is_new_program = true});
  account.take(Begun{.process = 8, .parent = 7, .thread = 8, .at = ms});
  account.take(Turn{.process = 8, .thread = 8, .at = 3 * ms, .comes = true});
  const auto all = account.shares();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].name, "a");
  EXPECT_DOUBLE_EQ(all[1].ready, 0.002);
}

TEST(AccountTest, a_thread_is_of_its_process) {
  Account account{Symbols()};
  account.take(Named{.process = 7, .thread = 7, .name = "a", .is_new_program = true});
  account.take(Begun{.process = 7, .parent = 7, .thread = 9, .at = ms});
  account.take(Named{.process = 7, .thread = 9, .at = ms, .name = "its thread"});
  account.take(Turn{.process = 7, .thread = 9, .at = 2 * ms, .comes = true});
  const auto all = account.shares();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].name, "a");
}

TEST(AccountTest, ticks_go_to_what_ran) {
  Symbols kernel;
  kernel.add(0x1000, 0, "__x64_sys_read");
  kernel.add(0x2000, 0, "_copy_to_iter");
  kernel.sort();
  Account account(std::move(kernel));
  account.take(Tick{.process = 7, .address = 0x2010, .in_kernel = true, .callers = {0x1004}});
  account.take(Tick{.process = 7, .address = 0x1004, .in_kernel = true, .callers = {}});
  account.take(Tick{.process = 7, .address = 0x77, .in_kernel = false, .callers = {}});
  const auto all = account.shares();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].spent[static_cast<std::size_t>(Spent::copies)], 1U);
  EXPECT_EQ(all[0].spent[static_cast<std::size_t>(Spent::system_calls)], 1U);
  EXPECT_EQ(all[0].spent[static_cast<std::size_t>(Spent::own)], 1U);
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

TEST(SymbolsTest, a_file_that_is_no_program_has_none) {
  EXPECT_TRUE(symbols_of_file("/proc/self/status").empty());
  EXPECT_TRUE(symbols_of_file("no/such/file").empty());
}

TEST(SymbolsTest, this_program_has_some) {
  EXPECT_FALSE(symbols_of_file("/proc/self/exe").empty());
}

/// A program that does little but copy, as far as the kernel lets us observe it.
TEST(PerfEventsTest, sees_what_a_program_does) {
  Account account(kernel_symbols());
  const auto how = run_under_perf_events(
      {"dd", "if=/dev/zero", "of=/dev/null", "bs=1M", "count=300", "status=none"},
      4999,
      [&](const PerfRecord& record) { account.take(record); });
  if (!how) {
    GTEST_SKIP() << describe(how.error());
  }
  ASSERT_EQ(*how, 0);
  const auto all = account.shares();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].name, "dd");
  EXPECT_GT(all[0].runs, 0);
  if (account.knows_the_kernel() && all[0].ticks > 0) {
    EXPECT_EQ(all[0].spent[static_cast<std::size_t>(Spent::own)] / all[0].ticks, 0U);
    EXPECT_GT(all[0].calls.count("read"), 0U);
  }
}

/// The name of its parent is reported on another processor, and earlier.
TEST(PerfEventsTest, names_a_child_on_a_lower_processor_by_its_own_name) {
  const auto has = [](const char* processor) {
    return run_measured({.words = {"taskset", "-c", processor, "true"}}).has_value();
  };
  if (!has("0") || !has("1")) {
    GTEST_SKIP() << "processors 0 and 1 are not both ours";
  }
  Account account(kernel_symbols());
  const auto how = run_under_perf_events(
      {"taskset",
       "-c",
       "1",
       "sh",
       "-c",
       "taskset -c 0 dd if=/dev/zero of=/dev/null bs=1M count=300 status=none; true"},
      4999,
      [&](const PerfRecord& record) { account.take(record); });
  if (!how) {
    GTEST_SKIP() << describe(how.error());
  }
  ASSERT_EQ(*how, 0);
  const auto all = account.shares();
  EXPECT_NE(std::ranges::find(all, "dd", &ProcessShares::name), all.end());
}

TEST(PerfEventsTest, tells_how_a_program_ends_that_cannot_be_run) {
  const auto how =
      run_under_perf_events({"no/such/program"}, 99, [](const PerfRecord&) { /* none */ });
  if (!how) {
    GTEST_SKIP() << describe(how.error());
  }
  EXPECT_NE(*how, 0);
}

}  // namespace
}  // namespace lastref::perf
