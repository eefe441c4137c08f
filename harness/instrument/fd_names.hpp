// FdNames: names of the descriptors and maps of a process, without machine, pid or random part; and
// the number of crossings of each call at each of them.
//
// The names are kept while the object exists, so views of them remain valid.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory_resource>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <lastref/os.hpp>

#include "harness/instrument/own_memory.hpp"

namespace lastref::harness {

/// The last component of a path, with these replacements for random names:
///   <32 hex>                                              tree
///   <digits>-<digits>-<32 hex>.npy, and the same .part     array, array.part
///   lastref_memmapping_folder_<digits>_<32 hex>_<context>  arrays:<context>; arrays if that is hex
///   lastref_probe_<32 hex>                                probe
std::string_view object_of(std::string_view path) noexcept;

class FdNames {
 public:
  FdNames();

  /// A new descriptor. `path` is its full path, if it has one.
  void open(os::Fd fd, std::string_view name, std::string_view path = {});
  void close(os::Fd fd) noexcept;
  /// The descriptor refers to a child that has to be reaped,
  void is_child(os::Fd fd);
  /// and has been reaped.
  void is_reaped(os::Fd fd) noexcept;
  void rename(os::Fd fd, std::string_view name);

  std::string_view name_of(os::Fd fd);
  std::string_view path_of(os::Fd fd);
  /// The full path of a file, as far as known.
  std::string path_of(const os::PathAt& where);
  /// A rename: paths at or below `from` are now at or below `to`. Names do not change.
  void move(std::string_view from, std::string_view to);
  /// A new map of an object called `name`.
  void map(os::Bytes mapped, std::string_view name);
  void unmap(os::Bytes mapped) noexcept;
  std::string_view name_of(os::Bytes mapped);

  /// bytes of all maps
  std::uint64_t mapped();

  /// The names of all open descriptors except the standard ones; "map:" + name of all maps;
  /// "child:" + name of each child that was not reaped, and cannot be any more.
  std::vector<std::string> still_open();

  /// "process:" + role and similar names, kept.
  std::string_view joined(std::string_view prefix, std::string_view rest);

  /// Counts a crossing of this name and object, from 1.
  std::uint32_t count(std::string_view name, std::string_view object);

  /// bytes of the heap that grow with the names and crossings of a run
  std::uint64_t memory() const noexcept { return memory_.in_use(); }

 private:
  struct Entry {
    std::string_view name;
    std::string_view path;
    bool open = false;
    bool is_child = false;  ///< and not reaped
  };
  Entry& entry(os::Fd fd);
  struct Mapped {
    std::string_view name;
    std::size_t size = 0;
  };
  std::string_view kept(std::string_view text);

  std::mutex mutex_;
  OwnMemory memory_;
  std::pmr::deque<std::pmr::string> texts_{&memory_};
  std::pmr::unordered_map<std::string_view, std::string_view> known_{&memory_};
  std::vector<Entry> entries_;
  Entry none_;  ///< for unknown descriptors
  std::multimap<const std::byte*, Mapped> maps_;
  std::vector<std::string_view> zombies_;
  std::pmr::unordered_map<std::uint64_t, std::uint32_t> counts_{&memory_};
};

}  // namespace lastref::harness
