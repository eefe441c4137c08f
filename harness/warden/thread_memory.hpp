// ThreadMemory: reads the memory of a thread that waits for the warden, page by page. What it reads
// may be wrong on purpose: sizes and addresses are those of the process. So no more than 16 MiB of
// a thread are read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace lastref::harness::warden {

class ThreadMemory {
 public:
  explicit ThreadMemory(int thread) : thread_(thread) {}

  int thread() const noexcept { return thread_; }
  /// Copies this many bytes. False: not all of them are readable.
  bool read(std::uint64_t address, void* into, std::size_t size);
  std::optional<std::uint64_t> word(std::uint64_t address);
  /// Empty: not readable.
  std::string bytes(std::uint64_t address, std::size_t size);

 private:
  static constexpr std::size_t page_size = 4096;
  static constexpr std::size_t pages_max = 4096;
  using Page = std::array<char, page_size>;

  /// nullptr: it is not readable.
  const Page* page(std::uint64_t number);

  int thread_;
  std::map<std::uint64_t, std::unique_ptr<Page>> pages_;  ///< By number
};

}  // namespace lastref::harness::warden
