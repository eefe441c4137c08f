#include "harness/journal/journal.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include <lastref/error.hpp>

namespace lastref::harness {
namespace {

constexpr std::size_t huge_page_bytes = std::size_t{2} << 20U;
/// MADV_COLLAPSE of Linux 6.1, which is newer than the header.
constexpr int collapse = 25;
/// The number that runs of ordinary size touch.
constexpr std::size_t huge_pages = 2;

constexpr std::size_t rounded_up(std::size_t size, std::size_t to) noexcept {
  return (size + to - 1) / to * to;
}

void append(std::string& line, std::string_view text) {
  line.append(text);
}

/// The end of a process that died.
std::string end_as_text(const Record& record) {
  const std::string code = std::to_string(std::abs(record.value));
  if (record.text == fact::ended) {
    return record.value == 0 ? "exited normally" : "exited with " + code;
  }
  if (record.text == fact::crashed) {
    return record.value > 0 ? "crashed by signal " + code : "exited by itself with " + code;
  }
  return record.text == fact::killed ? "was killed" : "was killed after the run";
}

}  // namespace

static_assert(std::is_trivially_copyable_v<Record>);
static_assert(sizeof(Record) == 384, "six lines of a cache");

struct Journal::Head {
  std::uint32_t claimed;
  std::uint32_t capacity;
  std::byte space[sizeof(Record) - 8];
};

std::string to_text(const Record& record) {
  std::string line;
  append(line, record.role.view());
  line += ' ';
  if (is_fact(record, fact::died)) {
    return line + end_as_text(record);
  }
  if (is_fact(record, fact::born)) {
    line += "was started";
    if (record.text != record.role.view()) {
      line += " by ";
      append(line, record.text.view());
    }
    return line;
  }
  append(line, record.name.view());
  if (record.kind == RecordKind::begin || record.kind == RecordKind::end) {
    line += '(';
    append(line, record.object.view());
    line += ')';
    if (record.k != 0) {
      line += '#' + std::to_string(record.k);
    }
  } else if (!record.object.empty()) {
    line += ' ';
    append(line, record.object.view());
  }
  if (!record.text.empty()) {
    line += ' ';
    append(line, record.text.view());
  }
  if (record.kind == RecordKind::begin || record.kind == RecordKind::operation_begin) {
    line += " ...";
  } else if (record.kind != RecordKind::fact) {
    const char* name = record.error == 0 ? "ok" : strerrorname_np(record.error);
    line += std::string(" = ") + (name == nullptr ? "?" : name);
  }
  line += record.injected ? " (injected)" : "";
  line += record.waited ? " (waited)" : "";
  return line;
}

std::size_t Journal::size_for(std::uint32_t capacity) noexcept {
  return sizeof(Head) + capacity * sizeof(Record);
}

Journal::Journal(void* memory, std::uint32_t capacity) noexcept
    : head_(static_cast<Head*>(memory)), records_(static_cast<Record*>(memory) + 1) {
  static_assert(sizeof(Head) == sizeof(Record));
  head_->capacity = capacity;
}

Record* Journal::claim() noexcept {
  const std::uint32_t at = std::atomic_ref(head_->claimed).fetch_add(1, std::memory_order_relaxed);
  if (at >= head_->capacity) {
    return nullptr;
  }
  Record& record = records_[at];
  record = {};
  record.seq = at;
  return &record;
}

void Journal::publish(Record& record) noexcept {
  std::atomic_ref(record.published).store(1, std::memory_order_release);
}

std::uint32_t Journal::size() const noexcept {
  return std::min(std::atomic_ref(head_->claimed).load(std::memory_order_relaxed), head_->capacity);
}

std::span<const Record> Journal::settle() noexcept {
  const std::uint32_t claimed = std::min(head_->claimed, head_->capacity);
  const std::uint32_t lost = head_->claimed - claimed;
  std::uint32_t whole = 0;
  for (std::uint32_t at = 0; at < claimed; ++at) {
    if (std::atomic_ref(records_[at].published).load(std::memory_order_acquire) == 1) {
      if (whole != at) {
        records_[whole] = records_[at];
        records_[at].published = 0;
      }
      ++whole;
    }
  }
  if (lost > 0 && whole > 0) {
    // No oracle has judged the missing records.
    Record& last = records_[whole - 1];
    const std::uint32_t seq = last.seq;
    last = {};
    last.seq = seq;
    last.kind = RecordKind::fact;
    last.value = lost;
    last.published = 1;
    last.name.assign(fact::refuted);
    last.text.assign("the journal has space for all that happens");
  }
  head_->claimed = whole;
  return {records_, whole};
}

void Journal::reset() noexcept {
  const std::uint32_t claimed = std::min(head_->claimed, head_->capacity);
  for (std::uint32_t at = 0; at < claimed; ++at) {
    records_[at].published = 0;
  }
  head_->claimed = 0;
}

SharedMemory::SharedMemory(std::size_t size) noexcept : size_(rounded_up(size, huge_page_bytes)) {
  descriptor_ = memfd_create("run", MFD_CLOEXEC);
  const int sized = ftruncate(descriptor_, static_cast<off_t>(size_));
  LASTREF_ASSERT(sized == 0);
  map(descriptor_);
  std::byte* begin = static_cast<std::byte*>(memory_);
  // A page must exist to be made a huge one. Where huge pages are unavailable, small pages suffice.
  for (std::size_t at = 0; at < huge_pages * huge_page_bytes && at < size_; at += huge_page_bytes) {
    begin[at] = std::byte{0};
    madvise(begin + at, huge_page_bytes, collapse);
  }
}

SharedMemory::SharedMemory(std::size_t size, int descriptor) noexcept
    : size_(rounded_up(size, huge_page_bytes)) {
  map(descriptor);
}

/// Maps at an address aligned for huge pages: a forked process then maps 2 MiB with one fault.
void SharedMemory::map(int descriptor) noexcept {
  const std::size_t reach = size_ + huge_page_bytes;
  void* reserved = mmap(nullptr, reach, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  LASTREF_ASSERT(reserved != MAP_FAILED);
  std::byte* begin = static_cast<std::byte*>(reserved);
  const std::size_t skip = rounded_up(reinterpret_cast<std::uintptr_t>(begin), huge_page_bytes) -
                           reinterpret_cast<std::uintptr_t>(begin);
  memory_ =
      mmap(begin + skip, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor, 0);
  LASTREF_ASSERT(memory_ != MAP_FAILED);
  munmap(begin, skip);
  munmap(begin + skip + size_, huge_page_bytes - skip);
}

SharedMemory::~SharedMemory() {
  munmap(memory_, size_);
  if (descriptor_ >= 0) {
    close(descriptor_);
  }
}

}  // namespace lastref::harness
