#include "harness/platform/build_id.hpp"

#include <link.h>

#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>

#include <fmt/format.h>

namespace lastref::harness {
namespace {

std::string hexadecimal(std::string_view bytes) {
  std::string text;
  for (const char each : bytes) {
    text += fmt::format("{:02x}", static_cast<unsigned char>(each));
  }
  return text;
}

/// A note has a head, its name and its contents, each with padding. elf(5), Notes
std::string id_in(std::string_view notes) {
  constexpr std::size_t padding = 4;
  constexpr std::string_view name("GNU\0", 4);
  const auto padded = [](std::size_t size) { return (size + padding - 1) / padding * padding; };
  ElfW(Nhdr) head{};
  while (notes.size() >= sizeof head) {
    std::memcpy(&head, notes.data(), sizeof head);
    const std::size_t contents = sizeof head + padded(head.n_namesz);
    const std::size_t end = contents + padded(head.n_descsz);
    if (end > notes.size()) {
      break;
    }
    if (head.n_type == NT_GNU_BUILD_ID && notes.substr(sizeof head, head.n_namesz) == name) {
      return hexadecimal(notes.substr(contents, head.n_descsz));
    }
    notes.remove_prefix(end);
  }
  return {};
}

/// The first object that is reported is the program itself. dl_iterate_phdr(3)
int take_first(dl_phdr_info* object, std::size_t, void* id) {
  for (const auto& segment : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
    if (segment.p_type == PT_NOTE) {
      // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader reports a base and offsets.
      const auto* const notes = reinterpret_cast<const char*>(object->dlpi_addr + segment.p_vaddr);
      auto& found = *static_cast<std::string*>(id);
      found = found.empty() ? id_in({notes, segment.p_memsz}) : found;
    }
  }
  return 1;
}

}  // namespace

std::string build_id() {
  std::string id;
  ::dl_iterate_phdr(take_first, &id);
  return id;
}

}  // namespace lastref::harness
