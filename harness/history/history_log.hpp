// HistoryLog: who asked a cache for what, and when, in memory that many processes share.
//
// Invocations and returns take their moments from one counter in that memory, so their order is
// exact across threads and processes. An operation is claimed, filled, given its moment and
// published before it is begun, and its ending is published after it has returned: of a writer
// killed in between, an operation is left that never returned, or none that was begun. Nothing
// waits for anything, so the dead hold nobody up.
//
//   HistoryLog log(memory);
//   const auto asked = log.invoke({.actor = "worker_1", .kind = put, .slot = 3, .value = hash});
//   asked.answered(cache.put(3, bytes).value());
//
// Limits: the counter orders memory for all who use it, as a lock would that nobody waits for. What
// goes wrong only where neighbours in time do not see each other's writes may hide from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <lastref/error.hpp>

#include "harness/history/history.hpp"

namespace lastref::harness {

class HistoryLog {
 public:
  struct Entry;

  struct Invocation {
    std::string_view actor;  ///< As `is_name_of_actor` has it. Up to 22 bytes stay as they are.
    oracle::OperationKind kind{};
    std::uint64_t slot = 0;   ///< Not of a freeze.
    std::uint64_t value = 0;  ///< Of a put: the identity of its bytes.
  };

  /// An operation that is under way: say once, from the same process, how it came back. Left alone
  /// it never returned.
  class UnderWay {
   public:
    /// A get: the identity of what it saw, or nothing.
    void saw(std::optional<std::uint64_t> value) const noexcept;
    /// A put or a freeze.
    void answered(bool yes) const noexcept;
    void failed() const noexcept;

   private:
    friend class HistoryLog;
    UnderWay(std::uint64_t& clock, Entry* entry) noexcept : clock_(&clock), entry_(entry) {}
    void end(oracle::Ending ending, std::uint64_t value) const noexcept;

    std::uint64_t* clock_;
    Entry* entry_;  ///< nullptr when the log was full
  };

  /// Bytes that a log of so many operations needs.
  static std::size_t size_for(std::uint32_t operations) noexcept;

  /// Lives in memory that belongs to somebody else: shared, on a boundary of 64 bytes, and zero
  /// before the first of all its logs. Each process makes its own, over the same bytes.
  explicit HistoryLog(std::span<std::byte> memory) noexcept;

  /// The operation begins when this has returned.
  UnderWay invoke(const Invocation& invocation) noexcept;

  /// What was written, in the order of invocations' claims. No writer is left.
  ///
  /// Errors  no_buffer_space: not every operation found space, and of the rest nothing follows.
  Result<oracle::History> history(oracle::Refusals refusals) const;

 private:
  struct Head;
  Head* head_;
  std::span<Entry> entries_;
};

}  // namespace lastref::harness
