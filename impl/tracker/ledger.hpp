// Ledger: the names of a tree that may need clean-up, on the file system, so that they outlive the
// tracker and even the whole tree.
//
// The tracker alone writes it, and writes a name before it answers that the name is counted. A
// record is
//   state u8 ('+' alive, '!' forgotten, '-' dead), type u8, size u16, check u64, name
// with a check over offset, type and name. Where it is known which thing has the name, 128 is added
// to the type and the name is preceded by that (device u64, inode u64, time of birth u64); size is
// that of both. A '+' record with a wrong check is a write that a kill
// cut short: it and all after it do not count. Nor does what lies behind a 0 in place of a state.
// Ending a name is one byte in place, which needs no space. The place of a dead record is taken
// again by a name of the same size: body first, then the one byte. So is the place of a record that
// was cut short, which may have anything in its name: a 0 in front and one behind, then the one
// byte. Where few names are left of many, the space behind them is given back. Counts are not here:
// they are announced by those who hold (T6). A name that was forgotten
// stays on record until all who may still believe that they hold it have been told.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <lastref/owners.hpp>
#include <lastref/resource.hpp>

namespace lastref::tracker {

class Ledger {
 public:
  /// Reads what is there. If a name is there more than once, which only a stranger writes, all but
  /// one of its records are dead from then on.
  ///
  /// Errors          what open, status, read or write_at said; permission_denied: another user
  ///                 wrote it, and would have us delete what it names.
  static Result<Ledger> open(os::Os& os, const os::PathAt& where);
  /// The same of an open file, which may have lost its name.
  static Result<Ledger> of(os::Os& os, os::UniqueFd file);
  /// Whether a name is alive in it, or on record as forgotten. Changes nothing, and leaves the file
  /// open.
  static Result<bool> has_names(os::Os& os, os::Fd file);
  /// Whether all that was in it was moved elsewhere, or nothing ever was.
  ///
  /// Errors          what read_at said.
  static Result<bool> is_blank(os::Os& os, os::Fd file);

  /// The names that are alive in a ledger which a live tracker may be writing.
  ///
  /// Errors          what open, status and read said; permission_denied: another user wrote it.
  static Result<std::vector<Resource>> names_at(os::Os& os, const os::PathAt& where);

  /// Writes the name, and which thing has it, if that is known, unless it is there so. On an error
  /// it is not, or as it was; who is killed meanwhile may leave it with nothing said of its thing.
  ///
  /// Errors          no_space_on_device, io_error.
  Status enter(const Resource& resource, const std::optional<Identity>& identity = {});
  /// Ends the name, if it is there.
  ///
  /// Errors          io_error: it is still there.
  Status strike(const Resource& resource);

  /// Ends the name, if it is there, and keeps it on record as forgotten.
  ///
  /// Errors          io_error: it is still there.
  Status forget(const Resource& resource);
  /// Takes a forgotten name off the record.
  ///
  /// Errors          io_error: it stays, which costs no more than its place.
  Status lay_to_rest(const Resource& resource);

  /// Writes everything into the file at `where`, which is a ledger with nothing in it of worth, and
  /// continues there. The file that it had is blank then.
  ///
  /// Errors          what open, status, read_at and write_at said: it continues where it was.
  Status move_to(const os::PathAt& where);

  bool contains(const Resource& resource) const { return alive_.contains(resource); }
  /// Which thing has the name, if it is alive and anybody said so.
  std::optional<Identity> identity_of(const Resource& resource) const;
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
  Status kill(const Resource& resource, const Record& record);
  Status end(Records& records, const Resource& resource);
  void cut();
  Status parse(os::Bytes bytes, bool& goes_on);
  Status keep(Resource resource, Record record, Records& records);

  os::Os* os_;
  os::UniqueFd file_;
  Records alive_;
  Records forgotten_;
  std::unordered_map<std::size_t, std::vector<std::uint64_t>> spare_;  // by size of record
  std::uint64_t end_ = 0;                                              // of the records
  std::uint64_t touched_ = 0;  // end of what the file may contain besides zeros
  bool is_read_only_ = false;
};

}  // namespace lastref::tracker
