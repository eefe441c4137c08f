#include "impl/cache/slot_file.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "impl/os/folders.hpp"
#include "impl/os/limits.hpp"

namespace lastref::cache {
namespace {

/// Tries one folder.
Result<SlotFile> make_slot_file_in(os::Os& os,
                                   const std::shared_ptr<References>& references,
                                   std::uint64_t folder_number,
                                   const std::string& base,
                                   std::uint64_t size) {
  const std::string folder = slot_file_folders[folder_number - 1];
  LASTREF_TRY(kind, os.file_system(folder));
  if (!keeps_space(kind)) {
    return failure(std::errc::not_supported, folder + " (a store there may need space)");
  }
  LASTREF_CHECK(os::check_is_safe(os, folder));
  LASTREF_TRY(own, OwnedFile::make_at(os, references, slot_file_path(folder_number, base)));
  os::UniqueFd file = own.take_open();
  if (Status written = write_zeros(os, file.get(), 0, size); !written) {
    return failure_at(std::move(written).error(), own.path());
  }
  return SlotFile{.own = std::move(own), .file = std::move(file), .folder_number = folder_number};
}

}  // namespace

bool keeps_space(std::uint64_t file_system) noexcept {
  constexpr std::array<std::uint64_t, 4> good = {
      0x01021994,  // tmpfs
      0xef53,      // ext2, ext3, ext4
      0x58465342,  // XFS
      0x858458f6,  // ramfs
  };
  return std::ranges::find(good, file_system) != good.end();
}

std::string slot_file_path(std::uint64_t folder_number, const std::string& base) {
  return std::string(slot_file_folders[folder_number - 1]) + "/lastref-" + base + ".words";
}

Result<SlotFile> make_slot_file(os::Os& os,
                                const std::shared_ptr<References>& references,
                                const std::string& base,
                                std::uint64_t size) {
  std::string said = "the slots of a cache, which need a file system that keeps its space";
  std::errc code{};
  for (std::uint64_t folder_number = 1; folder_number <= slot_file_folders.size();
       ++folder_number) {
    auto made = make_slot_file_in(os, references, folder_number, base, size);
    if (made) {
      return made;
    }
    said += "; " + describe(made.error());
    if (code == std::errc{} || made.error().code == std::errc::no_space_on_device) {
      code = made.error().code;
    }
  }
  return failure(code, std::move(said));
}

Status write_zeros(os::Os& os, os::Fd file, std::uint64_t from, std::uint64_t end) {
  const std::uint64_t zeros_max = os::limits_of(os).cache_zeros;
  const std::vector<std::byte> zeros(static_cast<std::size_t>(std::min(end, zeros_max)));
  for (std::uint64_t at = from; at < end; at += zeros.size()) {
    const std::uint64_t count = std::min<std::uint64_t>(zeros.size(), end - at);
    LASTREF_CHECK(
        os::write_all_at(os, file, os::Bytes(zeros).first(static_cast<std::size_t>(count)), at));
  }
  return ok();
}

}  // namespace lastref::cache
