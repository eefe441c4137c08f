// FileOs: an Os with one file in memory, whatever its name.
//
// A map is a copy on the heap that ends where the mapped bytes end, or the file: AddressSanitizer
// detects a read past it. Bytes written to the file are in its maps, and bytes stored in a shared
// map are in the file; there is one shared map at a time.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "property_tests/fuzz/absent_os.hpp"

namespace lastref::fuzz {

class FileOs final : public AbsentOs {
 public:
  explicit FileOs(os::Bytes bytes) : content_(bytes.begin(), bytes.end()) {}

  std::size_t read_most = ~std::size_t{0};  ///< bytes that one read returns at most
  /// bytes; a write that would make the file longer is refused as file_too_large.
  std::uint64_t size_most = ~std::uint64_t{0};
  bool grows = false;               ///< Writes may start after the end, and maps may end there.
  std::vector<std::string> opened;  ///< Every name that was opened, and
  std::size_t written = 0;          ///< how often something was written.

  /// The current contents of the file.
  const std::vector<std::byte>& content() noexcept;
  /// Whether everything that was opened or mapped was closed or unmapped.
  bool is_at_rest() const noexcept { return positions_.empty() && maps_.empty(); }

  Result<os::Fd> open(const os::PathAt& where, const os::OpenOptions& options) noexcept override;
  Status close(os::Fd fd) noexcept override;
  Result<std::size_t> read(os::Fd fd, os::Buffer into) noexcept override;
  Result<std::size_t> read_at(os::Fd fd, os::Buffer into, std::uint64_t offset) noexcept override;
  Result<std::size_t> write_at(os::Fd fd, os::Bytes bytes, std::uint64_t offset) noexcept override;
  Status sync(os::Fd fd) noexcept override;
  Status punch_hole(os::Fd fd, std::uint64_t offset, std::uint64_t size) noexcept override;
  Result<os::FileStatus> status(os::Fd fd) noexcept override;
  Result<os::Buffer> map(const os::MapOptions& options) noexcept override;
  Status unmap(os::Buffer mapped) noexcept override;

 private:
  struct Map {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t offset = 0;
    std::size_t size = 0;      ///< The bytes of it that are in the file,
    std::size_t size_max = 0;  ///< and that could be, if the file were longer.
    bool is_shared = false;
  };
  std::size_t copy_to(os::Buffer into, std::uint64_t offset) noexcept;
  void show(Map& map) const noexcept;

  std::vector<std::byte> content_;  // as it was before something was stored in the shared map
  std::map<os::Fd, std::size_t> positions_;
  std::map<std::byte*, Map> maps_;
};

}  // namespace lastref::fuzz
