#include "property_tests/support/failing_memory.hpp"

#include <execinfo.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <sstream>
#include <utility>

#include <gtest/gtest.h>

#include "property_tests/support/process_group.hpp"

namespace lastref::pretend {
namespace {

constexpr int frames_max = 48;
constexpr std::size_t finding_size = 8192;  // more than any finding needs
constexpr unsigned hang_timeout = 60;       // seconds

/// Shared by a child and its parent.
struct SharedState {
  std::atomic<std::uint64_t> number;  ///< Of the allocation that fails; 0: none fails.
  std::atomic<bool> from_then_on;
  std::atomic<std::uint64_t> allocations;  ///< In a run where none fails.
  std::atomic<std::uint64_t> runs;
  std::atomic<std::uint64_t> failed;  ///< Runs in which one failed.
  int frames_count;
  std::array<void*, frames_max> frames;  ///< The stack of the first failed allocation.
  std::array<char, 1U << 20U> findings;
};

SharedState* shared_state = nullptr;
std::uint64_t first_here = 0;
std::uint64_t count_here = 0;
std::atomic<bool> is_armed = false;
std::atomic<std::uint64_t> seen = 0;
std::atomic<std::ptrdiff_t> live = 0;
thread_local constinit bool is_spared = false;

/// Whether the current allocation fails.
bool fails() noexcept {
  if (!is_armed.load(std::memory_order_relaxed) || is_spared) {
    return false;
  }
  const std::uint64_t number = ++seen;
  if (shared_state == nullptr) {
    return number >= first_here && number < first_here + count_here;
  }
  const std::uint64_t first = shared_state->number;
  if (first == 0 || number < first || (number > first && !shared_state->from_then_on)) {
    return false;
  }
  if (number == first) {
    is_spared = true;
    shared_state->frames_count = ::backtrace(shared_state->frames.data(), frames_max);
    is_spared = false;
  }
  return true;
}

void* allocate(std::size_t size, std::size_t alignment) {
  void* given = nullptr;
  if (!fails()) {
    given = alignment == 0
                ? std::malloc(std::max<std::size_t>(size, 1))
                : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  }
  if (given == nullptr) {
    throw std::bad_alloc();
  }
  ++live;
  return given;
}

void give_back(void* given) noexcept {
  if (given != nullptr) {
    --live;
    std::free(given);
  }
}

/// The resources that a process holds.
struct Belongings {
  std::ptrdiff_t memory = 0;
  std::ptrdiff_t descriptors = 0;
  std::ptrdiff_t maps = 0;
  std::ptrdiff_t threads = 0;
};

/// Only maps of files: the C library maps memory for its own heap.
std::ptrdiff_t maps_of_files() {
  std::ifstream maps("/proc/self/maps");
  std::ptrdiff_t count = 0;
  for (std::string line; std::getline(maps, line);) {
    count += line.find(" /") != std::string::npos && line.find(".so") == std::string::npos ? 1 : 0;
  }
  return count;
}

Belongings belongings() {
  return {.memory = live,
          .descriptors = std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                                       std::filesystem::directory_iterator()),
          .maps = maps_of_files(),
          .threads = static_cast<std::ptrdiff_t>(running_threads())};
}

std::string difference(const char* what, std::ptrdiff_t before, std::ptrdiff_t after) {
  return before == after ? std::string()
                         : " leaves " + std::to_string(after - before) + " " + what + ";";
}

std::string where_it_failed() {
  const int count = shared_state->frames_count;
  char** const symbols = ::backtrace_symbols(shared_state->frames.data(), count);
  std::string text;
  for (int frame = 2; frame < count && symbols != nullptr; ++frame) {
    text += std::string("\n      ") + symbols[frame];
  }
  std::free(symbols);
  return text;
}

void note(const std::string& finding) {
  const std::size_t used = ::strnlen(shared_state->findings.data(), shared_state->findings.size());
  std::snprintf(shared_state->findings.data() + used,
                shared_state->findings.size() - used,
                "allocation %llu%s: %s%s\n",
                static_cast<unsigned long long>(shared_state->number.load()),
                shared_state->from_then_on ? " and all after it" : "",
                finding.c_str(),
                where_it_failed().c_str());
}

/// Runs the trial with the failure that is in the shared state.
void run_once(const Trial& trial, const TrialOptions& options, bool is_first = false) {
  ::alarm(hang_timeout);
  seen = 0;
  shared_state->frames_count = 0;
  std::string finding;
  finding.reserve(finding_size);
  const Belongings before = belongings();
  try {
    finding += trial([](const std::function<void()>& tested) {
      is_armed = true;
      try {
        tested();
      } catch (...) {
        is_armed = false;
        throw;
      }
      is_armed = false;
    });
  } catch (const std::exception& thrown) {
    finding += "an exception leaves it: ";
    finding += thrown.what();
  }
  ++shared_state->runs;
  if (shared_state->number == 0) {
    shared_state->allocations = seen.load();
  }
  shared_state->failed += shared_state->number != 0 && seen >= shared_state->number ? 1 : 0;
  const Belongings after = belongings();
  if (options.threads_have_ended) {
    finding += difference("allocations", before.memory, after.memory);
    finding += difference("threads", before.threads, after.threads);
  }
  finding += difference("descriptors", before.descriptors, after.descriptors);
  finding += difference("maps", before.maps, after.maps);
  if (!finding.empty() && !is_first) {
    note(finding);
  }
}

/// The child: runs the trial for each failure after the one in the shared state.
[[noreturn]] void run_from(const Trial& trial, std::uint64_t first, TrialOptions options) {
  void* warm = nullptr;
  ::backtrace(&warm, 1);  // It loads a library.
  const bool from_then_on = shared_state->from_then_on;
  shared_state->number = 0;
  run_once(trial, options, /*is_first=*/true);  // Makes what is made once per process.
  run_once(trial, options);
  shared_state->from_then_on = from_then_on;
  for (std::uint64_t number = first; number <= shared_state->allocations;
       number += options.stride) {
    shared_state->number = number;
    run_once(trial, options);
  }
  ::_exit(0);
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) {
    return WTERMSIG(status) == SIGALRM ? "hangs"
                                       : "kills by signal " + std::to_string(WTERMSIG(status));
  }
  return "exits with code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

SparedMemory::SparedMemory() noexcept : before_(std::exchange(is_spared, true)) {}

SparedMemory::~SparedMemory() {
  is_spared = before_;
}

Result<std::unique_ptr<os::Thread>> SparedOs::start_thread(std::function<void()> body,
                                                           os::ThreadKind kind) noexcept {
  const SparedMemory spared;
  if (kind == os::ThreadKind::users) {
    return kernel_.start_thread(std::move(body), kind);
  }
  return kernel_.start_thread(
      [body = std::move(body)] {
        const SparedMemory still_spared;
        body();
      },
      kind);
}

void fail_from_now_on(std::uint64_t number, bool and_all_after_it) {
  static SharedState own;
  void* warm = nullptr;
  ::backtrace(&warm, 1);  // It loads a library.
  own.number = number;
  own.from_then_on = and_all_after_it;
  shared_state = &own;
  is_armed = true;
}

void fail_allocations_here(std::uint64_t first, std::uint64_t count) noexcept {
  first_here = first;
  count_here = count;
  seen = 0;
  is_armed = true;
}

std::uint64_t allocations_here() noexcept {
  return seen;
}

std::string unless_no_memory(const Status& status) {
  return status || status.error().code == std::errc::not_enough_memory
             ? std::string()
             : "it says " + describe(status.error()) + ";";
}

void fail_each_allocation(const Trial& trial, TrialOptions options) {
  void* const shared = ::mmap(
      nullptr, sizeof(SharedState), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  shared_state = new (shared) SharedState();
  std::uint64_t deaths = 0;
  for (const bool from_then_on : {false, true}) {
    shared_state->from_then_on = from_then_on;
    for (std::uint64_t first = 1;;) {
      std::fflush(nullptr);
      const pid_t child = ::fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        run_from(trial, first, options);
      }
      int status = 0;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        break;
      }
      ++deaths;
      note(how_it_ended(status));
      ASSERT_NE(shared_state->number, 0U) << "without a failure: " << shared_state->findings.data();
      first = shared_state->number + options.stride;
    }
  }
  std::printf("             %llu allocations, %llu runs, %llu with a failure, %llu deaths\n",
              static_cast<unsigned long long>(shared_state->allocations.load()),
              static_cast<unsigned long long>(shared_state->runs.load()),
              static_cast<unsigned long long>(shared_state->failed.load()),
              static_cast<unsigned long long>(deaths));
  if (shared_state->findings[0] != 0) {
    ADD_FAILURE() << shared_state->findings.data();
  }
  EXPECT_GT(shared_state->failed, 0U);
  shared_state = nullptr;
  ::munmap(shared, sizeof(SharedState));
}

}  // namespace lastref::pretend

// The other forms of new and delete in the C++ library call these.

void* operator new(std::size_t size) {
  return lastref::pretend::allocate(size, 0);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return lastref::pretend::allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* given) noexcept {
  lastref::pretend::give_back(given);
}
void operator delete(void* given, std::size_t) noexcept {
  lastref::pretend::give_back(given);
}
void operator delete(void* given, std::align_val_t) noexcept {
  lastref::pretend::give_back(given);
}
void operator delete(void* given, std::size_t, std::align_val_t) noexcept {
  lastref::pretend::give_back(given);
}
