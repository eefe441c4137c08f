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

/// What clean-up means for a name. The words are those of loky's tracker.
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

/// "file", "folder", "semlock", "shm", "noop"; and back.
std::string_view word_of(ResourceType type) noexcept;
std::optional<ResourceType> type_of(std::string_view word) noexcept;

/// "file:/tmp/a", with bytes that are not printable ASCII as \xNN. For people and reports.
std::string to_text(const Resource& resource);

/// Whether the tracker can carry it.
///
/// Errors          invalid_argument (empty, or a NUL in it); filename_too_long.
Status check_name(const Resource& resource);

}  // namespace lastref
