// elf_functions: the functions and objects that an ELF file has symbols of.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace lastref::harness {

struct ElfFunction {
  std::uint64_t address = 0;  ///< in memory, before relocation
  std::uint64_t offset = 0;   ///< in the file
  std::uint64_t size = 0;     ///< bytes; 0: unknown
  std::string_view name;      ///< valid during the call
  bool is_dynamic = false;    ///< of the table for the dynamic linker, which strip(1) leaves
};

/// Calls `take` with each function that is loaded; with none if the file cannot be read. It may be
/// in both tables.
void for_each_function(const std::string& file,
                       const std::function<void(const ElfFunction& function)>& take);
/// The same of an open file
void for_each_function(int descriptor,
                       const std::function<void(const ElfFunction& function)>& take);

/// The address in memory, before relocation, of an object of an open file; absent: it has no such
/// symbol.
std::optional<std::uint64_t> address_of_object(int descriptor, std::string_view name);

}  // namespace lastref::harness
