// contract_test: what every cache promises, on each of them.
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "property_tests/impl/cache/cache_fixture.hpp"
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
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class CacheContract : public testing::TestWithParam<CacheKind> {
 protected:
  std::unique_ptr<SlotCache> make(std::int64_t length) { return fixture_.make(GetParam(), length); }

  CacheFixture fixture_;
};

INSTANTIATE_TEST_SUITE_P(On,
                         CacheContract,
                         testing::ValuesIn(pretend::cache_kinds),
                         [](const auto& each) { return pretend::name_of(each.param); });

TEST_P(CacheContract, a_slot_keeps_its_first_value_C2) {
  const auto cache = make(3);
  EXPECT_EQ(get_all_ways(*cache, 1), std::nullopt);
  EXPECT_TRUE(put(*cache, 1, "one"));
  EXPECT_FALSE(put(*cache, 1, "another"));
  EXPECT_EQ(get_all_ways(*cache, 1), "one");
  EXPECT_EQ(get_all_ways(*cache, 0), std::nullopt);
  EXPECT_EQ(get_all_ways(*cache, 2), std::nullopt);
  EXPECT_EQ(cache->size(), 3U);
}

TEST_P(CacheContract, an_empty_value_is_a_value_C2) {
  const auto cache = make(2);
  EXPECT_TRUE(put(*cache, 0, ""));
  EXPECT_FALSE(put(*cache, 0, "more"));
  EXPECT_EQ(get_all_ways(*cache, 0), "");
}

TEST_P(CacheContract, a_slot_beyond_the_last_is_a_typed_error_C2) {
  const auto cache = make(2);
  for (const std::uint64_t slot : {std::uint64_t{2}, std::numeric_limits<std::uint64_t>::max()}) {
    EXPECT_EQ(code_of(cache->put(slot, {})), std::errc::result_out_of_range);
    EXPECT_EQ(code_of(cache->get(slot)), std::errc::result_out_of_range);
    EXPECT_EQ(code_of(cache->view(slot)), std::errc::result_out_of_range);
    EXPECT_EQ(code_of(cache->get_checked(slot)), std::errc::result_out_of_range);
  }
}

TEST_P(CacheContract, a_closed_cache_says_no_before_it_looks_at_the_slot_C2) {
  const auto cache = make(2);
  ASSERT_TRUE(put(*cache, 0, "zero"));
  ASSERT_TRUE(cache->close());
  ASSERT_TRUE(cache->close());
  EXPECT_FALSE(must(cache->put(7, {})));
  EXPECT_EQ(get_all_ways(*cache, 0), std::nullopt);
  EXPECT_EQ(get_all_ways(*cache, 7), std::nullopt);
  EXPECT_FALSE(must(cache->preserve("kept", false)));
  EXPECT_FALSE(must(cache->preload("kept")));
}

TEST_P(CacheContract, a_frozen_cache_says_no_before_it_looks_at_the_slot_C2_C7) {
  const auto cache = make(2);
  ASSERT_TRUE(must(cache->preserve("kept", false)));
  EXPECT_FALSE(must(cache->put(7, {})));
  EXPECT_EQ(code_of(cache->get(7)), std::errc::result_out_of_range);
  fixture_.folder.remove("kept");
}

TEST_P(CacheContract, lengths_and_limits_that_make_no_sense_are_typed_errors_C2) {
  for (const std::int64_t length : {std::int64_t{0}, std::int64_t{-1}}) {
    EXPECT_EQ(code_of(fixture_.try_make(GetParam(), length, fixture_.options())),
              std::errc::invalid_argument);
  }
  EXPECT_EQ(code_of(fixture_.try_make(
                GetParam(), std::numeric_limits<std::int64_t>::max(), fixture_.options())),
            std::errc::value_too_large);
  SlotCacheOptions options = fixture_.options();
  options.size_limit = -1;
  EXPECT_EQ(code_of(fixture_.try_make(GetParam(), 1, options)), std::errc::invalid_argument);
}

TEST_P(CacheContract, beyond_the_limit_it_is_frozen_and_read_on_C5) {
  SlotCacheOptions options = fixture_.options();
  options.size_limit = 2000;
  const auto cache = must(fixture_.try_make(GetParam(), 8, options));
  const std::string value(500, 'a');
  EXPECT_TRUE(put(*cache, 0, value));
  EXPECT_FALSE(put(*cache, 1, std::string(2001, 'b')));
  // Small enough, but the cache is frozen.
  EXPECT_FALSE(put(*cache, 2, "c"));
  EXPECT_EQ(get_all_ways(*cache, 0), value);
  EXPECT_EQ(get_all_ways(*cache, 1), std::nullopt);
}

TEST_P(CacheContract, what_one_preserves_each_of_them_loads_C7_C8) {
  {
    const auto cache = make(4);
    ASSERT_TRUE(put(*cache, 1, "one"));
    ASSERT_TRUE(put(*cache, 3, std::string(300'000, 'x')));
    ASSERT_TRUE(put(*cache, 0, ""));
    ASSERT_TRUE(must(cache->preserve("kept", false)));
    EXPECT_FALSE(put(*cache, 2, "late"));
    EXPECT_EQ(get_all_ways(*cache, 1), "one");
  }
  for (const CacheKind kind : pretend::cache_kinds) {
    SCOPED_TRACE(pretend::name_of(kind));
    const auto loaded = fixture_.make(kind, 4);
    ASSERT_TRUE(put(*loaded, 2, "before"));
    ASSERT_TRUE(must(loaded->preload("kept")));
    EXPECT_EQ(get_all_ways(*loaded, 0), "");
    EXPECT_EQ(get_all_ways(*loaded, 1), "one");
    EXPECT_EQ(get_all_ways(*loaded, 2), std::nullopt);
    EXPECT_EQ(get_all_ways(*loaded, 3), std::string(300'000, 'x'));
    EXPECT_FALSE(put(*loaded, 2, "after"));
    EXPECT_FALSE(must(loaded->preload("kept")));
    // And preserves it again, byte for byte.
    ASSERT_TRUE(must(loaded->preserve("again", true)));
    EXPECT_EQ(fixture_.folder.read("again"), fixture_.folder.read("kept"));
  }
  EXPECT_THAT(fixture_.folder.names(), ElementsAre("again", "kept"));
  fixture_.folder.remove("again");
  fixture_.folder.remove("kept");
}

TEST_P(CacheContract, preserve_leaves_a_name_alone_unless_it_is_told_to_C7) {
  fixture_.folder.write("kept", "another owner's");
  const auto cache = make(1);
  EXPECT_FALSE(must(cache->preserve("kept", false)));
  EXPECT_EQ(fixture_.folder.read("kept"), "another owner's");
  // The file was there from the start, so the cache is not frozen.
  EXPECT_TRUE(put(*cache, 0, "zero"));
  EXPECT_TRUE(must(cache->preserve("kept", true)));
  EXPECT_THAT(fixture_.folder.read("kept"), EndsWith("zero"));
  fixture_.folder.remove("kept");
}

TEST_P(CacheContract, a_name_that_comes_meanwhile_is_left_alone_C7) {
  const auto cache = make(1);
  ASSERT_TRUE(put(*cache, 0, "zero"));
  fixture_.os.director = [&](const pretend::Crossing& crossed) -> std::optional<std::errc> {
    if (crossed.call == Call::rename_new) {
      fixture_.folder.write("kept", "another owner's");
    }
    return std::nullopt;
  };
  EXPECT_FALSE(must(cache->preserve("kept", false)));
  EXPECT_EQ(fixture_.folder.read("kept"), "another owner's");
  fixture_.folder.remove("kept");
}

TEST_P(CacheContract, is_preserved_where_a_file_system_only_knows_hard_links_C7_E14) {
  constexpr std::uint64_t fuse = 0x65735546;
  const auto cache = make(1);
  ASSERT_TRUE(put(*cache, 0, "zero"));
  fixture_.os.file_system_kind = fuse;
  const auto knows_no_renaming = [](const pretend::Crossing& crossed) {
    return crossed.call == Call::rename_new ? std::optional(std::errc::invalid_argument)
                                            : std::nullopt;
  };
  fixture_.os.director = knows_no_renaming;
  EXPECT_TRUE(must(cache->preserve("kept", false)));
  EXPECT_FALSE(must(cache->preserve("kept", false)));
  fixture_.os.director = [&](const pretend::Crossing& crossed) {
    if (crossed.call == Call::link && crossed.subject.ends_with("/other")) {
      fixture_.folder.write("other", "another owner's");
    }
    return knows_no_renaming(crossed);
  };
  EXPECT_FALSE(must(cache->preserve("other", false)));
  EXPECT_EQ(fixture_.folder.read("other"), "another owner's");
  fixture_.os.director = nullptr;
  fixture_.os.file_system_kind = std::nullopt;
  const auto again = make(1);
  EXPECT_TRUE(must(again->preload("kept")));
  EXPECT_EQ(get_all_ways(*again, 0), "zero");
  EXPECT_THAT(fixture_.counts.misuse, IsEmpty());
  fixture_.folder.remove("kept");
  fixture_.folder.remove("other");
}

TEST_P(CacheContract, goes_on_where_a_file_system_can_give_no_new_name_C7_E14) {
  constexpr std::uint64_t fuse = 0x65735546;
  const auto cache = make(2);
  ASSERT_TRUE(put(*cache, 0, "zero"));
  fixture_.os.file_system_kind = fuse;
  const std::vector<std::string> before = fixture_.folder.names();
  for (const std::errc code :
       {std::errc::operation_not_permitted, std::errc::operation_not_supported}) {
    fixture_.os.director = [&](const pretend::Crossing& crossed) -> std::optional<std::errc> {
      if (crossed.call == Call::rename_new) {
        return std::errc::invalid_argument;
      }
      return crossed.call == Call::link ? std::optional(code) : std::nullopt;
    };
    const auto preserved = cache->preserve("kept", false);
    ASSERT_FALSE(preserved);
    EXPECT_EQ(preserved.error().code, std::errc::not_supported);
    EXPECT_EQ(fixture_.folder.names(), before);
  }
  fixture_.os.director = nullptr;
  EXPECT_TRUE(put(*cache, 1, "one")) << "it is not frozen";
  EXPECT_TRUE(must(cache->preserve("kept", true)));
  fixture_.folder.remove("kept");
}

TEST_P(CacheContract, only_names_of_files_are_preserved_and_loaded_C7) {
  const auto cache = make(1);
  for (const std::string& name : {std::string(),
                                  std::string("."),
                                  std::string(".."),
                                  std::string("../x"),
                                  std::string("a/b"),
                                  std::string("a\0b", 3),
                                  std::string(256, 'n')}) {
    EXPECT_EQ(code_of(cache->preserve(name, true)), std::errc::invalid_argument) << name;
    EXPECT_EQ(code_of(cache->preload(name)), std::errc::invalid_argument) << name;
  }
  EXPECT_FALSE(must(cache->preload("nothing")));
  EXPECT_TRUE(put(*cache, 0, "zero"));
}

TEST_P(CacheContract, another_process_neither_preserves_nor_loads_C7) {
  const auto cache = make(1);
  const os::Pid own = fixture_.os.pid;
  fixture_.os.pid = own + 1;
  EXPECT_EQ(code_of(cache->preserve("kept", false)), std::errc::operation_not_permitted);
  EXPECT_EQ(code_of(cache->preload("kept")), std::errc::operation_not_permitted);
  fixture_.os.pid = own;
}

TEST_P(CacheContract, a_preserved_file_that_is_hostile_is_refused_and_changes_nothing_C7) {
  const auto cache = make(2);
  ASSERT_TRUE(put(*cache, 0, "zero"));
  const std::string entries(32, '\0');
  for (const std::string& bytes : {std::string(), std::string(31, '\0'), entries}) {
    fixture_.folder.write("bad", bytes);
    EXPECT_EQ(code_of(cache->preload("bad")), std::errc::bad_message) << bytes.size();
    EXPECT_EQ(get_all_ways(*cache, 0), "zero");
    EXPECT_TRUE(cache->size() == 2 && !must(cache->put(0, {})));
  }
  fixture_.folder.remove("bad");
  fixture_.folder.make_folder("bad");
  EXPECT_EQ(code_of(cache->preload("bad")), std::errc::bad_message);
  fixture_.folder.remove("bad");
  EXPECT_TRUE(put(*cache, 1, "one"));
}

TEST_P(CacheContract, a_preserved_file_is_there_whole_or_not_at_all_C7) {
  for (const std::errc code : {std::errc::no_space_on_device, std::errc::io_error}) {
    for (std::size_t at = 0;; ++at) {
      SCOPED_TRACE(at);
      const auto cache = make(2);
      ASSERT_TRUE(put(*cache, 0, "zero"));
      const std::size_t before = fixture_.os.crossings.size();
      fixture_.os.director = pretend::fail_kth(at, code);
      const auto preserved = cache->preserve("kept", false);
      const std::size_t crossed = fixture_.os.crossings.size() - before;
      fixture_.os.director = nullptr;
      EXPECT_EQ(fixture_.folder.exists("kept"), preserved && *preserved);
      for (const std::string& name : fixture_.folder.names()) {
        EXPECT_THAT(name, Not(EndsWith(".part")));
      }
      EXPECT_EQ(get(*cache, 0), "zero");
      ASSERT_TRUE(must(cache->preserve("kept", true)));
      fixture_.folder.remove("kept");
      if (crossed <= at) {
        break;
      }
    }
  }
  EXPECT_TRUE(fixture_.counts.empty());
}

TEST_P(CacheContract, where_there_is_no_space_one_warning_is_said_and_nothing_changes_C5) {
  if (GetParam() == CacheKind::memory) {
    GTEST_SKIP() << "has no file";
  }
  for (const std::errc code : {std::errc::no_space_on_device, std::errc::file_too_large}) {
    fixture_.os.said.clear();
    const auto cache = make(3);
    fixture_.os.director = pretend::fail_kth(0, code, Call::write_at);
    EXPECT_FALSE(put(*cache, 0, "zero"));
    fixture_.os.director = pretend::fail_kth(0, code, Call::write_at);
    EXPECT_FALSE(put(*cache, 1, "one"));
    fixture_.os.director = nullptr;
    EXPECT_THAT(fixture_.os.said, HasSubstr(" 4 bytes"));
    EXPECT_THAT(fixture_.os.said, HasSubstr("slot 0"));
    pretend::expect_transcript(
        pretend::with_replacements(fixture_.os.said, {{fixture_.folder.path(), "FOLDER"}}));
    EXPECT_THAT(fixture_.os.said, Not(HasSubstr("slot 1")));
    EXPECT_EQ(get_all_ways(*cache, 0), std::nullopt);
    // The disk has space again.
    EXPECT_TRUE(put(*cache, 0, "zero"));
    EXPECT_TRUE(put(*cache, 1, "one"));
    EXPECT_EQ(get_all_ways(*cache, 0), "zero");
    EXPECT_EQ(get_all_ways(*cache, 1), "one");
  }
}

TEST_P(CacheContract, another_error_of_writing_is_told_and_nothing_changes_C4) {
  if (GetParam() == CacheKind::memory) {
    GTEST_SKIP() << "has no file";
  }
  const auto cache = make(2);
  fixture_.os.director = pretend::fail_kth(0, std::errc::io_error, Call::write_at);
  EXPECT_EQ(code_of(cache->put(0, os::bytes_of("zero"))), std::errc::io_error);
  fixture_.os.director = nullptr;
  EXPECT_EQ(get_all_ways(*cache, 0), std::nullopt);
  EXPECT_TRUE(put(*cache, 0, "zero"));
  EXPECT_EQ(get_all_ways(*cache, 0), "zero");
}

/// The k-th call fails, and so does every call that would remove a file, if `no_unlink`.
pretend::DirectedOs::Director fail_making(std::size_t k, std::errc code, bool no_unlink) {
  return [kth = pretend::fail_kth(k, code), code, no_unlink](const pretend::Crossing& crossed) {
    const auto failed = kth(crossed);
    return no_unlink && crossed.call == Call::unlink ? code : failed;
  };
}

TEST_P(CacheContract, nothing_is_left_when_it_cannot_be_made_C6) {
  std::size_t failed = 0;
  for (const auto& [code, no_unlink] : {std::pair(std::errc::permission_denied, false),
                                        std::pair(std::errc::no_space_on_device, false),
                                        std::pair(std::errc::permission_denied, true)}) {
    for (std::size_t at = 0;; ++at) {
      SCOPED_TRACE(at);
      const std::size_t before = fixture_.os.crossings.size();
      fixture_.os.director = fail_making(at, code, no_unlink);
      auto cache = fixture_.try_make(GetParam(), 4, fixture_.options());
      const std::size_t crossed = fixture_.os.crossings.size() - before;
      fixture_.os.director = nullptr;
      if (!cache) {
        ++failed;
        EXPECT_EQ(cache.error().code, code);
        EXPECT_THAT(fixture_.folder.names(), IsEmpty());
        EXPECT_TRUE(fixture_.counts.empty());
      } else {
        ASSERT_TRUE((*cache)->close());
      }
      if (crossed <= at) {
        break;
      }
    }
  }
  EXPECT_TRUE(failed > 0 || GetParam() == CacheKind::memory);
  EXPECT_THAT(fixture_.folder.names(), IsEmpty());
}

TEST_P(CacheContract, says_what_it_does_if_it_is_asked_to) {
  SlotCacheOptions options = fixture_.options();
  options.is_verbose = true;
  const auto cache = must(fixture_.try_make(GetParam(), 1, options));
  ASSERT_TRUE(must(cache->preserve("kept", false)));
  EXPECT_THAT(fixture_.os.said, HasSubstr(fixture_.folder.path("kept")));
  const std::string line = fixture_.os.said.substr(fixture_.os.said.rfind("lastref cache: "));
  pretend::expect_transcript(
      pretend::with_replacements(line, {{fixture_.folder.path(), "FOLDER"}}));
  EXPECT_FALSE(must(cache->preload("kept")));
  fixture_.folder.remove("kept");
}

TEST_P(CacheContract, a_view_outlives_the_cache) {
  auto cache = make(2);
  const std::string value(100'000, 'v');
  ASSERT_TRUE(put(*cache, 1, value));
  const auto view = must(cache->view(1));
  cache.reset();
  EXPECT_EQ(pretend::text_of(view), value);
}

RC_GTEST_PROP(Cache, does_what_a_map_does_C2_C8, ()) {
  const auto kind = *rc::gen::elementOf(
      std::vector<CacheKind>(std::begin(pretend::cache_kinds), std::end(pretend::cache_kinds)));
  CacheFixture fixture;
  const auto length = *rc::gen::inRange<std::int64_t>(1, 20);
  auto cache = fixture.make(kind, length);
  std::map<std::uint64_t, std::string> model;
  const auto check = [&] {
    for (std::uint64_t slot = 0; slot < cache->size(); ++slot) {
      const auto found = model.find(slot);
      RC_ASSERT(get(*cache, slot) ==
                (found == model.end() ? std::nullopt : std::optional(found->second)));
    }
  };
  const auto steps = *rc::gen::container<std::vector<std::pair<std::uint64_t, std::vector<char>>>>(
      rc::gen::pair(rc::gen::inRange<std::uint64_t>(0, static_cast<std::uint64_t>(length)),
                    rc::gen::arbitrary<std::vector<char>>()));
  for (const auto& [slot, bytes] : steps) {
    // Some are longer than the bytes that are copied after their head.
    const auto times = *rc::gen::elementOf(std::vector<std::size_t>{1, 1, 1, 3000});
    std::string text;
    for (std::size_t n = 0; n < times; ++n) {
      text.append(bytes.begin(), bytes.end());
    }
    RC_ASSERT(put(*cache, slot, text) == model.emplace(slot, text).second);
  }
  check();
  RC_ASSERT(must(cache->preserve("kept", true)));
  const auto other = *rc::gen::elementOf(
      std::vector<CacheKind>(std::begin(pretend::cache_kinds), std::end(pretend::cache_kinds)));
  cache = fixture.make(other, length);
  RC_ASSERT(must(cache->preload("kept")));
  check();
  fixture.folder.remove("kept");
}

}  // namespace
}  // namespace lastref
