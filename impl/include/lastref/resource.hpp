// Resource: a counted name, and the kind of thing that it names.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <lastref/error.hpp>

namespace lastref {

/// How a name is cleaned up. The type names are those of loky's tracker.
enum class ResourceType : std::uint8_t {
  file,     ///< unlink
  folder,   ///< recursive delete, symlinks not followed
  semlock,  ///< sem_unlink
  shm,      ///< shm_unlink
  noop,     ///< counted, never cleaned
};

inline constexpr std::size_t resource_types = 5;
/// Bytes; the longest path that Linux accepts.
inline constexpr std::size_t name_size_max = 4096;

struct Resource {
  ResourceType type = ResourceType::noop;
  std::string name;  ///< 1 to name_size_max bytes, none of them NUL.

  auto operator<=>(const Resource&) const = default;
};

/// Identifies the thing that has a name, even if another thing gets the name later.
struct Identity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t btime = 0;  ///< Nanoseconds since 1970; 0 if the file system has none.

  auto operator<=>(const Identity&) const = default;
};

/// Whether both may be the same thing: an unknown birth time matches any.
inline bool is_same(const Identity& one, const Identity& other) noexcept {
  return one.device == other.device && one.inode == other.inode &&
         (one.btime == other.btime || one.btime == 0 || other.btime == 0);
}

/// "file", "folder", "semlock", "shm", "noop"; and back.
std::string_view name_of(ResourceType type) noexcept;
std::optional<ResourceType> type_of(std::string_view name) noexcept;

/// Whether names of this type are paths: those of files and folders are.
inline bool is_path(ResourceType type) noexcept {
  return type == ResourceType::file || type == ResourceType::folder;
}

/// Whether the meaning of the name depends on the working folder. No tracker counts such a name.
inline bool is_relative(const Resource& resource) noexcept {
  return is_path(resource.type) && !resource.name.starts_with('/');
}

/// "file:/tmp/a", with bytes that are not printable ASCII as \xNN. For messages and reports.
std::string to_text(const Resource& resource);

/// Checks that the tracker can carry the name.
///
/// Errors          invalid_argument (empty, or a NUL in it); filename_too_long.
Status check_name(const Resource& resource);

}  // namespace lastref
