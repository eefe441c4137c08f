#include "bench/perf/profile/symbols.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>

namespace lastref::perf {
namespace {

/// The address of a part of a file in memory, before relocation.
struct Segment {
  std::uint64_t offset = 0;
  std::uint64_t address = 0;
  std::uint64_t size = 0;
};

std::vector<Segment> segments_of(Elf* elf) {
  std::vector<Segment> all;
  std::size_t count = 0;
  elf_getphdrnum(elf, &count);
  for (std::size_t at = 0; at < count; ++at) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, static_cast<int>(at), &header) != nullptr && header.p_type == PT_LOAD) {
      all.push_back(
          {.offset = header.p_offset, .address = header.p_vaddr, .size = header.p_filesz});
    }
  }
  return all;
}

std::optional<std::uint64_t> offset_of(const std::vector<Segment>& segments,
                                       std::uint64_t address) {
  const auto at = std::ranges::find_if(segments, [&](const Segment& each) {
    return address >= each.address && address - each.address < each.size;
  });
  return at == segments.end() ? std::nullopt : std::optional(address - at->address + at->offset);
}

void add_functions(Elf* elf, Elf_Scn* section, Symbols& symbols) {
  GElf_Shdr header;
  Elf_Data* const data = elf_getdata(section, nullptr);
  if (gelf_getshdr(section, &header) == nullptr || data == nullptr || header.sh_entsize == 0) {
    return;
  }
  const std::vector<Segment> segments = segments_of(elf);
  const std::uint64_t count = header.sh_size / header.sh_entsize;
  for (std::uint64_t at = 0; at < count; ++at) {
    GElf_Sym symbol;
    if (gelf_getsym(data, static_cast<int>(at), &symbol) == nullptr ||
        GELF_ST_TYPE(symbol.st_info) != STT_FUNC) {
      continue;
    }
    const char* const name = elf_strptr(elf, header.sh_link, symbol.st_name);
    const auto offset = offset_of(segments, symbol.st_value);
    if (name != nullptr && offset) {
      symbols.add(*offset, symbol.st_size, name);
    }
  }
}

/// When it starts, the C library chooses the copy functions that fit the processor. Only their
/// addresses show which ones it has chosen.
void add_copying(const std::string& file, Symbols& symbols) {
  constexpr std::uint64_t way_size = 2048;  // bytes; size of the longest function
  for (const char* const name : {"memcpy", "memmove", "memset"}) {
    void* const function = ::dlsym(RTLD_DEFAULT, name);
    Dl_info info{};
    if (function != nullptr && ::dladdr(function, &info) != 0 && info.dli_fname != nullptr &&
        file.ends_with(std::string_view(info.dli_fname)
                           .substr(std::string_view(info.dli_fname).rfind('/') + 1))) {
      const auto offset = static_cast<std::uint64_t>(static_cast<const char*>(function) -
                                                     static_cast<const char*>(info.dli_fbase));
      symbols.add(offset, way_size, name);
    }
  }
}

}  // namespace

void Symbols::add(std::uint64_t begin, std::uint64_t size, std::string name) {
  all_.push_back({.begin = begin, .size = size, .name = std::move(name)});
}

void Symbols::sort() {
  std::ranges::stable_sort(all_, {}, &Symbol::begin);
}

std::string_view Symbols::at(std::uint64_t address) const {
  const auto behind = std::ranges::upper_bound(all_, address, {}, &Symbol::begin);
  if (behind == all_.begin()) {
    return {};
  }
  const Symbol& symbol = *std::prev(behind);
  return symbol.size == 0 || address - symbol.begin < symbol.size ? std::string_view(symbol.name)
                                                                  : std::string_view();
}

Symbols kernel_symbols() {
  Symbols symbols;
  std::ifstream file("/proc/kallsyms");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::uint64_t address = 0;
    char kind = 0;
    std::string name;
    words >> std::hex >> address >> kind >> name;
    if (address != 0 && (kind == 't' || kind == 'T')) {
      symbols.add(address, 0, std::move(name));
    }
  }
  symbols.sort();
  return symbols;
}

Symbols symbols_of_file(const std::string& file) {
  Symbols symbols;
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0 || elf_version(EV_CURRENT) == EV_NONE) {
    return symbols;
  }
  Elf* const elf = elf_begin(descriptor, ELF_C_READ, nullptr);
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) != nullptr &&
        (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM)) {
      add_functions(elf, section, symbols);
    }
  }
  elf_end(elf);
  ::close(descriptor);
  add_copying(file, symbols);
  symbols.sort();
  return symbols;
}

}  // namespace lastref::perf
