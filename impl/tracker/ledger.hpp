// Ledger: the names of a tree that may need clean-up, in a file, so that they outlive the tracker
// and even the whole tree.
//
// Only the tracker writes it, and it writes a name before it answers that the name is counted. A
// record is
//   state u8 ('+' alive, '!' forgotten, '-' dead), type u8, size u16, check u64, name
// with a check over offset, type and name. If the identity of the resource is known, 128 is added
// to the type and the name is preceded by the identity (device u64, inode u64, time of birth u64);
// size is that of both. A '+' record with a wrong check is a write that a kill cut short: it and
// all after it do not count. Nor does anything after a 0 in place of a state. Ending a name changes
// one byte in place, which needs no space. A name of the same size reuses the space of a dead
// record: body first, then the one byte. The space of a record that was cut short is reused as
// well, though its name may contain anything: a 0 before and one after it, then the one byte. If
// few of many names are left, the space after them is given back. The ledger has no counts: the
// holders announce them (T6). A forgotten name stays on record until every process that may still
// believe that it holds it has been notified.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <lastref/owners.hpp>
#include <lastref/resource.hpp>

#include "impl/tracker/tracker_ports.hpp"

namespace lastref::tracker {

class Ledger final : public NameStore {
 public:
  /// Reads the file. If a name is in it more than once, which only an outsider can cause, all but
  /// one of its records are dead from then on.
  ///
  /// Errors          of open, status, read or write_at; permission_denied: another user wrote it,
  ///                 and could make us delete what it names.
  static Result<Ledger> open(os::Os& os, const os::PathAt& where);
  /// The same with an open file, which may have lost its name.
  static Result<Ledger> of(os::Os& os, os::UniqueFd file);
  /// Whether a name is alive in it, or on record as forgotten. Changes nothing, and leaves the file
  /// open.
  static Result<bool> has_names(os::Os& os, os::Fd file);
  /// Whether all that was in it was moved elsewhere, or nothing ever was.
  ///
  /// Errors          of read_at.
  static Result<bool> is_blank(os::Os& os, os::Fd file);

  /// Returns the names that are alive in a ledger that a running tracker may be writing.
  ///
  /// Errors          of open, status and read; permission_denied: another user wrote it.
  static Result<std::vector<Resource>> names_at(os::Os& os, const os::PathAt& where);

  /// Writes the name, and the identity of its resource if that is known, unless both are there
  /// already. On an error the record does not exist, or is unchanged. A kill meanwhile may leave
  /// the name without an identity.
  ///
  /// Errors          no_space_on_device, io_error.
  Status enter(const Resource& resource, const std::optional<Identity>& identity) override;
  Status enter(const Resource& resource) { return enter(resource, std::nullopt); }
  /// Ends the name, if it is there.
  ///
  /// Errors          io_error: it is still there.
  Status mark_dead(const Resource& resource) override;

  /// Ends the name, if it is there, and keeps it on record as forgotten.
  ///
  /// Errors          io_error: it is still there.
  Status forget(const Resource& resource) override;
  /// Takes a forgotten name off the record.
  ///
  /// Errors          io_error: it stays, which costs only its space.
  Status erase_tombstone(const Resource& resource) override;

  /// Writes everything into the file at `where`, which is a ledger without needed contents, and
  /// continues there. Its old file is blank then.
  ///
  /// Errors          of open, status, read_at and write_at: it continues with the old file.
  Status move_to(const os::PathAt& where);

  bool contains(const Resource& resource) const override { return alive_.contains(resource); }
  std::optional<Identity> identity_of(const Resource& resource) const override;
  /// Every name that is alive, in order.
  std::vector<Resource> names() const;
  /// Every name that is on record as forgotten, in order.
  std::vector<Resource> forgotten() const;
  bool empty() const noexcept { return alive_.empty(); }

 private:
  struct Record {
    std::uint64_t offset = 0;
    std::optional<Identity> identity = {};  // as it is written
    bool is_doubted = false;
  };
  using Records = std::map<Resource, Record>;

  Ledger(os::Os& os, os::UniqueFd file) noexcept : os_(&os), file_(std::move(file)) {}
  Status load();
  Status write_state(std::uint64_t offset, std::byte state);
  Result<std::uint64_t> write_record(const Resource& resource,
                                     const std::optional<Identity>& identity);
  static void doubt(Record& record, const std::optional<Identity>& other) noexcept;
  Status kill(const Resource& resource, const Record& record);
  Status end(Records& records, const Resource& resource);
  void cut();
  Result<bool> parse(os::Bytes bytes);
  Status keep(Resource resource, Record record, Records& records);

  os::Os* os_;
  os::UniqueFd file_;
  Records alive_;
  Records forgotten_;
  std::unordered_map<std::size_t, std::vector<std::uint64_t>> spare_;  // by size of record
  std::uint64_t end_ = 0;                                              // of the records
  std::uint64_t touched_ = 0;  // end of the part of the file that may contain more than zeros
  bool is_read_only_ = false;
};

}  // namespace lastref::tracker
