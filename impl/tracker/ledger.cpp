#include "impl/tracker/ledger.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

#include <lastref/probe.hpp>

#include "impl/os/limits.hpp"
#include "impl/os/within_memory.hpp"
#include "impl/tracker/codec.hpp"

namespace lastref::tracker {
namespace {

constexpr std::byte alive{'+'};
constexpr std::byte forgotten_once{'!'};
constexpr std::byte dead{'-'};
constexpr std::byte nothing{0};
constexpr std::size_t record_header_size = 12;
constexpr std::byte is_identified{128};  // of a type

/// FNV-1a over the record's position and content: http://www.isthe.com/chongo/tech/comp/fnv/
std::uint64_t check_of(std::uint64_t offset, std::byte type, os::Bytes name) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325U;
  const auto mix = [&hash](std::uint8_t byte) { hash = (hash ^ byte) * 0x100000001b3U; };
  for (unsigned shift = 0; shift < 64; shift += 8) {
    mix(static_cast<std::uint8_t>(offset >> shift));
  }
  mix(std::to_integer<std::uint8_t>(type));
  for (const std::byte byte : name) {
    mix(std::to_integer<std::uint8_t>(byte));
  }
  return hash;
}

std::uint64_t number_at(os::Bytes bytes, std::size_t size) noexcept {
  std::uint64_t number = 0;
  for (std::size_t index = size; index > 0; --index) {
    number = number << 8U | std::to_integer<std::uint64_t>(bytes[index - 1]);
  }
  return number;
}

/// bytes after the header
std::size_t body_size(const Resource& resource, const std::optional<Identity>& identity) {
  return (identity ? identity_size : 0) + resource.name.size();
}

std::vector<std::byte> record_of(std::uint64_t offset,
                                 std::byte state,
                                 const Resource& resource,
                                 const std::optional<Identity>& identity) {
  std::vector<std::byte> bytes;
  bytes.reserve(record_header_size + body_size(resource, identity) + 1);
  const auto put = [&bytes](std::uint64_t number, std::size_t size) {
    for (std::size_t index = 0; index < size; ++index) {
      bytes.push_back(static_cast<std::byte>(number >> (8 * index) & 0xffU));
    }
  };
  const auto type = static_cast<std::byte>(resource.type) | (identity ? is_identified : nothing);
  bytes.push_back(state);
  bytes.push_back(type);
  put(body_size(resource, identity), 2);
  put(0, 8);  // The check, as soon as the bytes that it covers are known.
  if (identity) {
    put(identity->device, 8);
    put(identity->inode, 8);
    put(identity->btime, 8);
  }
  const os::Bytes name = os::bytes_of(resource.name);
  bytes.insert(bytes.end(), name.begin(), name.end());
  std::uint64_t check = check_of(offset, type, os::Bytes(bytes).subspan(record_header_size));
  for (std::size_t at = 4; at < record_header_size; ++at, check >>= 8U) {
    bytes[at] = static_cast<std::byte>(check & 0xffU);
  }
  return bytes;
}

template <typename Records>
std::vector<Resource> names_in(const Records& records) {
  std::vector<Resource> all;
  all.reserve(records.size());
  for (const auto& [resource, record] : records) {
    all.push_back(resource);
  }
  return all;
}

}  // namespace

Status Ledger::write_state(std::uint64_t offset, std::byte state) {
  return os::write_all_at(*os_, file_.get(), std::span(&state, 1), offset);
}

Result<Ledger> Ledger::open(os::Os& os, const os::PathAt& where) {
  LASTREF_TRY(file, os::open_file(os, where, {.write = true}));
  return of(os, std::move(file));
}

Result<Ledger> Ledger::of(os::Os& os, os::UniqueFd file) {
  Ledger ledger(os, std::move(file));
  LASTREF_CHECK(ledger.load());
  return ledger;
}

Result<bool> Ledger::has_names(os::Os& os, os::Fd file) {
  Ledger ledger(os, os::UniqueFd(os, file));
  ledger.is_read_only_ = true;
  const Status loaded = ledger.load();
  ledger.file_.release();
  LASTREF_CHECK(loaded);
  return !ledger.alive_.empty() || !ledger.forgotten_.empty();
}

Result<bool> Ledger::is_blank(os::Os& os, os::Fd file) {
  std::array<std::byte, 1> first{};
  LASTREF_TRY(size, os::read_until_full_at(os, file, first, 0));
  return size == 0 || first.front() == nothing;
}

Status Ledger::move_to(const os::PathAt& where) {
  LASTREF_TRY(file, os::open_file(*os_, where, {.write = true}));
  LASTREF_TRY(status, os_->status(file.get()));
  LASTREF_TRY(own, os_->status(file_.get()));
  if (os::identity_of(status) == os::identity_of(own)) {
    return ok();
  }
  std::vector<std::byte> bytes(end_);
  LASTREF_TRY(size, os::read_until_full_at(*os_, file_.get(), bytes, 0));
  bytes.resize(size);
  if (status.size > end_) {
    bytes.push_back(nothing);  // The rest of the file is from a copy that was not finished.
  }
  LASTREF_CHECK(os::write_all_at(*os_, file.get(), bytes, 0));
  // If the tracker dies before this, the old file has all names; after this, the new one has them.
  LASTREF_CHECK(write_state(0, nothing));
  file_ = std::move(file);
  touched_ = std::max(end_, status.size);
  os_->hit(Probe::ledger_moved);
  return ok();
}

Result<std::vector<Resource>> Ledger::names_at(os::Os& os, const os::PathAt& where) {
  LASTREF_TRY(file, os::open_file(os, where, {}));
  Ledger ledger(os, std::move(file));
  ledger.is_read_only_ = true;
  LASTREF_CHECK(ledger.load());
  return ledger.names();
}

Status Ledger::load() {
  LASTREF_TRY(status, os_->status(file_.get()));
  if (status.owner != os_->user_id()) {
    return failure(std::errc::permission_denied, "a ledger of another user", Call::open);
  }
  touched_ = status.size;
  // Read in pieces, and no further than there are records: a file may be large and empty.
  const std::size_t first = os::limits_of(*os_).ledger_read_size;
  std::vector<std::byte> bytes;
  bool goes_on = true;
  while (goes_on && bytes.size() < status.size) {
    const std::size_t before = bytes.size();
    bytes.resize(std::min<std::uint64_t>(status.size, before + std::max(before, first)));
    const auto piece = std::span(bytes).subspan(before);
    LASTREF_TRY(size, os::read_until_full_at(*os_, file_.get(), piece, before));
    bytes.resize(before + size);
    LASTREF_TRY(more, parse(bytes));
    goes_on = more && size == piece.size();
  }
  // Ignores space that was reserved and never used: no part of it can be mistaken for part of a
  // record.
  while (bytes.size() == touched_ && touched_ > end_ && bytes.back() == nothing) {
    bytes.pop_back();
    --touched_;
  }
  return ok();
}

/// Starts at `end_`. Returns whether records may follow: false at bytes that are no record.
Result<bool> Ledger::parse(os::Bytes bytes) {
  while (bytes.size() - end_ >= record_header_size) {
    const os::Bytes record = bytes.subspan(end_);
    const std::size_t size = number_at(record.subspan(2), 2);
    if (record.size() < record_header_size + size) {
      return true;
    }
    os::Bytes body = record.subspan(record_header_size, size);
    if (record[0] == dead) {
      spare_[size].push_back(end_);
    } else if (record[0] == alive || record[0] == forgotten_once) {
      const bool whole = number_at(record.subspan(4), 8) == check_of(end_, record[1], body);
      const bool identified = (record[1] & is_identified) != nothing;
      const std::byte type = record[1] & ~is_identified;
      const bool possible = std::to_integer<std::size_t>(type) < resource_types &&
                            (!identified || size > identity_size);
      if (!whole || !possible) {
        os_->hit(Probe::torn_record_refused);
        return false;
      }
      Record found{.offset = end_};
      if (identified) {
        found.identity = {.device = number_at(body, 8),
                          .inode = number_at(body.subspan(8), 8),
                          .btime = number_at(body.subspan(16), 8)};
        body = body.subspan(identity_size);
      }
      Resource resource{.type = static_cast<ResourceType>(type), .name = {}};
      for (const std::byte byte : body) {
        resource.name.push_back(static_cast<char>(byte));
      }
      if (!check_name(resource)) {
        return false;
      }
      LASTREF_CHECK(keep(std::move(resource), found, record[0] == alive ? alive_ : forgotten_));
    } else {
      if (record[0] == nothing && size > 0) {
        os_->hit(Probe::record_never_alive);
      }
      return false;
    }
    end_ += record_header_size + size;
  }
  return true;
}

/// Keeps one of two records of one name, and doubts its identity: either the process that was to
/// end the other was killed before that, or an outsider wrote it. If we kept both, the other would
/// reappear when this one is dead.
Status Ledger::keep(Resource resource, Record record, Records& records) {
  const auto [known, is_new] = records.try_emplace(std::move(resource), record);
  if (is_new) {
    return ok();
  }
  os_->hit(Probe::name_recorded_twice);
  if (!record.identity) {
    std::swap(known->second, record);
  }
  Status killed = is_read_only_ ? ok() : kill(known->first, record);
  if (known->second.identity != record.identity) {
    known->second.is_doubted = true;
  }
  return killed;
}

Status Ledger::kill(const Resource& resource, const Record& record) {
  LASTREF_CHECK(write_state(record.offset, dead));
  // Without memory its space is not used again.
  static_cast<void>(os::had_memory(
      [&] { spare_[body_size(resource, record.identity)].push_back(record.offset); }));
  return ok();
}

std::optional<Identity> Ledger::identity_of(const Resource& resource) const {
  const auto found = alive_.find(resource);
  return found == alive_.end() || found->second.is_doubted ? std::nullopt : found->second.identity;
}

/// Another identity was not recorded: this one may be that of an earlier use of the name.
void Ledger::doubt(Record& record, const std::optional<Identity>& other) noexcept {
  record.is_doubted = record.is_doubted || other.has_value();
}

Status Ledger::enter(const Resource& resource, const std::optional<Identity>& identity) {
  const auto known = alive_.find(resource);
  if (known != alive_.end() && !known->second.is_doubted && known->second.identity == identity) {
    return ok();
  }
  Records made;
  if (known == alive_.end()) {
    made.try_emplace(resource);
  }
  const Result<std::uint64_t> offset = write_record(resource, identity);
  if (!offset) {
    if (known != alive_.end()) {
      doubt(known->second, identity);
    }
    return status_of(offset);
  }
  const Record record{.offset = *offset, .identity = identity};
  if (known == alive_.end()) {
    made.begin()->second = record;
    alive_.merge(made);
    return ok();
  }
  // If the tracker dies here, a process that reads both records knows only the name.
  Status killed = kill(resource, known->second);
  if (killed) {
    known->second = record;
  } else {
    os_->hit(Probe::record_taken_back);
    doubt(known->second, identity);
    static_cast<void>(kill(resource, record));
  }
  return killed;
}

/// Returns the offset of the record.
Result<std::uint64_t> Ledger::write_record(const Resource& resource,
                                           const std::optional<Identity>& identity) {
  auto& spare = spare_[body_size(resource, identity)];
  if (!spare.empty()) {
    const std::uint64_t offset = spare.back();
    LASTREF_CHECK(
        os::write_all_at(*os_, file_.get(), record_of(offset, dead, resource, identity), offset));
    LASTREF_CHECK(write_state(offset, alive));
    os_->hit(Probe::dead_record_used_again);
    spare.pop_back();
    return offset;
  }
  const std::uint64_t offset = end_;
  const bool over_garbage = offset < touched_;
  std::vector<std::byte> record =
      record_of(offset, over_garbage ? nothing : alive, resource, identity);
  const std::uint64_t next = offset + record.size();
  if (next < touched_) {
    record.push_back(nothing);
  }
  touched_ = std::max(touched_, next);
  LASTREF_CHECK(os::write_all_at(*os_, file_.get(), record, offset));
  if (over_garbage) {
    LASTREF_CHECK(write_state(offset, alive));
  }
  end_ = next;
  return offset;
}

Status Ledger::end(Records& records, const Resource& resource) {
  const auto found = records.find(resource);
  if (found == records.end()) {
    return ok();
  }
  LASTREF_CHECK(kill(resource, found->second));
  records.erase(found);
  cut();
  return ok();
}

/// If few names are left, and the part after the last of them is most of the file, frees that part
/// as if it had never been written. A concurrent reader finds dead records there, or zeros.
void Ledger::cut() {
  const os::Limits& limits = os::limits_of(*os_);
  if (end_ <= limits.ledger_kept || alive_.size() + forgotten_.size() > limits.ledger_names) {
    return;
  }
  std::uint64_t last = 0;
  for (const Records* const records : {&alive_, &forgotten_}) {
    for (const auto& [resource, record] : *records) {
      const std::size_t size = record_header_size + body_size(resource, record.identity);
      last = std::max(last, record.offset + size);
    }
  }
  if (last > end_ / 2) {
    return;
  }
  end_ = last;
  for (auto of_a_size = spare_.begin(); of_a_size != spare_.end();) {
    auto& offsets = of_a_size->second;
    std::erase_if(offsets, [last](std::uint64_t offset) { return offset >= last; });
    offsets.shrink_to_fit();
    of_a_size = offsets.empty() ? spare_.erase(of_a_size) : std::next(of_a_size);
  }
  const std::uint64_t from = std::max(end_, limits.ledger_kept);
  const Status given_back = touched_ <= from ? ok() : os::retry_interrupted([&] {
    return os_->punch_hole(file_.get(), from, touched_ - from);
  });
  if (given_back) {
    os_->hit(Probe::ledger_cut);
    touched_ = std::min(touched_, from);
  }
}

Status Ledger::mark_dead(const Resource& resource) {
  return end(alive_, resource);
}

Status Ledger::forget(const Resource& resource) {
  if (forgotten_.contains(resource)) {
    return mark_dead(resource);
  }
  const auto found = alive_.find(resource);
  if (found == alive_.end()) {
    return ok();
  }
  LASTREF_CHECK(write_state(found->second.offset, forgotten_once));
  forgotten_.insert(alive_.extract(found));
  return ok();
}

Status Ledger::erase_tombstone(const Resource& resource) {
  return end(forgotten_, resource);
}

std::vector<Resource> Ledger::names() const {
  return names_in(alive_);
}

std::vector<Resource> Ledger::forgotten() const {
  return names_in(forgotten_);
}

}  // namespace lastref::tracker
