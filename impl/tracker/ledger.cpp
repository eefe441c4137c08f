#include "impl/tracker/ledger.hpp"

#include <algorithm>
#include <span>

namespace lastref::tracker {
namespace {

constexpr std::byte alive{'+'};
constexpr std::byte forgotten_once{'!'};
constexpr std::byte dead{'-'};
constexpr std::byte nothing{0};
constexpr std::size_t record_header_size = 12;
constexpr std::size_t piece_size = std::size_t{64} * 1024;  // bytes, of the first read

/// FNV-1a over the record's place and content: http://www.isthe.com/chongo/tech/comp/fnv/
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

std::vector<std::byte> record_of(std::uint64_t offset, std::byte state, const Resource& resource) {
  const os::Bytes name = os::bytes_of(resource.name);
  const auto type = static_cast<std::byte>(resource.type);
  std::vector<std::byte> record{state, type};
  const auto put = [&record](std::uint64_t number, std::size_t size) {
    for (std::size_t index = 0; index < size; ++index) {
      record.push_back(static_cast<std::byte>(number >> (8 * index) & 0xffU));
    }
  };
  put(name.size(), 2);
  put(check_of(offset, type, name), 8);
  record.insert(record.end(), name.begin(), name.end());
  return record;
}

std::vector<Resource> names_in(const std::map<Resource, std::uint64_t>& records) {
  std::vector<Resource> all;
  all.reserve(records.size());
  for (const auto& [resource, offset] : records) {
    all.push_back(resource);
  }
  return all;
}

}  // namespace

Status Ledger::write_state(std::uint64_t offset, std::byte state) {
  return os::write_all_at(*os_, file_.get(), std::span(&state, 1), offset);
}

Result<Ledger> Ledger::open(os::Os& os, const os::Place& place) {
  LASTREF_TRY(file, os::open_file(os, place, {.write = true}));
  Ledger ledger(os, std::move(file));
  LASTREF_CHECK(ledger.load());
  return ledger;
}

Status Ledger::load() {
  LASTREF_TRY(status, os_->status(file_.get()));
  if (status.owner != os_->user_id()) {
    return failure(std::errc::permission_denied, "a ledger of another user", Call::open);
  }
  touched_ = status.size;
  // Piece by piece, and no further than records go: a file may be any size, and have nothing in it.
  std::vector<std::byte> bytes;
  bool goes_on = true;
  while (goes_on && bytes.size() < status.size) {
    const std::size_t before = bytes.size();
    bytes.resize(std::min<std::uint64_t>(status.size, before + std::max(before, piece_size)));
    const auto piece = std::span(bytes).subspan(before);
    LASTREF_TRY(size, os::read_until_full(*os_, file_.get(), piece));
    bytes.resize(before + size);
    LASTREF_CHECK(parse(bytes, goes_on));
    goes_on = goes_on && size == piece.size();
  }
  return ok();
}

/// From `end_` on. `goes_on` becomes false where something is no record, or was cut short.
Status Ledger::parse(os::Bytes bytes, bool& goes_on) {
  while (bytes.size() - end_ >= record_header_size) {
    const os::Bytes record = bytes.subspan(end_);
    const std::size_t size = number_at(record.subspan(2), 2);
    if (record.size() < record_header_size + size) {
      return ok();
    }
    const os::Bytes name = record.subspan(record_header_size, size);
    if (record[0] == dead) {
      spare_[size].push_back(end_);
    } else if (record[0] == alive || record[0] == forgotten_once) {
      const bool whole = number_at(record.subspan(4), 8) == check_of(end_, record[1], name);
      Resource resource{.type = static_cast<ResourceType>(record[1]), .name = {}};
      for (const std::byte byte : name) {
        resource.name.push_back(static_cast<char>(byte));
      }
      const bool possible = std::to_integer<std::size_t>(record[1]) < resource_types;
      if (!whole || !possible || !check_name(resource)) {
        goes_on = false;
        return ok();
      }
      Records& records = record[0] == alive ? alive_ : forgotten_;
      if (!records.try_emplace(std::move(resource), end_).second) {
        // Left alone it would be there again when the other record is dead.
        LASTREF_CHECK(write_state(end_, dead));
        spare_[size].push_back(end_);
      }
    } else {
      goes_on = false;
      return ok();
    }
    end_ += record_header_size + size;
  }
  return ok();
}

Status Ledger::enter(const Resource& resource) {
  if (alive_.contains(resource)) {
    return ok();
  }
  const std::size_t size = resource.name.size();
  auto& spare = spare_[size];
  if (spare.empty()) {
    const bool over_garbage = end_ < touched_;
    std::vector<std::byte> record = record_of(end_, over_garbage ? nothing : alive, resource);
    const std::uint64_t next = end_ + record.size();
    if (next < touched_) {
      record.push_back(nothing);
    }
    touched_ = std::max(touched_, next);
    LASTREF_CHECK(os::write_all_at(*os_, file_.get(), record, end_));
    if (over_garbage) {
      LASTREF_CHECK(write_state(end_, alive));
    }
    alive_[resource] = end_;
    end_ = next;
    return ok();
  }
  const std::uint64_t offset = spare.back();
  LASTREF_CHECK(os::write_all_at(*os_, file_.get(), record_of(offset, dead, resource), offset));
  LASTREF_CHECK(write_state(offset, alive));
  spare.pop_back();
  alive_[resource] = offset;
  return ok();
}

Status Ledger::end(Records& records, const Resource& resource) {
  const auto found = records.find(resource);
  if (found == records.end()) {
    return ok();
  }
  LASTREF_CHECK(write_state(found->second, dead));
  spare_[resource.name.size()].push_back(found->second);
  records.erase(found);
  return ok();
}

Status Ledger::strike(const Resource& resource) {
  return end(alive_, resource);
}

Status Ledger::forget(const Resource& resource) {
  if (forgotten_.contains(resource)) {
    return strike(resource);
  }
  const auto found = alive_.find(resource);
  if (found == alive_.end()) {
    return ok();
  }
  LASTREF_CHECK(write_state(found->second, forgotten_once));
  forgotten_[resource] = found->second;
  alive_.erase(found);
  return ok();
}

Status Ledger::lay_to_rest(const Resource& resource) {
  return end(forgotten_, resource);
}

std::vector<Resource> Ledger::names() const {
  return names_in(alive_);
}

std::vector<Resource> Ledger::forgotten() const {
  return names_in(forgotten_);
}

}  // namespace lastref::tracker
