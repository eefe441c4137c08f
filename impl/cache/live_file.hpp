// LiveFile: the file of a cache that many processes write to and read from, without a lock.
//
// Layout, little-endian:
//   0    "lastrefC"; version 2 (4 bytes); 0 (4 bytes); number of slots; limit in bytes or 0; 1 if
//        it is durable, plus 256 times the number of the folder of its words; the cache's id (32
//        hexadecimal digits, random)
//   128  the end: where the next value goes
//   136  the last: where the record starts that was counted last, or 0
//   192  1 while it is being frozen, 2 if it is frozen
//   256  the slots, 8 bytes each: 0, or 1 if it is sealed, or where its record starts
//   then the records, each at a multiple of 16: size, number of the slot, count, the value
// Processes race on the words "end", "last", "frozen" and on the slots; each is changed atomically.
// If a store may need space, these words are in a file of their own, with the same head, and a hole
// takes their place here: see slot_file.hpp.
//
// The order of writes, and what a kill after each step leaves:
// 1. The end moves (compare and exchange): the space is ours. Left: dead space, never served.
// 2. write(2) writes the record, and returns ENOSPC where a store would raise SIGBUS. Left: the
//    same, with some bytes in it.
// 3. If the cache is durable, the record is synced. Left: the same.
// 4. If there is a limit, the record is counted: "last" becomes its offset (compare and exchange).
//    Left: a value that the next put stores into its slot.
// 5. The slot changes from 0 to the record's offset (compare and exchange). From then on all
//    processes see the complete value, because the exchange releases all earlier stores. If two
//    writers race, one gets the slot, and the other gives its space back.
// 6. If the cache is durable, the slot is synced.
// A slot that has a value never changes again, so one read is enough. Freezing a cache changes its
// empty slots from 0 to 1. A writer at step 3 then gets false, and a record that was counted before
// stays permanently. A writer that finds the cache being frozen completes the freeze before it
// returns false: so once one writer was refused, no put that is under way can succeed.
//
// The limit applies to what is counted: the head, the slots, and once each record that has a slot.
// Dead space is not counted. A put without space, a lost race or a kill leaves space used on the
// disk (it becomes a hole, if the file system can do that), but uses none of the limit. So the
// count must change in one step with the slot, even if a process dies in between. A separate number
// that is incremented would be wrong permanently after a kill. Instead the head of each record has
// the count before it, and "last" is the offset of the record that was counted last. A process that
// changes "last"
// - has put the previous "last" record into its slot, if its own writer had not done so yet;
// - has seen after that, with "last" unchanged, that its own slot is empty and that there is space.
//   So no slot is counted twice, and a limit of 20,000 values takes 20,000 of them.
// If "last" has changed meanwhile, the process repeats all this with a new count in the record's
// head, which other processes read only once the record is "last". An offset that was counted is
// never given back, so "last" never has the same value again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <lastref/owners.hpp>
#include <lastref/slot_cache.hpp>

#include "impl/cache/layout.hpp"
#include "impl/os/atomic.hpp"
#include "impl/os/limits.hpp"
#include "impl/os/shared_word.hpp"

namespace lastref::cache {

struct LiveShape {
  std::uint64_t length = 0;      ///< slots
  std::uint64_t size_limit = 0;  ///< bytes; 0 is none
  bool is_durable = false;

  bool operator==(const LiveShape&) const = default;
};

enum class Put : std::uint8_t {
  stored,
  present,  ///< Another writer was faster, now or long ago.
  frozen,
  no_space,  ///< The file system has none, or the file may not be so long.
};

/// All methods except create and open may be called from any thread of any process that has it.
class LiveFile {
 public:
  /// Open for writing.
  struct Files {
    os::UniqueFd values;
    os::UniqueFd slots = {};  ///< None if they are with the values; else zeros, when made.
    std::uint64_t slot_folder_number = 0;  ///< See slot_file.hpp.
  };
  /// Opens the file of words in that folder.
  using OpenWords = std::function<Result<os::UniqueFd>(std::uint64_t folder_number)>;

  /// Fills new files.
  ///
  /// Errors          of entropy, write_at or map.
  static Result<std::unique_ptr<LiveFile>> create(os::Os& os, Files files, const LiveShape& shape);

  /// Opens a file that is open for writing. Every number in its head is checked.
  ///
  /// Errors          bad_message, with the reason as subject; of open_words, status, read_at or
  ///                 map.
  static Result<std::unique_ptr<LiveFile>> open(os::Os& os,
                                                os::UniqueFd file,
                                                const OpenWords& open_words = {});

  LiveFile(const LiveFile&) = delete;
  LiveFile& operator=(const LiveFile&) = delete;
  ~LiveFile();

  const LiveShape& shape() const noexcept { return shape_; }
  /// 32 hexadecimal digits.
  const std::string& id() const noexcept { return id_; }

  /// If true, no put is stored any more, not even one that is under way.
  bool is_frozen() noexcept;
  /// Closes every empty slot. Takes nanoseconds per slot, once. Returns false if another call has
  /// frozen the cache, or begun to.
  bool freeze() noexcept;

  /// `slot` is less than the shape's length, as in all methods below.
  ///
  /// Errors          see SlotCache::put.
  Result<Put> put(std::uint64_t slot, os::Bytes value);

  /// The value in a map, valid while this object exists; none if the slot is empty.
  ///
  /// Errors          bad_message: there is no such record; of status or map.
  Result<std::optional<os::Bytes>> find(std::uint64_t slot);
  /// The same with a keeper.
  Result<std::optional<CachedBytes>> view(std::uint64_t slot);
  /// The value, read from the file.
  ///
  /// Errors          as find; of read_at; not_enough_memory.
  Result<std::optional<std::vector<std::byte>>> read(std::uint64_t slot);

  /// Whether there are maps that were too short, which no thread finds any more.
  bool has_old_maps() const noexcept {
    return old_mappings_.load(std::memory_order_relaxed) != nullptr;
  }
  /// Unmaps the old maps. The caller knows that no thread that began to use this object before this
  /// call still uses it. The maps of views stay.
  void drop_old_maps() noexcept;

 private:
  /// One of the maps of the file, each longer than the one before.
  struct Mapping;
  struct Found {
    os::Bytes bytes;
    const Mapping* mapping = nullptr;
  };
  /// Of a cache with a limit.
  struct Count {
    std::uint64_t last = 0;   ///< where the record starts that was counted last; 0: there is none
    std::uint64_t bytes = 0;  ///< of the head and all that is counted
  };
  /// The contents of the first bytes.
  struct Head {
    LiveShape shape;
    std::uint64_t slot_folder_number = 0;
    std::string id;
    std::uint64_t file_size = 0;
  };
  LiveFile(os::Os& os, Files files, os::UniqueMap head, const LiveShape& shape);
  static Result<Head> read_head(os::Os& os, os::Fd file);
  static Result<std::unique_ptr<LiveFile>> map_head(os::Os& os,
                                                    Files files,
                                                    const LiveShape& shape,
                                                    std::string id);

  os::Fd slots_fd() const noexcept;
  os::SharedWord end_word() const noexcept;
  os::SharedWord last_word() const noexcept;
  os::SharedWord frozen_word() const noexcept;
  os::SharedWord slot_word(std::uint64_t slot) const noexcept;

  /// The reason why a slot with that content takes no value.
  Put refuse(std::uint64_t found) noexcept;
  std::optional<std::uint64_t> take_space(std::uint64_t size) noexcept;
  Status write_record(std::uint64_t at, const RecordHead& head, os::Bytes value) noexcept;
  void give_space_back(std::uint64_t at, std::uint64_t size) noexcept;
  Result<Count> count();
  Result<Count> count_before(std::uint64_t slot, std::uint64_t size, std::optional<Put>& refused);
  Status count_record(std::uint64_t at,
                      RecordHead head,
                      std::uint64_t last,
                      std::optional<Put>& refused);
  Result<Put> write_and_publish(std::uint64_t at,
                                const RecordHead& head,
                                os::Bytes value,
                                std::uint64_t last);
  Result<const Mapping*> map_up_to(std::uint64_t end);
  Result<const Mapping*> map_record_head(std::uint64_t at);
  Result<std::optional<Found>> locate(std::uint64_t slot);
  Result<std::uint64_t> read_slot(std::uint64_t slot) const;

  os::Os& os_;
  const os::Limits& limits_{os::limits_of(os_)};
  os::UniqueFd file_;
  os::UniqueFd slots_;  // none if they are in the same file
  os::UniqueMap head_;  // from the start to the last slot, shared
  LiveShape shape_;
  std::string id_;
  os::Atomic<Mapping*> mapping_;
  os::Atomic<Mapping*> old_mappings_;  // earlier values of mapping_
};

}  // namespace lastref::cache
