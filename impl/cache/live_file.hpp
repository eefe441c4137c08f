// LiveFile: the file of a cache that many processes write to and read from, without a lock.
//
// Layout, little-endian:
//   0    "lastrefC"; version 1 (4 bytes); 0 (4 bytes); number of slots; limit in bytes or 0; 1 if
//        it is durable; the cache's id (32 hexadecimal digits, random)
//   128  the end: where the next value goes
//   192  1 while it is being frozen, 2 if it is
//   256  the slots, 8 bytes each: 0, or 1 if it is sealed, or where its record starts
//   then the records, each at a multiple of 16: size, number of the slot, the value
// End, frozen and slots are words that processes race on; each is changed in one step.
//
// The order of writes, and what a kill after each leaves:
// 1. The end moves (compare and exchange): the room is ours. Left: dead space, never served.
// 2. The record is written by write(2), which says ENOSPC where a store would be SIGBUS. Left: the
//    same, with some bytes in it.
// 3. If it is durable, the record is synced. Left: the same.
// 4. The slot goes from 0 to the record's place (compare and exchange): all see the value, and all
//    of it, for the exchange releases what came before. Of two writers one gets it, and the other
//    gives its room back.
// 5. If it is durable, the slot is synced.
// A slot never changes again, so a reader needs to look at it once. To freeze a cache is to take
// its empty slots from 0 to 1: a writer who is at 3 then gets false, and what was counted before is
// what is there for good. Who meets a cache that is being frozen goes through the slots as well
// before he says false: when the first writer is refused, none that is under way can succeed.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <lastref/cache.hpp>
#include <lastref/owners.hpp>

#include "impl/os/shared_word.hpp"

namespace lastref::cache {

struct LiveShape {
  std::uint64_t length = 0;      ///< slots
  std::uint64_t size_limit = 0;  ///< bytes; 0 is none
  bool is_durable = false;
};

enum class Put : std::uint8_t {
  stored,
  present,  ///< Somebody was faster, now or long ago.
  frozen,
  no_room,  ///< The file system has none, or the file may not be so long.
};

/// All methods but create and open may be called from any thread of any process that has it.
class LiveFile {
 public:
  /// Fills a new file that is open for writing.
  ///
  /// Errors          what entropy, write_at or map said.
  static Result<std::unique_ptr<LiveFile>> create(os::Os& os,
                                                  os::UniqueFd file,
                                                  const LiveShape& shape);

  /// Of a file that is open for writing. Every number in its head is checked.
  ///
  /// Errors          bad_message, with the reason as subject; what status, read_at or map said.
  static Result<std::unique_ptr<LiveFile>> open(os::Os& os, os::UniqueFd file);

  LiveFile(const LiveFile&) = delete;
  LiveFile& operator=(const LiveFile&) = delete;
  ~LiveFile();

  const LiveShape& shape() const noexcept { return shape_; }
  /// 32 hexadecimal digits.
  const std::string& id() const noexcept { return id_; }
  os::Fd fd() const noexcept { return file_.get(); }

  /// If so no put is stored any more, not even one that is under way.
  bool is_frozen() noexcept;
  /// Closes every slot that is empty. Of the order of nanoseconds a slot, once.
  void freeze() noexcept;

  /// `slot` is one of the shape's, as in all that follows.
  ///
  /// Errors          see Cache::put.
  Result<Put> put(std::uint64_t slot, os::Bytes value);

  /// The value in a map, as long as this is there; none if the slot is empty.
  ///
  /// Errors          bad_message: there is no such record; what status or map said.
  Result<std::optional<os::Bytes>> find(std::uint64_t slot);
  /// The same with a keeper.
  Result<std::optional<CachedBytes>> view(std::uint64_t slot);
  /// The value, read from the file.
  ///
  /// Errors          as find, and what read_at said; not_enough_memory.
  Result<std::optional<std::vector<std::byte>>> read(std::uint64_t slot);

 private:
  /// One of the maps of the file, each longer than the one before; it stays as long as this does.
  struct Reach;
  struct Found {
    os::Bytes bytes;
    const Reach* reach = nullptr;
  };
  LiveFile(os::Os& os, os::UniqueFd file, os::UniqueMap head, const LiveShape& shape);
  static Result<std::unique_ptr<LiveFile>> map_head(os::Os& os,
                                                    os::UniqueFd file,
                                                    const LiveShape& shape,
                                                    std::string id);

  os::SharedWord end_word() const noexcept;
  os::SharedWord frozen_word() const noexcept;
  os::SharedWord slot_word(std::uint64_t slot) const noexcept;

  /// Why a slot that was found like that takes no value.
  Put refuse(std::uint64_t found) noexcept;
  std::optional<std::uint64_t> take_room(std::uint64_t size) noexcept;
  Status write_record(std::uint64_t at, std::uint64_t slot, os::Bytes value) noexcept;
  void give_room_back(std::uint64_t at, std::uint64_t size) noexcept;
  Result<const Reach*> reach(std::uint64_t end);
  Result<std::optional<Found>> locate(std::uint64_t slot);
  Result<std::uint64_t> read_slot(std::uint64_t slot) const;

  os::Os& os_;
  os::UniqueFd file_;
  os::UniqueMap head_;  // up to the last slot, shared
  LiveShape shape_;
  std::string id_;
  std::atomic<Reach*> reach_{nullptr};
};

}  // namespace lastref::cache
