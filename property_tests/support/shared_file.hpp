// shared_file: memory that a test shares with the processes that it starts.
#pragma once

#include <cstddef>
#include <span>

#include <lastref/os.hpp>
#include <lastref/owners.hpp>

namespace lastref::pretend {

/// Shared memory without a name, at first all zeroes. A process that maps it is given its
/// descriptor.
class SharedFile {
 public:
  SharedFile(os::Os& os, std::size_t size);

  os::Fd fd() const noexcept { return file_.get(); }
  std::span<std::byte> memory() const noexcept { return map_.get(); }

 private:
  os::UniqueFd file_;
  os::UniqueMap map_;
};

/// The same memory in a process that was given the descriptor.
Result<std::span<std::byte>> map_shared(os::Os& os, os::Fd file, std::size_t size);

}  // namespace lastref::pretend
