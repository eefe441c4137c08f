// Journal: records in shared memory, written by many processes, read when they have ended.
//
// A writer claims a slot, fills it, and publishes it by a release store. If it is killed in
// between, the slot is never published, and the reader skips it. So the reader gets only complete
// records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "harness/journal/record.hpp"

namespace lastref::harness {

class Journal {
 public:
  /// Size in bytes of a journal of that many records.
  static std::size_t size_for(std::uint32_t capacity) noexcept;

  /// Uses memory owned by the caller: zero, shared, and aligned like Record.
  Journal(void* memory, std::uint32_t capacity) noexcept;

  /// A slot to fill, with `seq` set; nullptr when the journal is full.
  Record* claim() noexcept;
  /// Call it when the record is complete.
  static void publish(Record& record) noexcept;

  /// The number of slots claimed; at most the capacity.
  std::uint32_t size() const noexcept;
  /// The complete records in order. No writer may be left: slots that were never published are
  /// removed. If some writers found no slot, the last record says so, and is a finding.
  std::span<const Record> settle() noexcept;
  /// Empties it. No writer may be left.
  void reset() noexcept;

 private:
  struct Head;
  Head* head_;
  Record* records_;
};

/// Memory shared with child processes, initially zero; executed ones share it through its
/// descriptor.
class SharedMemory {
 public:
  /// Aborts if there is no memory.
  explicit SharedMemory(std::size_t size) noexcept;
  /// Maps what another process has made with the same size. The caller keeps the descriptor.
  SharedMemory(std::size_t size, int descriptor) noexcept;
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory();

  void* get() const noexcept { return memory_; }
  std::size_t size() const noexcept { return size_; }
  /// Closed with this object.
  int descriptor() const noexcept { return descriptor_; }

 private:
  void map(int descriptor) noexcept;

  int descriptor_ = -1;  ///< open if this object has made it
  void* memory_ = nullptr;
  std::size_t size_;
};

}  // namespace lastref::harness
