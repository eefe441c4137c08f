// FileOs: an Os with one file in memory, whatever its name.
//
// A map is a copy that ends where the mapped bytes end, on the heap: with AddressSanitizer, what
// looks beyond is seen. What is stored in one is not in the file.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "property_tests/fuzz/absent_os.hpp"

namespace lastref::fuzz {

class FileOs final : public AbsentOs {
 public:
  explicit FileOs(os::Bytes bytes) : content(bytes.begin(), bytes.end()) {}

  std::vector<std::byte> content;
  std::size_t read_most = ~std::size_t{0};  ///< bytes that one read gives
  std::vector<std::string> opened;          ///< Every name that was opened, and
  std::size_t written = 0;                  ///< how often something was written.

  /// Whether everything that was opened or mapped was given back.
  bool is_at_rest() const noexcept { return positions_.empty() && maps_.empty(); }

  Result<os::Fd> open(const os::Place& place, const os::OpenOptions& options) noexcept override;
  Status close(os::Fd fd) noexcept override;
  Result<std::size_t> read(os::Fd fd, os::Buffer into) noexcept override;
  Result<std::size_t> write_at(os::Fd fd, os::Bytes bytes, std::uint64_t offset) noexcept override;
  Result<os::FileStatus> status(os::Fd fd) noexcept override;
  Result<os::Buffer> map(const os::MapOptions& options) noexcept override;
  Status unmap(os::Buffer mapped) noexcept override;

 private:
  std::map<os::Fd, std::size_t> positions_;
  std::map<std::byte*, std::unique_ptr<std::byte[]>> maps_;
};

}  // namespace lastref::fuzz
