// FileLook: the content of a file of a run at a quiet moment, after a kill, or when the run was
// over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lastref::harness {

struct FileLook {
  std::string path;
  std::string bytes;
  std::size_t moment = 0;  ///< The number of records in the journal at that time.
};

/// bytes; larger files are not read.
inline constexpr std::uint64_t looked_at_size_max = std::uint64_t{1} << 20U;

/// Whether a file of that path may be one that the product publishes under its final name, judged
/// by that name: locks, sockets, semaphores and parts are not.
constexpr bool may_be_published(std::string_view path) noexcept {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return !name.ends_with(".part") && !name.ends_with(".lock") && !name.starts_with("sem.") &&
         name != "lock" && name != "socket";
}

}  // namespace lastref::harness
