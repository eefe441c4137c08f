// snapshot: the contents of a cache when it was preserved, from an untrusted file.
//
// The first eight bytes are the number of slots; the rest is the file.
#include "impl/cache/snapshot.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "property_tests/fuzz/file_os.hpp"
#include "property_tests/fuzz/fuzz.hpp"

namespace lastref::fuzz {
namespace {

using cache::Snapshot;
using cache::SnapshotEntry;
using Value = std::optional<std::vector<std::byte>>;

std::unique_ptr<Snapshot> loaded(FileOs& os, std::uint64_t length) {
  const auto fd = os.open("/preserved", {});
  auto snapshot = in_proportion(os.content(), [&] {
    return Snapshot::load(os, {os, *fd}, length);
  });
  if (!snapshot) {
    expect_refused(snapshot.error(), std::errc::bad_message);
    return nullptr;
  }
  return *std::move(snapshot);
}

/// The contents of the slot; every way of reading must return the same.
Value value_of(const Snapshot& snapshot, std::uint64_t slot) {
  const auto found = snapshot.find(slot);
  const auto viewed = snapshot.view(slot);
  const auto read = snapshot.read(slot);
  expect(found.has_value(), "what was loaded is found");
  expect(viewed.has_value(), "what was loaded is viewed");
  expect(read.has_value(), "what was loaded is read");
  expect(viewed->has_value() == found->has_value(), "find and view agree");
  expect(read->has_value() == found->has_value(), "find and read agree");
  if (*found) {
    expect(std::ranges::equal(**found, **read), "what is found is what is read");
    expect((*viewed)->bytes.data() == (*found)->data(), "what is viewed is what is found");
    expect((*viewed)->bytes.size() == (*found)->size(), "what is viewed is what is found");
    expect((*viewed)->keeper != nullptr, "what is viewed is kept");
  }
  return *read;
}

/// The value as the file has it.
Value value_in(os::Bytes file, std::uint64_t slot) {
  SnapshotEntry entry;
  std::memcpy(&entry, file.subspan(slot * sizeof entry, sizeof entry).data(), sizeof entry);
  if (entry.size < 0) {
    return std::nullopt;
  }
  const auto size = static_cast<std::size_t>(entry.size);
  expect(entry.offset <= file.size(), "a value starts within the file");
  expect(size <= file.size() - entry.offset, "a value ends within the file");
  const os::Bytes value = file.subspan(entry.offset, size);
  return std::vector<std::byte>(value.begin(), value.end());
}

/// Written again and loaded from there, it has the same values.
void expect_written_again(const Snapshot& snapshot, std::span<const Value> values) {
  FileOs os({});
  os.grows = true;
  const auto fd = os.open("/preserved", {.write = true});
  const auto written = cache::write_snapshot(
      os, *fd, values.size(), [&](std::uint64_t slot) { return snapshot.find(slot); });
  expect(written.has_value(), "what was loaded can be preserved");
  static_cast<void>(os.close(*fd));
  {
    const auto again = loaded(os, values.size());
    expect(again != nullptr, "what was preserved can be loaded");
    for (std::uint64_t slot = 0; slot < values.size(); ++slot) {
      expect(value_of(*again, slot) == values[slot], "what was preserved is the same");
    }
  }
  expect(os.is_at_rest(), "the new file is closed and unmapped");
}

}  // namespace

void check(os::Bytes input) {
  std::uint64_t length = 0;
  if (input.size() < sizeof length) {
    return;
  }
  std::memcpy(&length, input.data(), sizeof length);
  const os::Bytes file = input.subspan(sizeof length);
  FileOs os(file);
  if (const auto snapshot = loaded(os, length)) {
    expect(length <= file.size() / sizeof(SnapshotEntry), "all entries are in the file");
    std::vector<Value> values;
    for (std::uint64_t slot = 0; slot < length; ++slot) {
      values.push_back(value_of(*snapshot, slot));
      expect(values.back() == value_in(file, slot), "a value is that of the file");
    }
    expect_written_again(*snapshot, values);
  }
  expect(os.written == 0, "nothing is written");
  expect(os.is_at_rest(), "the file is closed and unmapped");
}

}  // namespace lastref::fuzz
