// slot_file: the file that has a live cache's words, to which processes store through a map.
//
// A store through a map cannot report that there is no space: it raises SIGBUS. It needs no space
// if a written block stays at its place, as on tmpfs, ext2 to ext4 and xfs: zeros written once
// reserve the space permanently. On btrfs, bcachefs and zfs each store may need a new block, even
// over zeros (also those of fallocate). An overlay behaves like the file system below it, which
// cannot be determined; other file systems are unknown. On all of these, the head and the slots, 8
// bytes each, are in a file of their own, in the first of a few folders that is on a suitable file
// system and has space. The values stay in the requested folder: write(2) writes them and can
// return ENOSPC, and reading through a map needs no space.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include <lastref/owners.hpp>
#include <lastref/references.hpp>

#include "impl/cache/owned_file.hpp"

namespace lastref::cache {

/// Numbered from 1 in the head of a cache; 0 means that they are with the values. Always the same
/// folders, because a process that attaches may have another environment.
inline constexpr std::array<const char*, 3> slot_file_folders = {"/dev/shm", "/tmp", "/var/tmp"};

/// Whether stores need no space on this kind of file system, by the numbers of statfs(2).
bool keeps_space(std::uint64_t file_system) noexcept;

/// `base` is the name of the live cache's file without its extension.
std::string slot_file_path(std::uint64_t folder_number, const std::string& base);

/// A file of zeros for the words of a cache.
struct SlotFile {
  OwnedFile own;
  os::UniqueFd file;
  std::uint64_t folder_number = 0;
};

/// Makes them in the first folder that has space.
///
/// Errors          no_space_on_device, not_supported: the subject contains the error of each
///                 folder.
Result<SlotFile> make_slot_file(os::Os& os,
                                const std::shared_ptr<References>& references,
                                const std::string& base,
                                std::uint64_t size);

/// Writes zeros up to `end`: otherwise the store that publishes a value would have to fill a hole.
///
/// Errors          of write_at.
Status write_zeros(os::Os& os, os::Fd file, std::uint64_t from, std::uint64_t end);

}  // namespace lastref::cache
