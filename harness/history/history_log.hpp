// HistoryLog: the operations of all callers of a cache with their moments, in memory shared by many
// processes.
//
// Invocations and returns take their moments from one counter in that memory, so their order is
// exact across threads and processes. A writer claims, fills, dates and publishes an operation
// before it begins, and publishes its ending after it has returned. If the writer is killed in
// between, the log has an operation that never returned, or none that has begun. No process waits
// for another, so dead ones delay none.
//
//   HistoryLog log(memory);
//   const auto asked = log.invoke({.actor = "worker_1", .kind = put, .slot = 3, .value = hash});
//   asked.answered(cache.put(3, bytes).value());
//
// Limits: the counter orders memory accesses of its users, like a lock that is always free. So it
// may hide errors that occur only where concurrent operations do not see each other's writes.
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
    std::string_view actor;  ///< As is_name_of_actor requires. Up to 22 bytes are kept as they are.
    oracle::OperationKind kind{};
    std::uint64_t slot = 0;   ///< Unused for a freeze.
    std::uint64_t value = 0;  ///< Of a put: the identity of its bytes.
  };

  /// An operation in progress: report its ending once, from the same process. Without that it never
  /// returned.
  class UnderWay {
   public:
    /// The ending of a get: the identity of the value, or nothing.
    void saw(std::optional<std::uint64_t> value) const noexcept;
    /// The ending of a put or a freeze.
    void answered(bool yes) const noexcept;
    void failed() const noexcept;

   private:
    friend class HistoryLog;
    UnderWay(std::uint64_t& clock, Entry* entry) noexcept : clock_(&clock), entry_(entry) {}
    void end(oracle::Ending ending, std::uint64_t value) const noexcept;

    std::uint64_t* clock_;
    Entry* entry_;  ///< nullptr when the log was full
  };

  /// Size in bytes of a log of that many operations.
  static std::size_t size_for(std::uint32_t operations) noexcept;

  /// Uses memory owned by the caller: shared, aligned to 64 bytes, and zero before the first of all
  /// its logs. Each process makes its own log, over the same bytes.
  explicit HistoryLog(std::span<std::byte> memory) noexcept;

  /// The operation begins when this has returned.
  UnderWay invoke(const Invocation& invocation) noexcept;

  /// The recorded operations, in the order of their claims. No writer may be left.
  ///
  /// Errors  no_buffer_space: some operations found no space, so the rest proves nothing.
  Result<oracle::History> history(oracle::Refusals refusals) const;

 private:
  struct Head;
  Head* head_;
  std::span<Entry> entries_;
};

}  // namespace lastref::harness
