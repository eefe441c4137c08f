// outsider_test: bytes that other processes have written, by mistake or not, are refused with a
// reason.
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "impl/cache/snapshot.hpp"
#include "property_tests/impl/cache/cache_fixture.hpp"
#include "property_tests/support/directed_os.hpp"
#include "property_tests/support/process_actions.hpp"
#include "property_tests/support/transcript.hpp"

namespace lastref {
namespace {

using pretend::CacheFixture;
using pretend::CacheKind;
using pretend::code_of;
using pretend::get;
using pretend::get_all_ways;
using pretend::must;
using pretend::put;
using pretend::text_of;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Handle, of_anything_else_is_a_typed_error_C1) {
  CacheFixture fixture;
  auto cache = fixture.make_many(1);
  const std::string handle = cache->handle();
  const auto attach = [&](const std::string& text) {
    return code_of(MultiprocessFileCache::attach(fixture.os, text));
  };
  for (const std::string& text : {std::string(),
                                  std::string("live"),
                                  std::string("live:"),
                                  std::string("live:id:relative"),
                                  std::string("dead:id:/tmp"),
                                  std::string("preserved::/tmp"),
                                  std::string("preserved:x:/tmp"),
                                  std::string("preserved:0:/tmp"),
                                  std::string("preserved:99999999999999999999:/tmp")}) {
    EXPECT_EQ(attach(text), std::errc::invalid_argument) << text;
  }
  EXPECT_EQ(attach("live:id:" + fixture.folder.path("nothing")),
            std::errc::no_such_file_or_directory);
  EXPECT_EQ(attach("live:" + std::string(32, '0') + ':' +
                   fixture.folder.path(fixture.folder.names().front())),
            std::errc::bad_message);
  fixture.folder.link("link", handle.substr(handle.find('/')));
  EXPECT_EQ(attach("live:id:" + fixture.folder.path("link")),
            std::errc::too_many_symbolic_link_levels);
  fixture.folder.remove("link");
  ASSERT_TRUE(pretend::make_fifo(fixture.folder.path("fifo")));
  EXPECT_EQ(attach("live:id:" + fixture.folder.path("fifo")), std::errc::bad_message);
  fixture.folder.remove("fifo");
  const auto user = fixture.os.user;
  fixture.os.user = user + 1;
  EXPECT_EQ(attach(handle), std::errc::permission_denied);
  fixture.os.user = user;
  EXPECT_EQ(attach(handle), std::errc{});
  must(cache->close());
  EXPECT_EQ(attach(handle), std::errc::no_such_file_or_directory);
  EXPECT_EQ(cache->handle(), "");
}

void expect_all_ways_notice(SlotCache& cache, std::uint64_t slot) {
  EXPECT_EQ(code_of(cache.get(slot)), std::errc::bad_message);
  EXPECT_EQ(code_of(cache.view(slot)), std::errc::bad_message);
  EXPECT_EQ(code_of(cache.get_checked(slot)), std::errc::bad_message);
}

/// The bytes of the only file in the folder, to be changed by an outsider.
class Outsider {
 public:
  explicit Outsider(const CacheFixture& fixture)
      : path_(fixture.folder.path(fixture.folder.names().front())) {}

  std::uint64_t word(std::uint64_t at) const {
    std::ifstream file(path_, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    std::uint64_t value = 0;
    file.read(reinterpret_cast<char*>(&value), sizeof value);
    return value;
  }
  void set_word(std::uint64_t at, std::uint64_t value) const {
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(at));
    file.write(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void cut(std::uint64_t size) const { std::filesystem::resize_file(path_, size); }

 private:
  std::string path_;
};

constexpr std::uint64_t end_at = 128;
constexpr std::uint64_t slots_at = 256;

TEST(Outsider, who_writes_to_the_file_is_noticed_and_nobody_crashes_C7) {
  CacheFixture fixture;
  const auto cache = fixture.make_many(4);
  ASSERT_TRUE(put(*cache, 0, "zero"));
  ASSERT_TRUE(put(*cache, 1, "one"));
  const Outsider outsider(fixture);
  const std::uint64_t end = outsider.word(end_at);
  const std::uint64_t zero = outsider.word(slots_at);
  const std::uint64_t huge = std::uint64_t{1} << 62U;
  for (const std::uint64_t offset : {std::uint64_t{2},
                                     std::uint64_t{16},
                                     zero + 1,
                                     zero + 8,
                                     end,
                                     end + 1'000'000,
                                     huge,
                                     ~std::uint64_t{0}}) {
    SCOPED_TRACE(offset);
    outsider.set_word(slots_at, offset);
    expect_all_ways_notice(*cache, 0);
  }
  // The record of another slot.
  outsider.set_word(slots_at, outsider.word(slots_at + 8));
  EXPECT_EQ(code_of(cache->get(0)), std::errc::bad_message);
  EXPECT_EQ(code_of(cache->get_checked(0)), std::errc::bad_message);
  outsider.set_word(slots_at, zero);
  for (const std::uint64_t size :
       {end - zero - 15, std::uint64_t{1} << 40U, huge, ~std::uint64_t{0}, ~std::uint64_t{15}}) {
    SCOPED_TRACE(size);
    outsider.set_word(zero, size);
    EXPECT_EQ(code_of(cache->get(0)), std::errc::bad_message);
    EXPECT_EQ(code_of(cache->get_checked(0)), std::errc::bad_message);
  }
  outsider.set_word(zero, 4);
  EXPECT_EQ(get_all_ways(*cache, 0), "zero");
  outsider.set_word(end_at, ~std::uint64_t{0});
  EXPECT_FALSE(put(*cache, 2, "two"));
  EXPECT_EQ(get_all_ways(*cache, 1), "one");
}

TEST(Outsider, who_moves_the_end_behind_that_of_the_file_is_noticed_and_nobody_crashes_C7) {
  CacheFixture fixture;
  const auto cache = fixture.make_many(4);
  ASSERT_TRUE(put(*cache, 0, "zero"));
  ASSERT_TRUE(put(*cache, 1, "one"));
  const Outsider outsider(fixture);
  const std::uint64_t one = outsider.word(slots_at + 8);
  constexpr std::uint64_t far = std::uint64_t{1} << 30U;
  constexpr std::uint64_t of_slot_one = std::uint64_t{1} << 48U;
  for (const std::uint64_t end : {2 * far, std::uint64_t{1} << 62U, ~std::uint64_t{0}}) {
    SCOPED_TRACE(end);
    outsider.set_word(end_at, end);
    outsider.set_word(slots_at + 2 * 8, far);
    expect_all_ways_notice(*cache, 2);
    outsider.set_word(one, far | of_slot_one);
    expect_all_ways_notice(*cache, 1);
    outsider.set_word(one, 3 | of_slot_one);
    EXPECT_EQ(get_all_ways(*cache, 0), "zero");
    EXPECT_EQ(get_all_ways(*cache, 1), "one");
  }
}

TEST(Outsider, who_writes_to_the_file_is_noticed_when_it_is_preserved_C7) {
  CacheFixture fixture;
  const auto cache = fixture.make_many(4);
  ASSERT_TRUE(put(*cache, 0, "zero"));
  Outsider(fixture).set_word(slots_at, 2);
  EXPECT_EQ(code_of(cache->preserve("kept", false)), std::errc::bad_message);
  EXPECT_THAT(fixture.folder.names(), testing::SizeIs(2)) << "the live file and its lock";
}

TEST(CacheFolder, of_a_process_that_is_nowhere_has_no_name_C1) {
  CacheFixture fixture;
  const pretend::Nowhere nowhere;
  SlotCacheOptions options = fixture.options();
  options.folder = "relative";
  EXPECT_EQ(code_of(fixture.try_make(CacheKind::many, 1, options)),
            std::errc::no_such_file_or_directory);
}

TEST(Outsider, who_writes_of_more_than_there_is_memory_for_is_a_typed_error_C7) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "needs an operator new that throws: a sanitizer's ends the program";
#endif
  CacheFixture fixture;
  const auto cache = fixture.make_many(1);
  ASSERT_TRUE(put(*cache, 0, "zero"));
  const Outsider outsider(fixture);
  pretend::DirectedOs os;
  os.size = ~std::uint64_t{0};
  const auto attached = must(MultiprocessFileCache::attach(os, cache->handle()));
  outsider.set_word(outsider.word(slots_at), std::uint64_t{1} << 47U);
  EXPECT_EQ(code_of(attached->get_checked(0)), std::errc::not_enough_memory);
}

TEST(Snapshots, of_more_slots_than_there_is_memory_for_or_cut_short_are_a_typed_error_C7) {
  CacheFixture fixture;
  fixture.folder.write("file", std::string(40, '\0'));
  pretend::DirectedOs os;
  os.size = ~std::uint64_t{0};
  const auto load = [&](std::uint64_t length) {
    return code_of(cache::Snapshot::load(
        os, must(os::open_file(os, fixture.folder.path("file"), {})), length));
  };
  EXPECT_EQ(load(std::uint64_t{1} << 59U), std::errc::bad_message);
  EXPECT_EQ(load(3), std::errc::bad_message);
  fixture.folder.remove("file");
}

TEST(Outsider, who_cuts_the_file_off_is_survived_by_get_checked_C7) {
  CacheFixture fixture;
  const auto cache = fixture.make_many(4);
  const std::string value(10'000, 'x');
  ASSERT_TRUE(put(*cache, 0, "zero"));
  ASSERT_TRUE(put(*cache, 1, value));
  const Outsider outsider(fixture);
  outsider.cut(slots_at + 4 * 8 + 16 + 32 + 5000);
  EXPECT_EQ(text_of(must(cache->get_checked(0))), "zero");
  EXPECT_EQ(code_of(cache->get_checked(1)), std::errc::bad_message);
  outsider.cut(slots_at + 8);
  EXPECT_EQ(code_of(cache->get_checked(0)), std::errc::bad_message);
  EXPECT_EQ(code_of(cache->get_checked(1)), std::errc::bad_message);
  outsider.cut(0);
  EXPECT_EQ(code_of(cache->get_checked(0)), std::errc::bad_message);
  EXPECT_EQ(code_of(MultiprocessFileCache::attach(fixture.os, cache->handle())),
            std::errc::bad_message);
}

TEST(Outsider, who_writes_to_the_head_is_noticed_by_whoever_attaches_C7) {
  CacheFixture fixture;
  const auto cache = fixture.make_many(4);
  const Outsider outsider(fixture);
  const auto attach = [&] {
    return code_of(MultiprocessFileCache::attach(fixture.os, cache->handle()));
  };
  for (const auto& [at, value] :
       std::vector<std::pair<std::uint64_t, std::uint64_t>>{{0, 1},
                                                            {8, 1},
                                                            {8, (std::uint64_t{1} << 32U) + 1},
                                                            {16, 0},
                                                            {16, 1000},
                                                            {16, ~std::uint64_t{0}},
                                                            {32, 2},
                                                            {40, 1},
                                                            {end_at, 0},
                                                            {end_at, slots_at},
                                                            {end_at, slots_at + 4 * 8 + 8},
                                                            {end_at, ~std::uint64_t{15}}}) {
    SCOPED_TRACE(at);
    const std::uint64_t before = outsider.word(at);
    outsider.set_word(at, value);
    EXPECT_EQ(attach(), std::errc::bad_message);
    outsider.set_word(at, before);
    EXPECT_EQ(attach(), std::errc{});
  }
}

/// A file in pfio's format.
struct Entry {
  std::uint64_t offset = 0;
  std::int64_t size = -1;
};

std::string file_of(const std::vector<Entry>& entries, const std::string& values) {
  std::string bytes(entries.size() * sizeof(Entry), '\0');
  if (!entries.empty()) {
    std::memcpy(bytes.data(), entries.data(), bytes.size());
  }
  return bytes + values;
}

/// Loads these bytes.
Result<std::unique_ptr<cache::Snapshot>> load(CacheFixture& fixture,
                                              const std::string& bytes,
                                              std::uint64_t length) {
  fixture.folder.write("loaded", bytes);
  auto file = must(os::open_file(fixture.os, fixture.folder.path("loaded"), {}));
  fixture.folder.remove("loaded");
  return cache::Snapshot::load(fixture.os, std::move(file), length);
}

TEST(Snapshot, takes_what_pfio_writes_C7) {
  CacheFixture fixture;
  const auto snapshot = must(load(fixture, file_of({{48, 3}, {0, -1}, {51, 0}}, "abc"), 3));
  EXPECT_EQ(text_of(must(snapshot->view(0))), "abc");
  EXPECT_EQ(text_of(must(snapshot->view(1))), std::nullopt);
  EXPECT_EQ(text_of(must(snapshot->view(2))), "");
  EXPECT_EQ(text_of(must(snapshot->read(0))), "abc");
  EXPECT_EQ(text_of(must(snapshot->read(1))), std::nullopt);
}

TEST(Snapshot, refuses_each_entry_that_points_elsewhere_C7) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const Entry bad[] = {{0, 3},
                       {31, 1},
                       {32, 4},
                       {35, 1},
                       {36, 0},
                       {32, most},
                       {~std::uint64_t{0}, 1},
                       {~std::uint64_t{0}, most},
                       {static_cast<std::uint64_t>(most), most}};
  std::string reasons;
  for (const Entry& entry : bad) {
    CacheFixture fixture;
    const auto first = load(fixture, file_of({entry, {}}, "abc"), 2);
    const auto second = load(fixture, file_of({{32, 3}, entry}, "abc"), 2);
    ASSERT_FALSE(first);
    ASSERT_FALSE(second);
    EXPECT_EQ(first.error().code, std::errc::bad_message);
    EXPECT_THAT(first.error().subject, HasSubstr("slot 0"));
    EXPECT_THAT(second.error().subject, HasSubstr("slot 1"));
    for (const std::string& subject : {first.error().subject, second.error().subject}) {
      reasons += pretend::with_replacements(subject, {{fixture.folder.path(), "FOLDER"}}) + "\n";
    }
  }
  pretend::expect_transcript(reasons);
}

TEST(Snapshot, of_another_length_is_refused_where_that_can_be_seen_C7) {
  CacheFixture fixture;
  EXPECT_EQ(code_of(load(fixture, file_of({{32, 3}, {}}, "abc"), 3)), std::errc::bad_message);
  EXPECT_EQ(code_of(load(fixture, file_of({{16, 3}}, "abc"), 4)), std::errc::bad_message);
  EXPECT_EQ(code_of(load(fixture, "", std::uint64_t{1} << 60U)), std::errc::bad_message);
  const Entry none{.offset = 0, .size = -1};
  const std::string of_three[] = {file_of({{48, 3}, {51, 0}, none}, "abc"),
                                  file_of({none, none, {48, 3}}, "abc"),
                                  file_of({none, {48, 3}, {51, 0}}, "abc"),
                                  file_of({none, none, none}, "")};
  for (const std::string& bytes : of_three) {
    EXPECT_TRUE(load(fixture, bytes, 3));
    const auto of_two = load(fixture, bytes, 2);
    ASSERT_FALSE(of_two);
    EXPECT_EQ(of_two.error().code, std::errc::bad_message);
    EXPECT_THAT(of_two.error().subject, HasSubstr("2 slots"));
  }
}

RC_GTEST_PROP(Snapshot, of_any_bytes_is_refused_or_read_within_them_C7, ()) {
  const auto length = *rc::gen::inRange<std::uint64_t>(1, 6);
  const auto small = rc::gen::inRange<std::int64_t>(-2, 130);
  const auto number = rc::gen::oneOf(small, rc::gen::arbitrary<std::int64_t>());
  std::vector<Entry> entries;
  for (std::uint64_t n = *rc::gen::inRange<std::uint64_t>(0, 7); n > 0; --n) {
    entries.push_back({static_cast<std::uint64_t>(*number), *number});
  }
  const auto values = *rc::gen::arbitrary<std::vector<char>>();
  const std::string bytes = file_of(entries, std::string(values.begin(), values.end()));
  CacheFixture fixture;
  const auto snapshot = load(fixture, bytes, length);
  if (!snapshot) {
    RC_ASSERT(snapshot.error().code == std::errc::bad_message);
    RC_ASSERT(!snapshot.error().subject.empty());
    return;
  }
  for (std::uint64_t slot = 0; slot < length; ++slot) {
    const auto value = text_of(must((*snapshot)->view(slot)));
    RC_ASSERT(text_of(must((*snapshot)->read(slot))) == value);
    if (value) {
      RC_ASSERT(*value == bytes.substr(entries[slot].offset, value->size()));
    }
  }
}

TEST(Snapshot, that_is_cut_off_while_it_is_mapped_is_survived_by_get_checked_C7) {
  CacheFixture fixture;
  const auto cache = fixture.make(CacheKind::many, 2);
  ASSERT_TRUE(put(*cache, 0, std::string(10'000, 'x')));
  ASSERT_TRUE(put(*cache, 1, "one"));
  ASSERT_TRUE(must(cache->preserve("kept", false)));
  for (const CacheKind kind : pretend::cache_kinds) {
    const auto loaded = fixture.make(kind, 2);
    std::filesystem::copy(fixture.folder.path("kept"), fixture.folder.path("cut"));
    ASSERT_TRUE(must(loaded->preload("cut")));
    std::filesystem::resize_file(fixture.folder.path("cut"), 100);
    EXPECT_EQ(code_of(loaded->get_checked(0)), std::errc::bad_message);
    EXPECT_EQ(code_of(loaded->get_checked(1)), std::errc::bad_message);
    fixture.folder.remove("cut");
  }
  fixture.folder.remove("kept");
}

TEST(CacheFolder, is_the_users_cache_by_default_C2) {
  CacheFixture fixture;
  const auto folder_by = [&](std::map<std::string, std::string> variables) {
    fixture.os.variables = std::move(variables);
    auto cache = MultiprocessFileCache::make(fixture.os, fixture.party, 1);
    return cache ? (*cache)->handle() : describe(cache.error());
  };
  const std::string home = fixture.folder.path();
  EXPECT_THAT(folder_by({{"XDG_CACHE_HOME", home + "/xdg"}, {"HOME", home}}),
              HasSubstr(":" + home + "/xdg/lastref/"));
  EXPECT_THAT(folder_by({{"HOME", home}}), HasSubstr(":" + home + "/.cache/lastref/"));
  // A relative one is ignored, as the XDG specification demands.
  EXPECT_THAT(folder_by({{"XDG_CACHE_HOME", "xdg"}, {"HOME", home}}),
              HasSubstr(":" + home + "/.cache/lastref/"));
  EXPECT_THAT(folder_by({}), testing::AllOf(HasSubstr("$XDG_CACHE_HOME"), HasSubstr("$HOME")));
  for (const char* name : {"xdg/lastref", "xdg", ".cache/lastref", ".cache"}) {
    fixture.folder.remove(name);
  }
}

TEST(CacheFolder, where_others_may_replace_files_or_on_a_network_is_refused_C2) {
  CacheFixture fixture;
  fixture.folder.make_folder("open");
  SlotCacheOptions options;
  options.folder = fixture.folder.path("open");
  const auto make = [&] {
    return code_of(MultiprocessFileCache::make(fixture.os, fixture.party, 1, options));
  };
  namespace fs = std::filesystem;
  fs::permissions(*options.folder, fs::perms(0777));
  EXPECT_EQ(make(), std::errc::permission_denied);
  fs::permissions(*options.folder, fs::perms(01777));
  EXPECT_EQ(make(), std::errc{});
  fs::permissions(*options.folder, fs::perms(0700));
  for (const std::uint64_t network : {0x6969ULL, 0xff534d42ULL, 0xfe534d42ULL, 0x00c36400ULL}) {
    fixture.os.file_system_kind = network;
    EXPECT_EQ(make(), std::errc::not_supported);
  }
  fixture.os.file_system_kind = 0x01021994;  // tmpfs
  EXPECT_EQ(make(), std::errc{});
  fixture.folder.write("file");
  options.folder = fixture.folder.path("file");
  EXPECT_EQ(make(), std::errc::not_a_directory);
  EXPECT_TRUE(fixture.counts.empty());
  fixture.folder.remove("file");
  EXPECT_THAT(fixture.folder.names(), testing::ElementsAre("open"));
  fixture.folder.remove("open");
}

TEST(CodedCache, keeps_values_of_a_type_C1) {
  CacheFixture fixture;
  const auto cache = fixture.make(CacheKind::many, 2);
  CodedCache<int> numbers(*cache,
                          {.encode = [](int number) -> Result<std::vector<std::byte>> {
                             const os::Bytes bytes = std::as_bytes(std::span(&number, 1));
                             return std::vector<std::byte>(bytes.begin(), bytes.end());
                           },
                           .decode = [](os::Bytes bytes) -> Result<int> {
                             if (bytes.size() != sizeof(int)) {
                               return failure(std::errc::bad_message, "no number");
                             }
                             int number = 0;
                             std::memcpy(&number, bytes.data(), sizeof number);
                             return number;
                           }});
  EXPECT_TRUE(must(numbers.put(0, 17)));
  EXPECT_FALSE(must(numbers.put(0, 18)));
  EXPECT_EQ(must(numbers.get(0)), 17);
  EXPECT_EQ(must(numbers.get(1)), std::nullopt);
  // An empty value is decoded like any other.
  ASSERT_TRUE(put(*cache, 1, ""));
  EXPECT_EQ(code_of(numbers.get(1)), std::errc::bad_message);
}

}  // namespace
}  // namespace lastref
