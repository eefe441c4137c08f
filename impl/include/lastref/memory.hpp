// Memory: a range of bytes that arrays view, and its origin.
//
// All views share it, and it is destroyed with the last of them. The bytes never move. Pitfall: a
// file map need not start at a page boundary. `bytes()` is the requested range, `file()->offset` is
// where that range starts in the file, and the other mapped bytes are not to be used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <lastref/error.hpp>
#include <lastref/os.hpp>
#include <lastref/owners.hpp>
#include <lastref/resource.hpp>

namespace lastref {

/// The modes of numpy.memmap.
enum class MapMode : std::uint8_t {
  read,           ///< "r": an existing file; read-only.
  read_write,     ///< "r+": an existing file; stores go to the file.
  create,         ///< "w+": a new file of zeros, which replaces the old one; otherwise as "r+".
  copy_on_write,  ///< "c": an existing file; stores are visible only in this map.
};

/// "r", "r+", "w+", "c"; and back.
std::string_view name_of(MapMode mode) noexcept;
std::optional<MapMode> map_mode_of(std::string_view name) noexcept;

/// The mapped bytes of a file.
struct FileMap {
  /// Absolute, so a change of the working folder does not matter. As given by the caller if it was
  /// relative to an open folder, because the path of that folder is unknown.
  std::string path;
  MapMode mode = MapMode::read;  ///< As requested.
  std::uint64_t offset = 0;      ///< bytes, from the start of the file
  /// The mapped file, whatever has the path later. On overlayfs a copied-up file has the device and
  /// inode of the one that it replaces, and another birth time.
  Identity identity = {};

  bool operator==(const FileMap&) const = default;
};

struct MapFileOptions {
  MapMode mode = MapMode::read;
  std::uint64_t offset = 0;                  ///< bytes; any number
  std::size_t size = 0;                      ///< bytes; 0 maps nothing
  std::function<void()> when_unmapped = {};  ///< Called once, after the unmap. Not on an error.
};

enum class Origin : std::uint8_t {
  allocated,      ///< by us
  file_map,       ///< See Memory::file.
  anonymous_map,  ///< A map without a file.
  external,       ///< Borrowed bytes, which a keeper keeps.
};

class Memory;
using MemoryRef = std::shared_ptr<const Memory>;

class Memory {
 public:
  /// Returns new zeros, aligned to 64 bytes.
  ///
  /// Errors          not_enough_memory.
  static Result<MemoryRef> zeros(std::size_t size);

  /// As zeros, but with undefined contents.
  ///
  /// Errors          not_enough_memory.
  static Result<MemoryRef> uninitialized(std::size_t size);

  /// Borrows bytes of another owner, which exist while `keeper` exists.
  static MemoryRef wrap(os::Buffer bytes, std::shared_ptr<const void> keeper);
  static MemoryRef wrap(os::Bytes bytes, std::shared_ptr<const void> keeper);

  /// Returns zeros in a map without a file. Here and below, the Os must outlive the memory.
  ///
  /// Errors          not_enough_memory; invalid_argument (no bytes).
  /// Crossings       map; unmap when the memory is destroyed.
  static Result<MemoryRef> map_anonymous(os::Os& os, std::size_t size);

  /// Maps a range of a file. In mode "r+" a file that is too short is extended, as in numpy. The
  /// name may be a symlink; `file()` names its target. In "w+" the symlink is replaced.
  ///
  /// Differs: "w+" creates a new file (0600) and never truncates an old one. So processes that have
  /// mapped the old file keep its contents.
  ///
  /// Errors          value_too_large: the range ends beyond the maximum size of a file; nothing was
  ///                 changed; invalid_argument, with the reason as subject: not a regular file, or
  ///                 too short for "r" or "c"; filename_too_long, with the limit: a relative name
  ///                 in a folder that is too deep; errors of working_folder, unlink, open,
  ///                 read_link, allocate, write_at and map: no_space_on_device also for bytes that
  ///                 are not stored yet. A file that was created is removed again.
  /// Crossings       working_folder for a relative path; open, status, map, close; read_link for a
  ///                 symlink; allocate, or write_at, in "r+" and "w+"; in "w+" unlink before open,
  ///                 and on an error status, status_at, unlink; unmap when the memory is destroyed.
  /// Limits          If a file system copies on write (btrfs, some overlays), a store may still
  ///                 find it full, which raises SIGBUS.
  static Result<MemoryRef> map_file(os::Os& os, const os::PathAt& where, MapFileOptions options);

  /// As map_file, for a file that was opened as the mode requires. It is never created or removed.
  /// `path` is the path that `file()` returns.
  ///
  /// Errors          as above.
  /// Crossings       status, map; allocate, or write_at, in "r+" and "w+"; unmap when the memory is
  ///                 destroyed.
  static Result<MemoryRef> map_open(os::Os& os,
                                    os::Fd fd,
                                    std::string path,
                                    MapFileOptions options);

  /// As map_open, for a caller that has just queried the status of the file.
  ///
  /// Errors          as above.
  /// Crossings       map; allocate, or write_at, in "r+" and "w+"; unmap when the memory is
  ///                 destroyed.
  static Result<MemoryRef> map_open(os::Os& os,
                                    os::Fd fd,
                                    std::string path,
                                    MapFileOptions options,
                                    const os::FileStatus& status);

  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory();

  /// Write to them only if `writable()` is true.
  os::Buffer bytes() const noexcept { return bytes_; }
  bool writable() const noexcept { return writable_; }
  Origin origin() const noexcept { return origin_; }
  /// None unless the origin is a file map.
  const std::optional<FileMap>& file() const noexcept { return file_; }

 private:
  struct Deleter {
    void operator()(std::byte* bytes) const noexcept;
  };
  explicit Memory(Origin origin) noexcept : origin_(origin) {}
  static std::shared_ptr<Memory> make(Origin origin);

  Origin origin_;
  bool writable_ = true;
  os::Buffer bytes_;
  std::optional<FileMap> file_;
  std::unique_ptr<std::byte, Deleter> allocated_;
  std::shared_ptr<const void> keeper_;
  os::UniqueMap map_;
  std::function<void()> when_unmapped_;
};

}  // namespace lastref
