#include "harness/platform/elf_functions.hpp"

#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>

#include <cstddef>
#include <optional>

#include "harness/platform/unique_fd.hpp"

namespace lastref::harness {
namespace {

std::optional<std::uint64_t> offset_of(Elf* elf, std::uint64_t address) {
  std::size_t count = 0;
  elf_getphdrnum(elf, &count);
  for (std::size_t at = 0; at < count; ++at) {
    GElf_Phdr segment;
    if (gelf_getphdr(elf, static_cast<int>(at), &segment) != nullptr && segment.p_type == PT_LOAD &&
        address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz) {
      return address - segment.p_vaddr + segment.p_offset;
    }
  }
  return std::nullopt;
}

void for_each_in(Elf* elf,
                 Elf_Scn* section,
                 unsigned char type,
                 const std::function<void(const ElfFunction& symbol)>& take) {
  GElf_Shdr header;
  if (gelf_getshdr(section, &header) == nullptr ||
      (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM)) {
    return;
  }
  Elf_Data* const data = elf_getdata(section, nullptr);
  const std::size_t entries = header.sh_entsize == 0 ? 0 : header.sh_size / header.sh_entsize;
  for (std::size_t at = 0; data != nullptr && at < entries; ++at) {
    GElf_Sym symbol;
    if (gelf_getsym(data, static_cast<int>(at), &symbol) == nullptr ||
        GELF_ST_TYPE(symbol.st_info) != type) {
      continue;
    }
    const char* const name = elf_strptr(elf, header.sh_link, symbol.st_name);
    if (const auto offset = offset_of(elf, symbol.st_value); name != nullptr && offset) {
      take({.address = symbol.st_value,
            .offset = *offset,
            .size = symbol.st_size,
            .name = name,
            .is_dynamic = header.sh_type == SHT_DYNSYM});
    }
  }
}

void for_each_symbol(int descriptor,
                     unsigned char type,
                     const std::function<void(const ElfFunction& symbol)>& take) {
  if (elf_version(EV_CURRENT) == EV_NONE) {
    return;
  }
  Elf* const elf = elf_begin(descriptor, ELF_C_READ, nullptr);
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    for_each_in(elf, section, type, take);
  }
  elf_end(elf);
}

}  // namespace

void for_each_function(const std::string& file,
                       const std::function<void(const ElfFunction& function)>& take) {
  if (const UniqueFd descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC)); descriptor) {
    for_each_function(descriptor.get(), take);
  }
}

void for_each_function(int descriptor,
                       const std::function<void(const ElfFunction& function)>& take) {
  for_each_symbol(descriptor, STT_FUNC, take);
}

std::optional<std::uint64_t> address_of_object(int descriptor, std::string_view name) {
  std::optional<std::uint64_t> address;
  for_each_symbol(descriptor, STT_OBJECT, [&](const ElfFunction& symbol) {
    address = symbol.name == name ? symbol.address : address;
  });
  return address;
}

}  // namespace lastref::harness
