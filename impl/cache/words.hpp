// words: where the words of a live cache lie that processes store to through a map.
//
// A store through a map cannot say that there is no space: it is SIGBUS. It needs none where a
// block that was written stays where it is: on tmpfs, ext2 to ext4 and xfs, so that zeros written
// once are space for good. On btrfs, bcachefs and zfs each store may need a new block, zeros or not
// (of fallocate as well); an overlay does as the file system below it, of which nothing can be
// learned; and of others nobody here knows. There the head and the slots, 8 bytes each, are in a
// file of their own, in the first of a few folders that is on one of the good ones and has space.
// The values stay where they were asked to be: they are written by write(2), which can say ENOSPC,
// and what is only read in a map needs no space.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include <lastref/owners.hpp>
#include <lastref/references.hpp>

#include "impl/cache/own_file.hpp"

namespace lastref::cache {

/// Numbered from 1 in the head of a cache; 0 is beside the values. Always the same, for whoever
/// attaches may have another environment.
inline constexpr std::array<const char*, 3> word_folders = {"/dev/shm", "/tmp", "/var/tmp"};

/// Whether stores need no space on this kind of file system, by the numbers of statfs(2).
bool keeps_space(std::uint64_t file_system) noexcept;

/// `base` is the name of the live cache's file without its ending.
std::string words_path(std::uint64_t folder_number, const std::string& base);

/// A file of zeros for the words of a cache.
struct Words {
  OwnFile own;
  os::UniqueFd file;
  std::uint64_t folder_number = 0;
};

/// Where first there is space for them.
///
/// Errors          no_space_on_device, not_supported: what each folder said is in the subject.
Result<Words> make_words(os::Os& os,
                         const std::shared_ptr<References>& references,
                         const std::string& base,
                         std::uint64_t size);

/// Zeros up to there, written: a hole would be filled by the store that publishes.
///
/// Errors          what write_at said.
Status write_zeros(os::Os& os, os::Fd file, std::uint64_t from, std::uint64_t end);

}  // namespace lastref::cache
