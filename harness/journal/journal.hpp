// Journal: records in shared memory, written by many processes, read when they are gone.
//
// A writer claims a slot, fills it, and publishes it by a release store; killed in between, it
// leaves a slot that was never published, which reading passes over. So what is read is whole
// records only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "harness/journal/record.hpp"

namespace lastref::harness {

class Journal {
 public:
  /// Bytes that a journal of so many records needs.
  static std::size_t size_for(std::uint32_t capacity) noexcept;

  /// Lives in memory that is zero and belongs to somebody else: shared, aligned as Record is.
  Journal(void* memory, std::uint32_t capacity) noexcept;

  /// A slot to fill, with `seq` set; nullptr when the journal is full.
  Record* claim() noexcept;
  /// The record is whole.
  static void publish(Record& record) noexcept;

  /// Slots claimed; not more than there are.
  std::uint32_t size() const noexcept;
  /// The whole records in order. No writer is left: slots that were never published are squeezed
  /// out. Where some found no slot, the last record says so, and is a finding.
  std::span<const Record> settle() noexcept;
  /// Empty again. No writer is left.
  void reset() noexcept;

 private:
  struct Head;
  Head* head_;
  Record* records_;
};

/// Memory that children share, zero at first, and so do executed ones that have its descriptor.
class SharedMemory {
 public:
  /// Aborts when there is none.
  explicit SharedMemory(std::size_t size) noexcept;
  /// What another process has made with the same size. The descriptor stays the caller's.
  SharedMemory(std::size_t size, int descriptor) noexcept;
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory();

  void* get() const noexcept { return memory_; }
  std::size_t size() const noexcept { return size_; }
  /// Closed with it.
  int descriptor() const noexcept { return descriptor_; }

 private:
  void map(int descriptor) noexcept;

  int descriptor_ = -1;  ///< ours, if we have made it
  void* memory_ = nullptr;
  std::size_t size_;
};

}  // namespace lastref::harness
