#include "harness/kernel/huge_pages.hpp"

#include <link.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

namespace lastref::harness {
namespace {

constexpr std::uintptr_t huge_page = std::uintptr_t{2} << 20;
constexpr std::size_t segments_max = 16;

constexpr std::uintptr_t up_to_huge(std::uintptr_t address) noexcept {
  return (address + huge_page - 1) & ~(huge_page - 1);
}

void* at_address(std::uintptr_t address) noexcept {
  // The program headers have addresses as numbers.
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

struct LoadedSegment {
  std::uintptr_t begin;
  std::uintptr_t end;
  unsigned flags;
};

struct LoadedProgram {
  std::array<LoadedSegment, segments_max> segments;
  std::size_t count = 0;
};

/// The first object that is reported is the program itself. dl_iterate_phdr(3)
int note_segments(dl_phdr_info* object, std::size_t, void* into) noexcept {
  LoadedProgram& program = *static_cast<LoadedProgram*>(into);
  for (const ElfW(Phdr) & header : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
    if (header.p_type == PT_LOAD && program.count < segments_max) {
      const std::uintptr_t begin = object->dlpi_addr + header.p_vaddr;
      program.segments[program.count++] = {begin, begin + header.p_memsz, header.p_flags};
    }
  }
  return 1;
}

void move_to_huge_pages(const LoadedSegment& segment) noexcept {
  const std::uintptr_t size = up_to_huge(segment.end) - segment.begin;
  // One huge page more, so that it contains an aligned part of the size wherever it is mapped.
  const std::uintptr_t space = size + huge_page;
  void* const mapped =
      ::mmap(nullptr, space, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) {
    return;
  }
  const auto start = reinterpret_cast<std::uintptr_t>(mapped);
  void* const copy = at_address(up_to_huge(start));
  void* const address = at_address(segment.begin);
  if (::madvise(copy, size, MADV_HUGEPAGE) == 0) {
    std::memcpy(copy, address, segment.end - segment.begin);
    const int access = PROT_READ | ((segment.flags & PF_X) != 0 ? PROT_EXEC : 0);
    if (::mprotect(copy, size, access) == 0) {
      // In one step: this function itself may be in the replaced segment.
      ::mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, address);
    }
  }
  ::munmap(mapped, space);
}

}  // namespace

void hold_program_in_huge_pages() noexcept {
  LoadedProgram program;
  ::dl_iterate_phdr(note_segments, &program);
  for (std::size_t at = 0; at < program.count; ++at) {
    const LoadedSegment& segment = program.segments[at];
    const bool is_last = at + 1 == program.count;
    const bool has_space = !is_last && up_to_huge(segment.end) <= program.segments[at + 1].begin;
    if ((segment.flags & PF_W) == 0 && segment.begin % huge_page == 0 && has_space) {
      move_to_huge_pages(segment);
    }
  }
}

}  // namespace lastref::harness
