#include "impl/os/kernel_os_objects.hpp"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <span>
#include <string_view>

namespace lastref::os {
namespace {

struct Search {
  std::uintptr_t address = 0;
  bool is_found = false;
  dl_phdr_info object{};
};

std::span<const ElfW(Phdr)> segments_of(const dl_phdr_info& object) noexcept {
  return {object.dlpi_phdr, object.dlpi_phnum};
}

/// Allocates nothing: an exception would leave the lock of the loader locked.
int visit(dl_phdr_info* object, std::size_t /*size*/, void* given) noexcept {
  auto& search = *static_cast<Search*>(given);
  for (const ElfW(Phdr) & segment : segments_of(*object)) {
    const std::uintptr_t start = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && search.address - start < segment.p_memsz) {
      search.object = *object;
      search.is_found = true;
      return 1;
    }
  }
  return 0;
}

std::string hexadecimal(std::span<const std::byte> bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const std::byte each : bytes) {
    text += digits[std::to_integer<std::size_t>(each >> 4U)];
    text += digits[std::to_integer<std::size_t>(each & std::byte{15})];
  }
  return text;
}

/// The build id among the notes of a segment; empty if it is not there. elf(5), "Notes (Nhdr)".
std::span<const std::byte> build_id_in(std::span<const std::byte> notes, std::size_t alignment) {
  const auto aligned = [&](std::size_t size) { return (size + alignment - 1) & ~(alignment - 1); };
  ElfW(Nhdr) note{};
  while (notes.size() >= sizeof note) {
    std::memcpy(&note, notes.data(), sizeof note);
    const std::size_t name_end = aligned(sizeof note + note.n_namesz);
    const std::size_t end = aligned(name_end + note.n_descsz);
    if (name_end + note.n_descsz > notes.size()) {
      return {};
    }
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof ELF_NOTE_GNU &&
        std::memcmp(&notes[sizeof note], ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0) {
      return notes.subspan(name_end, note.n_descsz);
    }
    notes = notes.subspan(std::min(end, notes.size()));
  }
  return {};
}

std::string build_id_of(const dl_phdr_info& object) {
  for (const ElfW(Phdr) & segment : segments_of(object)) {
    if (segment.p_type == PT_NOTE) {
      const std::uintptr_t start = object.dlpi_addr + segment.p_vaddr;
      // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader has mapped it there.
      const auto* const notes = reinterpret_cast<const std::byte*>(start);
      constexpr std::size_t usual_alignment = 4;
      const auto id =
          build_id_in({notes, segment.p_memsz}, segment.p_align == 8 ? 8 : usual_alignment);
      if (!id.empty()) {
        return hexadecimal(id);
      }
    }
  }
  return {};
}

}  // namespace

std::optional<ObjectFile> object_file_at(std::uintptr_t address) {
  Search search{.address = address};
  ::dl_iterate_phdr(&visit, &search);
  if (!search.is_found) {
    return std::nullopt;
  }
  return ObjectFile{.path = search.object.dlpi_name == nullptr ? "" : search.object.dlpi_name,
                    .build_id = build_id_of(search.object),
                    .base = search.object.dlpi_addr};
}

std::string mapped_path_at(std::uintptr_t address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t start = 0;
    std::uintptr_t end = 0;
    const char* const last = line.data() + line.size();
    const auto first = std::from_chars(line.data(), last, start, 16);
    if (first.ptr != last && std::from_chars(first.ptr + 1, last, end, 16).ec == std::errc() &&
        address - start < end - start) {
      return line.substr(std::min(line.find('/'), line.size()));
    }
  }
  return {};
}

}  // namespace lastref::os
