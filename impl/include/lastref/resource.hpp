// Resource: a name that is counted, and what kind of thing it names.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <lastref/error.hpp>

namespace lastref {

/// What clean-up means for a name. The names are those of loky's tracker.
enum class ResourceType : std::uint8_t {
  file,     ///< unlink
  folder,   ///< recursive delete, symlinks not followed
  semlock,  ///< sem_unlink
  shm,      ///< shm_unlink
  noop,     ///< counted, never cleaned
};

inline constexpr std::size_t resource_types = 5;
/// Bytes; the longest path that Linux takes.
inline constexpr std::size_t name_size_max = 4096;

struct Resource {
  ResourceType type = ResourceType::noop;
  std::string name;  ///< Any bytes but NUL, 1 to name_size_max of them.

  auto operator<=>(const Resource&) const = default;
};

/// Which thing it is that has a name, whatever else is called so later.
struct Identity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t born = 0;  ///< Nanoseconds since 1970; 0 where the file system does not tell.

  auto operator<=>(const Identity&) const = default;
};

/// Whether both may be the same thing: a birth that nobody told is anybody's.
inline bool is_same(const Identity& one, const Identity& other) noexcept {
  return one.device == other.device && one.inode == other.inode &&
         (one.born == other.born || one.born == 0 || other.born == 0);
}

/// "file", "folder", "semlock", "shm", "noop"; and back.
std::string_view name_of(ResourceType type) noexcept;
std::optional<ResourceType> type_of(std::string_view name) noexcept;

/// Whether its names are paths: those of files and folders.
inline bool is_path(ResourceType type) noexcept {
  return type == ResourceType::file || type == ResourceType::folder;
}

/// Whether what it names depends on a working folder. No tracker counts such a name.
inline bool is_relative(const Resource& resource) noexcept {
  return is_path(resource.type) && !resource.name.starts_with('/');
}

/// "file:/tmp/a", with bytes that are not printable ASCII as \xNN. For people and reports.
std::string to_text(const Resource& resource);

/// Whether the tracker can carry it.
///
/// Errors          invalid_argument (empty, or a NUL in it); filename_too_long.
Status check_name(const Resource& resource);

}  // namespace lastref
