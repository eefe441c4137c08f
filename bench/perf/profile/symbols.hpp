// Symbols: names of what lies at an address, in the kernel and in files of programs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lastref::perf {

/// Sorted by where each begins.
class Symbols {
 public:
  /// A size of 0: up to the next one.
  void add(std::uint64_t begin, std::uint64_t size, std::string name);
  /// To be called when all have been added.
  void sort();
  /// Empty: none is there.
  std::string_view at(std::uint64_t address) const;
  bool empty() const noexcept { return all_.empty(); }

 private:
  struct Symbol {
    std::uint64_t begin = 0;
    std::uint64_t size = 0;
    std::string name;
  };
  std::vector<Symbol> all_;
};

/// Of the running kernel; none if it does not tell where they lie. kptr_restrict
Symbols kernel_symbols();

/// Functions of an ELF file, by where they lie in the file; none if it cannot be read. Of a C
/// library that has been stripped, those that copy memory.
Symbols symbols_of_file(const std::string& file);

}  // namespace lastref::perf
