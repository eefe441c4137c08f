// Symbols: the names of functions by address, in the kernel and in program files.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lastref::perf {

/// Symbols, sorted by begin.
class Symbols {
 public:
  /// A size of 0 means up to the next symbol.
  void add(std::uint64_t begin, std::uint64_t size, std::string name);
  /// Has to be called after all symbols were added.
  void sort();
  /// Empty: there is no symbol.
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

/// The symbols of the running kernel; none if it hides their addresses. kptr_restrict
Symbols kernel_symbols();

/// The functions of an ELF file, by their offset in the file; none if it cannot be read. The
/// functions that copy memory are also known for a stripped C library.
Symbols symbols_of_file(const std::string& file);

}  // namespace lastref::perf
