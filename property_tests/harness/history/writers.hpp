// writers: threads and processes that use slots in shared memory, and log what they do.
//
// The slots are words that take a value by compare and exchange. They are a cache that can have
// only lawful histories.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <lastref/os.hpp>

#include "harness/history/history_log.hpp"

namespace lastref::pretend {

inline constexpr std::uint32_t slots_of_fixture = 16;
inline constexpr std::uint32_t operations_of_fixture = 1U << 16U;

/// Slots, a count of operations that have returned, and a log, in memory that is zero at first.
class WritersFixture {
 public:
  static std::size_t size() noexcept;
  explicit WritersFixture(std::span<std::byte> memory) noexcept;

  harness::HistoryLog& log() noexcept { return log_; }
  std::optional<std::uint64_t> get(std::uint64_t slot) noexcept;
  /// REQUIRES a value that is not 0.
  bool put(std::uint64_t slot, std::uint64_t value) noexcept;
  void count() noexcept;
  std::uint64_t counted() noexcept;

 private:
  std::span<std::uint64_t> words_;
  harness::HistoryLog log_;
};

/// That many gets and puts, of values that no other writer puts.
void write_some(WritersFixture& fixture, std::string_view actor, std::uint64_t seed, int count);

/// The entry of a process that was spawned with the fixture's descriptor as its 3.
inline constexpr std::string_view writer_entry = "history_writer";
/// {actor, seed, end}: writes, and then "returns"; or is killed in a put "before" or "after" it
/// takes effect; or "goes_on" until it is killed from outside.
int be_writer(os::Os& os, std::span<const std::string> arguments);

}  // namespace lastref::pretend
