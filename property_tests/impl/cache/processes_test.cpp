// Processes with threads share one cache, log each call and its result, and may be killed
// meanwhile. The logged results have an order that write-once slots allow.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <lastref/kernel_os.hpp>
#include <lastref/owners.hpp>
#include <lastref/slot_cache.hpp>

#include "harness/history/history_log.hpp"
#include "harness/history/history_text.hpp"
#include "property_tests/support/array_model.hpp"
#include "property_tests/support/counts.hpp"
#include "property_tests/support/fresh_folder.hpp"
#include "property_tests/support/shared_file.hpp"
#include "property_tests/support/waiting.hpp"

namespace lastref {
namespace {

using harness::HistoryLog;
using harness::oracle::OperationKind;
using harness::oracle::Refusals;
using pretend::must;

constexpr std::string_view entry = "cache_user";
constexpr std::uint64_t slots = 24;
constexpr int operations_of_a_thread = 200;
constexpr std::uint32_t operations_max = 4096;
constexpr std::size_t log_at = 64;
constexpr std::size_t memory_size = log_at + (std::size_t{1} << 19U);
/// A value that no process puts.
constexpr std::uint64_t torn = 0;

/// The bytes of a value; any of them identifies it.
std::vector<std::byte> bytes_of(std::uint64_t value) {
  std::vector<std::byte> bytes(8 + value % 9000);
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    std::memcpy(&bytes[at], &value, std::min<std::size_t>(8, bytes.size() - at));
  }
  return bytes;
}

std::uint64_t value_of(os::Bytes bytes) {
  std::uint64_t value = torn;
  if (bytes.size() >= sizeof(value)) {
    std::memcpy(&value, bytes.data(), sizeof(value));
  }
  return std::ranges::equal(bytes, bytes_of(value)) ? value : torn;
}

/// The value of the slot, read in one of the three ways.
Result<std::optional<std::uint64_t>> look(SlotCache& cache, std::uint64_t slot, std::uint64_t way) {
  if (way == 0) {
    LASTREF_TRY(seen, cache.view(slot));
    return seen ? std::optional(value_of(seen->bytes)) : std::nullopt;
  }
  LASTREF_TRY(copied, way == 1 ? cache.get(slot) : cache.get_checked(slot));
  return copied ? std::optional(value_of(*copied)) : std::nullopt;
}

/// Memory that all processes share: how many operations have ended, and the log of them.
class Fixture {
 public:
  explicit Fixture(std::span<std::byte> memory) noexcept
      : ended_(*reinterpret_cast<std::uint64_t*>(memory.data())), log_(memory.subspan(log_at)) {}

  HistoryLog& log() noexcept { return log_; }
  std::uint64_t ended() noexcept { return std::atomic_ref(ended_).load(); }

  void use(SlotCache& cache, const std::string& actor, std::uint64_t seed) {
    std::mt19937_64 chance(seed);
    for (int at = 0; at < operations_of_a_thread; ++at) {
      // Close to the slots that most threads are using now, so that they race all the time.
      const std::uint64_t slot =
          (static_cast<std::uint64_t>(at) * slots / operations_of_a_thread + chance() % 3) % slots;
      if (chance() % 2 == 0) {
        put(cache, actor, slot, chance() | 1U);
      } else {
        get(cache, actor, slot, chance() % 3);
      }
      std::atomic_ref(ended_).fetch_add(1);
    }
  }

  void put(SlotCache& cache, const std::string& actor, std::uint64_t slot, std::uint64_t value) {
    const std::vector<std::byte> bytes = bytes_of(value);
    const auto asked =
        log_.invoke({.actor = actor, .kind = OperationKind::put, .slot = slot, .value = value});
    if (const auto done = cache.put(slot, bytes)) {
      asked.answered(*done);
    } else {
      asked.failed();
    }
  }

  void get(SlotCache& cache, const std::string& actor, std::uint64_t slot, std::uint64_t way) {
    const auto asked =
        log_.invoke({.actor = actor, .kind = OperationKind::get, .slot = slot, .value = 0});
    if (const auto seen = look(cache, slot, way)) {
      asked.saw(*seen);
    } else {
      asked.failed();
    }
  }

 private:
  std::uint64_t& ended_;
  HistoryLog log_;
};

void use_with_threads(Fixture& fixture,
                      SlotCache& cache,
                      const std::string& actor,
                      std::uint64_t seed) {
  std::vector<std::jthread> threads;
  for (int at = 0; at < 2; ++at) {
    threads.emplace_back([&fixture, &cache, actor, seed, at] {
      fixture.use(cache, actor + ".thread_" + std::to_string(at), seed + static_cast<unsigned>(at));
    });
  }
}

/// {handle, actor, seed}, with the fixture's descriptor as its 3.
int be_user(std::span<const std::string> arguments) {
  os::KernelOs os;
  try {
    const auto cache = must(MultiprocessFileCache::attach(os, arguments[0]));
    Fixture fixture(must(pretend::map_shared(os, os::Fd{3}, memory_size)));
    use_with_threads(fixture, *cache, arguments[1], std::stoull(arguments[2]));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << arguments[1] << ": " << error.what() << '\n';
    return 1;
  }
}

/// One cache, and the processes that use it.
class Users {
 public:
  explicit Users(std::int64_t size_limit)
      : cache_(must(
            MultiprocessFileCache::make(os_,
                                        counts_.party("maker"),
                                        slots,
                                        {.folder = folder_.path(), .size_limit = size_limit}))) {}

  Fixture& fixture() { return fixture_; }
  MultiprocessFileCache& cache() { return *cache_; }
  os::KernelOs& os() { return os_; }

  /// It freezes the cache.
  bool preserve() {
    const bool preserved = must(cache_->preserve("kept", false));
    folder_.remove("kept");
    return preserved;
  }

  os::UniqueFd start(const std::string& actor, std::uint64_t seed) {
    const auto child = must(os_.spawn({.entry = std::string(entry),
                                       .arguments = {cache_->handle(), actor, std::to_string(seed)},
                                       .fds = {{.here = shared_.fd(), .number_there = 3}},
                                       .blocked = {}}));
    return {os_, child.process};
  }

  void wait_until_ended(std::uint64_t operations) {
    while (fixture_.ended() < operations) {
      std::this_thread::yield();
    }
  }

  void expect_end(const os::UniqueFd& process, bool may_be_killed) {
    const os::ChildExit end = must(pretend::wait_for(os_, process.get()));
    EXPECT_TRUE(end.killed ? may_be_killed : end.code == 0)
        << (end.killed ? "signal " : "exit code ") << end.code;
  }

 private:
  os::KernelOs os_{{.program = "/proc/self/exe"}};
  pretend::FreshFolder folder_;
  pretend::Counts counts_;
  std::unique_ptr<MultiprocessFileCache> cache_;
  pretend::SharedFile shared_{os_, memory_size};
  Fixture fixture_{shared_.memory()};
};

/// The parameters of a history.
struct Plan {
  std::uint64_t seed = 0;
  /// The slots can take some eighty thousand bytes; the limit is 40,000.
  bool is_limited = false;
  /// Operations after which one process is killed, and after which the cache is preserved.
  std::uint64_t killed_after = 0;
  std::uint64_t preserved_after = 0;
};

void live(const Plan& plan) {
  Users users(plan.is_limited ? 40'000 : 0);
  std::vector<os::UniqueFd> processes;
  for (std::uint64_t at = 0; at < 3; ++at) {
    processes.push_back(users.start("process_" + std::to_string(at), plan.seed + 10 * at));
  }
  std::jthread here(
      [&] { use_with_threads(users.fixture(), users.cache(), "maker", plan.seed + 100); });
  users.wait_until_ended(plan.killed_after);
  const Status killed = users.os().signal_process(processes[0].get(), os::Signal::kill);
  // It may have ended already, and be reaped.
  EXPECT_TRUE(killed || killed.error().code == std::errc::no_such_process);
  users.expect_end(processes[0], true);
  users.wait_until_ended(plan.preserved_after);
  {
    const auto asked = users.fixture().log().invoke(
        {.actor = "maker", .kind = OperationKind::freeze, .slot = 0, .value = 0});
    asked.answered(users.preserve());
  }
  here.join();
  for (std::size_t at : {1U, 2U}) {
    users.expect_end(processes[at], false);
  }
  for (std::uint64_t slot = 0; slot < slots; ++slot) {
    users.fixture().get(users.cache(), "maker", slot, slot % 3);
  }
  const auto history = must(users.fixture().log().history(plan.is_limited ? Refusals::at_a_limit
                                                                          : Refusals::when_frozen));
  EXPECT_GT(history.operations.size(), operations_of_a_thread * 6);
  const auto findings = harness::oracle::linearizable(history);
  EXPECT_TRUE(findings.empty()) << findings.front().seen << '\n'
                                << harness::oracle::to_text(history);
}

RC_GTEST_PROP(CacheUsers,
              of_many_processes_and_threads_are_told_what_has_an_order_C2_C3_C4,
              (std::uint64_t seed)) {
  const Plan plan = {
      .seed = seed,
      .is_limited = *rc::gen::arbitrary<bool>(),
      .killed_after = *rc::gen::inRange<std::uint64_t>(0, operations_of_a_thread * 4),
      // The six threads that are not killed do this many operations.
      .preserved_after = *rc::gen::inRange<std::uint64_t>(0, operations_of_a_thread * 6)};
  // Everything is reported at once: a race that is repeated for the description may end
  // differently.
  try {
    live(plan);
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
  }
  RC_ASSERT(!testing::Test::HasFailure());
}

}  // namespace
}  // namespace lastref

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv, argv + argc);
  if (words.size() == 5 && words[1] == lastref::entry) {
    return lastref::be_user(std::span(words).subspan(2));
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
