// Memory: a stretch of bytes that arrays view, and where they come from.
//
// Whoever views it shares it, and it goes when the last of them does. The bytes never move. What a
// newcomer would get wrong: a file map need not start where a page does. `bytes()` is what was
// asked for, `file()->offset` is where that starts in the file, and what else was mapped is
// nobody's.
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

/// As numpy.memmap means them.
enum class MapMode : std::uint8_t {
  read,           ///< "r": of an existing file; nobody writes.
  read_write,     ///< "r+": of an existing file; what is stored is in the file.
  create,         ///< "w+": of a new file of zeros, in place of what has the name; as "r+".
  copy_on_write,  ///< "c": of an existing file; what is stored stays here.
};

/// "r", "r+", "w+", "c"; and back.
std::string_view name_of(MapMode mode) noexcept;
std::optional<MapMode> map_mode_of(std::string_view name) noexcept;

/// Which bytes of which file.
struct FileMap {
  /// From the root, whatever the working folder becomes; as it was named if that was below a
  /// folder that was open, which nobody can tell the path of.
  std::string path;
  MapMode mode = MapMode::read;  ///< As it was asked for.
  std::uint64_t offset = 0;      ///< bytes, from the start of the file
  /// Of what was mapped, whatever has the path later. On overlayfs a copied-up file has the device
  /// and inode of the one that it replaces, and another birth time.
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
  stranger,       ///< Somebody else's, who was told to keep it.
};

class Memory;
using MemoryRef = std::shared_ptr<const Memory>;

class Memory {
 public:
  /// New zeros, aligned to 64.
  ///
  /// Errors          not_enough_memory.
  static Result<MemoryRef> zeros(std::size_t size);

  /// The same, of anything at all.
  ///
  /// Errors          not_enough_memory.
  static Result<MemoryRef> uninitialized(std::size_t size);

  /// Somebody else's bytes, which are there as long as `keeper` is.
  static MemoryRef borrow(os::Buffer bytes, std::shared_ptr<const void> keeper);
  static MemoryRef borrow(os::Bytes bytes, std::shared_ptr<const void> keeper);

  /// Zeros in a map without a file. The Os outlives it, as in all that follows.
  ///
  /// Errors          not_enough_memory; invalid_argument (no bytes).
  /// Crossings       map; unmap when it goes.
  static Result<MemoryRef> map_anonymous(os::Os& os, std::size_t size);

  /// A stretch of a file. In mode "r+" a file that is too short becomes longer, as in numpy. The
  /// name may be a symlink; `file()` names what it leads to. In "w+" the symlink is replaced.
  ///
  /// Differs: "w+" makes a new file (0600) and never empties an old one, so those who have mapped
  /// that keep what they see.
  ///
  /// Errors          value_too_large: the stretch ends beyond what a file can have, and nothing was
  ///                 touched; invalid_argument, with the reason as subject: not a regular file, or
  ///                 too short for "r" or "c"; filename_too_long, with the limit: a relative name
  ///                 in so deep a folder; what working_folder, unlink, open, read_link, allocate,
  ///                 write_at or map said: no_space_on_device also for what is not stored yet. A
  ///                 file that was made is gone again.
  /// Crossings       working_folder for a relative path; open, status, map, close; read_link for a
  ///                 symlink; allocate, or write_at, in "r+" and "w+"; in "w+" unlink before open,
  ///                 and on an error status, status_at, unlink; unmap when it goes.
  /// Limits          Where a file system copies what is stored (btrfs, some overlays), a store may
  ///                 still find it full, which is SIGBUS.
  static Result<MemoryRef> map_file(os::Os& os, const os::PathAt& where, MapFileOptions options);

  /// The same with a file that is open, and was opened as the mode asks: it is never made or
  /// removed. `path` is what `file()` will say.
  ///
  /// Errors          as above.
  /// Crossings       status, map; allocate, or write_at, in "r+" and "w+"; unmap when it goes.
  static Result<MemoryRef> map_open(os::Os& os,
                                    os::Fd fd,
                                    std::string path,
                                    MapFileOptions options);

  /// The same for who has just asked what the file is.
  ///
  /// Errors          as above.
  /// Crossings       map; allocate, or write_at, in "r+" and "w+"; unmap when it goes.
  static Result<MemoryRef> map_open(os::Os& os,
                                    os::Fd fd,
                                    std::string path,
                                    MapFileOptions options,
                                    const os::FileStatus& status);

  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory();

  /// For those who are allowed to write: see `writable`.
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
