// forward_test: which arrays a parent sends as a new file, how often it makes one, and what is
// counted.
#include <algorithm>
#include <atomic>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <lastref/npy.hpp>

#include "property_tests/impl/reducers/send_fixture.hpp"
#include "property_tests/support/array_generators.hpp"

namespace lastref {
namespace {

using pretend::dtype_of;
using pretend::fail_kth;
using pretend::file_at;
using pretend::must;
using pretend::patterned;
using pretend::SendFixture;
using testing::IsEmpty;
using testing::SizeIs;

std::string name_in(const SendFixture& fixture, const std::string& path) {
  return path.substr(fixture.folder.path().size() + 1);
}

TEST(Forward, makes_files_of_arrays_beyond_the_limit_alone_R4_R5) {
  SendFixture fixture;
  const auto travels_as_file = [&](ForwardReducer& reducer, const Array& array) {
    const Sent sent = must(reducer.reduce(array));
    EXPECT_EQ(sent.reference.has_value(), sent.reduction.index() == 1);
    EXPECT_NE(sent.reduction.index(), 0U);
    return sent.reduction.index() == 1;
  };
  EXPECT_FALSE(travels_as_file(*fixture.forward, patterned(99)));
  EXPECT_FALSE(travels_as_file(*fixture.forward, patterned(100)));
  EXPECT_TRUE(travels_as_file(*fixture.forward, patterned(101)));
  EXPECT_FALSE(travels_as_file(*fixture.forward, must(Array::zeros(dtype_of("|O"), {1000}))));
  EXPECT_FALSE(travels_as_file(*fixture.forward,
                               must(Array::zeros(dtype_of("[('a', '|O'), ('b', '<i8')]"), {99}))));
  ForwardReducer none = fixture.reducer({.max_nbytes = std::nullopt});
  EXPECT_FALSE(travels_as_file(none, patterned(2'000'000)));
  ForwardReducer all = fixture.reducer({.max_nbytes = 0});
  EXPECT_FALSE(travels_as_file(all, patterned(0)));
  EXPECT_TRUE(travels_as_file(all, patterned(1)));
  ForwardReducer usual = fixture.reducer({});
  EXPECT_FALSE(travels_as_file(usual, patterned(1'000'000)));
  EXPECT_TRUE(travels_as_file(usual, patterned(1'000'001)));
  ForwardReducer of_a_worker(fixture.os, fixture.worker, nullptr, {.max_nbytes = 0});
  EXPECT_FALSE(travels_as_file(of_a_worker, patterned(101)));
}

TEST(Forward, counts_a_broadcast_view_for_what_it_spans_and_dumps_it_once_R4) {
  SendFixture fixture;
  const Array row = patterned(60);
  const Array wide = must(row.broadcast_to({1000, 60}));
  EXPECT_EQ(must(fixture.forward->reduce(wide)).reduction.index(), 2U);
  const Array rebuilt_small = fixture.send(wide);
  EXPECT_TRUE(contents_equal(rebuilt_small, wide));
  const Array large = must(patterned(200).broadcast_to({1000, 200}));
  const Sent sent = must(fixture.forward->reduce(large));
  ASSERT_EQ(sent.reduction.index(), 1U);
  EXPECT_EQ(must(fixture.os.status_at(fixture.file_of(sent))).size, 128U + 200U);
  const Array rebuilt = must(fixture.receiver.rebuild(SendFixture::travel(sent)));
  EXPECT_EQ(rebuilt.shape(), large.shape());
  EXPECT_EQ(rebuilt.strides(), large.strides());
  EXPECT_TRUE(contents_equal(rebuilt, large));
  EXPECT_FALSE(rebuilt.writable());
  const Sent twice = must(fixture.forward->reduce(must(patterned(200).broadcast_to({2, 200}))));
  EXPECT_EQ(must(fixture.os.status_at(fixture.file_of(twice))).size, 128U + 200U);
}

RC_GTEST_PROP(ForwardProperties, every_array_arrives_as_it_was_R4_R5, ()) {
  const auto mode = *rc::gen::element(
      MapMode::read, MapMode::read_write, MapMode::create, MapMode::copy_on_write);
  const auto limit = *rc::gen::element<std::optional<std::uint64_t>>(std::nullopt, 0, 20, 60);
  const bool unlinks = *rc::gen::arbitrary<bool>();
  SendFixture fixture({.max_nbytes = limit, .mmap_mode = mode, .unlink_on_gc_collect = unlinks},
                      *rc::gen::arbitrary<bool>());
  Array array = pretend::any_array(dtype_of(*pretend::any_dtype_text()));
  for (int views = *rc::gen::inRange(0, 3); views > 0; --views) {
    array = pretend::any_view(array);
  }
  const bool is_large =
      limit && std::min<std::size_t>(array.nbytes(), array.bounds().size()) > *limit;
  {
    Sent sent = must(fixture.forward->reduce(array));
    RC_ASSERT(sent.reduction.index() == (is_large ? 1U : 2U));
    const Array rebuilt = fixture.deliver(std::move(sent));
    RC_ASSERT(rebuilt.dtype() == array.dtype());
    RC_ASSERT(rebuilt.shape() == array.shape());
    RC_ASSERT(pretend::elements_of(rebuilt) == pretend::elements_of(array));
    const bool keeps_order = rebuilt.is_f_contiguous() || !array.is_f_contiguous();
    RC_ASSERT(keeps_order);
    if (is_large && array.size() > 0U) {
      const bool is_writable = mode != MapMode::read;
      RC_ASSERT(rebuilt.memory()->writable() == is_writable);
    }
  }
  RC_ASSERT(fixture.resources->clean_up().has_value());
  if (!unlinks) {
    for (const std::string& name : fixture.counts.names(ResourceType::file)) {
      RC_ASSERT(fixture.worker->release(file_at(name)).has_value());
    }
  }
  fixture.end();
  RC_ASSERT(fixture.counts.empty());
  RC_ASSERT(fixture.counts.misuse.empty());
  RC_ASSERT(fixture.folder.names().empty());
}

TEST(Forward, dumps_what_write_npy_writes_aligned_and_private_R4) {
  for (const char* const type : {"<f8", "|S3", "[('a', '<i4'), ('b', '>f8')]"}) {
    for (const Order order : {Order::c, Order::f}) {
      SendFixture fixture;
      Array array = must(Array::zeros(dtype_of(type), {30, 4}, order));
      pretend::fill_with_pattern(array.memory()->bytes());
      const Sent sent = must(fixture.forward->reduce(array));
      const std::string path = fixture.file_of(sent);
      const std::string name = std::to_string(fixture.os.pid) + "-" +
                               std::to_string(fixture.os.thread_id()) + "-[0-9a-f]{32}\\.npy";
      const std::string folder = must(fixture.resources->resolve_temp_folder_name()).path;
      EXPECT_TRUE(std::regex_match(path, std::regex((folder + "/").append(name)))) << path;
      EXPECT_EQ(must(fixture.os.status_at(path)).mode, 0600U);
      EXPECT_EQ(must(fixture.os.status_at(folder)).mode, 0700U);
      {
        const auto file = must(
            os::open_file(fixture.os, fixture.folder.path("npy"), {.write = true, .create = true}));
        ASSERT_TRUE(write_npy(fixture.os, file.get(), array));
      }
      EXPECT_EQ(fixture.folder.read(name_in(fixture, path)), fixture.folder.read("npy"));
      const Array mapped = must(map_npy(fixture.os, path, MapMode::read));
      EXPECT_EQ(mapped.memory()->file()->offset % 64, 0U);
      fixture.folder.remove("npy");
    }
  }
}

TEST(Forward, makes_one_file_for_an_array_however_often_it_is_sent_R4) {
  for (const bool attributed : {true, false}) {
    SendFixture fixture({.max_nbytes = 100}, attributed);
    const Array array = patterned(1000);
    std::vector<Sent> sent;
    for (int time = 0; time < 3; ++time) {
      sent.push_back(must(fixture.forward->reduce(array)));
    }
    const std::vector<Array> handles = {array};
    sent.push_back(must(fixture.forward->reduce(handles[0])));
    const std::string path = fixture.file_of(sent[0]);
    for (const Sent& each : sent) {
      EXPECT_EQ(fixture.file_of(each), path);
    }
    EXPECT_EQ(fixture.counts.of(path), 5U);
    EXPECT_EQ(fixture.counts.said("register", path), 1U);
    EXPECT_EQ(fixture.counts.said("hold", path), 4U);
    std::vector<Array> rebuilt;
    for (Sent& each : sent) {
      rebuilt.push_back(fixture.deliver(std::move(each)));
    }
    EXPECT_EQ(fixture.counts.of(path), 5U);
    sent.clear();
    EXPECT_EQ(fixture.counts.of(path), 5U);
    rebuilt.clear();
    // The keep-alive, which was taken once.
    EXPECT_EQ(fixture.counts.of(path), 1U);
    EXPECT_TRUE(fixture.os.status_at(path));
    EXPECT_THAT(fixture.counts.misuse, IsEmpty());
  }
}

TEST(Forward, never_lets_two_arrays_share_a_file_R4) {
  SendFixture fixture({.max_nbytes = 100, .mmap_mode = MapMode::read_write});
  const Array one = patterned(1000);
  const Array other = patterned(1000);
  const Array view = must(one.transpose());
  const Array mine = fixture.send(one);
  const Array yours = fixture.send(other);
  const Array theirs = fixture.send(view);
  EXPECT_NE(mine.memory()->file()->path, yours.memory()->file()->path);
  EXPECT_NE(mine.memory()->file()->path, theirs.memory()->file()->path);
  mine.mutable_data().value()[0] = std::byte{99};
  EXPECT_TRUE(contents_equal(yours, other));
}

TEST(Forward, gives_a_new_name_to_an_array_at_a_recycled_address_R1_R4) {
  SendFixture fixture;
  const auto bytes = std::make_shared<std::vector<std::byte>>(1000);
  const auto send = [&] {
    const Array array = must(Array::over(Memory::wrap(os::Buffer(*bytes), bytes),
                                         {.dtype = dtype_of("|u1"), .shape = {1000}}));
    return fixture.send(array);
  };
  const Array first = send();
  bytes->assign(1000, std::byte{7});
  const Array second = send();
  EXPECT_EQ(second.data()[0], std::byte{7});
  EXPECT_EQ(first.data()[0], std::byte{0});
}

TEST(Forward, takes_one_keep_alive_for_each_life_of_a_file_R4_M4) {
  for (const bool attributed : {true, false}) {
    SendFixture fixture({.max_nbytes = 100}, attributed);
    const Array array = patterned(1000);
    std::set<std::string> paths;
    for (int call = 0; call < 3; ++call) {
      ASSERT_TRUE(fixture.resources->set_current_context("the same"));
      std::string path;
      for (int task = 0; task < 3; ++task) {
        // Each task ends before the next, but the file still exists.
        path = fixture.send(array).memory()->file()->path;
        EXPECT_TRUE(fixture.os.status_at(path));
        EXPECT_EQ(fixture.counts.of(path), 1U);
      }
      EXPECT_TRUE(paths.insert(path).second) << "a name of an earlier life";
      EXPECT_EQ(fixture.counts.said("register", path), 1U);
      EXPECT_TRUE(fixture.resources->clean_up("the same"));
      EXPECT_FALSE(fixture.os.status_at(path));
    }
    EXPECT_THAT(fixture.counts.misuse, IsEmpty());
  }
}

TEST(Forward, makes_a_file_anew_that_somebody_has_removed_R4) {
  SendFixture fixture;
  const Array array = patterned(1000);
  const Array first = fixture.send(array);
  const std::string path = first.memory()->file()->path;
  fixture.folder.remove(name_in(fixture, path));
  const Array second = fixture.send(array);
  EXPECT_NE(second.memory()->file()->path, path);
  EXPECT_TRUE(contents_equal(second, array));
  EXPECT_TRUE(contents_equal(first, array));
  EXPECT_EQ(fixture.counts.of(path), 1U) << "only the first receiver's";
  // The same if the whole folder was removed.
  fixture.folder.remove(fixture.folder.names().front());
  EXPECT_TRUE(contents_equal(fixture.send(array), array));
  EXPECT_THAT(fixture.counts.misuse, IsEmpty());
}

TEST(Forward, dumps_anew_what_was_invalidated_R4) {
  SendFixture fixture({.max_nbytes = 100});
  const Array array = patterned(1000);
  const Array never = patterned(1000);
  EXPECT_TRUE(fixture.forward->invalidate(never));
  auto first = std::optional(fixture.send(array));
  const std::string path = first->memory()->file()->path;
  array.mutable_data().value()[0] ^= std::byte{0xff};
  EXPECT_FALSE(contents_equal(fixture.send(array), array)) << "the limit that is documented";
  EXPECT_TRUE(fixture.forward->invalidate(array));
  EXPECT_TRUE(fixture.forward->invalidate(array));
  EXPECT_TRUE(contents_equal(fixture.send(array), array));
  EXPECT_TRUE(fixture.os.status_at(path));
  first.reset();
  EXPECT_FALSE(fixture.os.status_at(path));
  EXPECT_THAT(fixture.counts.misuse, IsEmpty());
}

TEST(Forward, sends_from_many_threads_at_once_with_one_file_R4) {
  SendFixture fixture;
  const Array array = patterned(300'000);
  std::vector<std::unique_ptr<os::Thread>> threads;
  std::atomic<int> wrong = 0;
  for (int thread = 0; thread < 4; ++thread) {
    threads.push_back(must(fixture.os.start_thread([&] {
      for (int time = 0; time < 20; ++time) {
        wrong += contents_equal(fixture.send(array), array) ? 0 : 1;
      }
    })));
  }
  for (const auto& thread : threads) {
    thread->join();
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(fixture.counts.said("register"), 2U) << "a folder and a file";
  EXPECT_THAT(fixture.counts.names(ResourceType::file), SizeIs(1));
  EXPECT_EQ(fixture.counts.of(fixture.counts.names(ResourceType::file)[0]), 1U);
  EXPECT_THAT(fixture.counts.misuse, IsEmpty());
}

TEST(Forward, sends_an_anonymous_map_as_a_new_file_R2_R4) {
  SendFixture fixture;
  const Array array = must(Array::over(must(Memory::map_anonymous(fixture.os, 4096)),
                                       {.dtype = dtype_of("<i4"), .shape = {1024}}));
  pretend::fill_with_pattern(array.memory()->bytes());
  const Sent sent = must(fixture.forward->reduce(array));
  ASSERT_EQ(sent.reduction.index(), 1U);
  EXPECT_TRUE(contents_equal(must(fixture.receiver.rebuild(sent.reduction)), array));
}

TEST(Forward, that_fails_at_any_call_leaves_nothing_of_it_R12) {
  for (const std::errc code : {std::errc::no_space_on_device, std::errc::io_error}) {
    for (std::size_t at = 0;; ++at) {
      SCOPED_TRACE(at);
      SendFixture fixture;
      // Not contiguous, so that it is written in several pieces.
      const Array array = must(patterned(600'000).slice(std::vector<Slice>{{.step = 2}}));
      fixture.os.director = fail_kth(at, code);
      const std::size_t before = fixture.os.crossings.size();
      const auto sent = fixture.forward->reduce(array);
      const bool was_reached = fixture.os.crossings.size() > before + at;
      fixture.os.director = nullptr;
      if (!sent) {
        EXPECT_THAT(fixture.counts.names(ResourceType::file), IsEmpty());
        for (const std::string& name : fixture.folder.names()) {
          EXPECT_EQ(name.find(".npy"), std::string::npos) << name;
        }
      }
      EXPECT_TRUE(contents_equal(fixture.send(array), array));
      EXPECT_THAT(fixture.counts.names(ResourceType::file), SizeIs(1));
      EXPECT_THAT(fixture.counts.misuse, IsEmpty());
      if (!was_reached) {
        break;
      }
    }
  }
}

TEST(Forward, that_cannot_be_counted_leaves_nothing_of_it_R12) {
  for (std::size_t at = 0; at < 3; ++at) {
    SCOPED_TRACE(at);
    SendFixture fixture;
    const Array array = patterned(1000);
    fixture.counts.fails = at;
    const auto sent = fixture.forward->reduce(array);
    ASSERT_FALSE(sent);
    EXPECT_EQ(sent.error().code, std::errc::connection_refused);
    EXPECT_THAT(fixture.counts.names(ResourceType::file), IsEmpty());
    for (const std::string& name : fixture.folder.names()) {
      EXPECT_EQ(name.find(".npy"), std::string::npos) << name;
    }
    EXPECT_TRUE(contents_equal(fixture.send(array), array));
    EXPECT_THAT(fixture.counts.misuse, IsEmpty());
  }
}

TEST(Forward, that_reuses_and_fails_keeps_what_was_there_R12) {
  SendFixture fixture;
  const Array array = patterned(1000);
  const std::string path = fixture.send(array).memory()->file()->path;
  fixture.os.director = fail_kth(0, std::errc::io_error, Call::status_at);
  EXPECT_FALSE(fixture.forward->reduce(array));
  fixture.os.director = nullptr;
  fixture.counts.fails = 0;
  EXPECT_FALSE(fixture.forward->reduce(array));
  EXPECT_EQ(fixture.counts.of(path), 1U);
  EXPECT_EQ(fixture.send(array).memory()->file()->path, path);
}

TEST(Forward, after_a_clean_up_sends_by_a_new_file_or_says_canceled_R4_M5) {
  SendFixture fixture;
  ASSERT_TRUE(fixture.resources->set_current_context("a"));
  const Array array = patterned(1000);
  const std::string path = fixture.send(array).memory()->file()->path;
  EXPECT_TRUE(fixture.resources->clean_up("a"));
  const auto late = fixture.forward->reduce(array);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, std::errc::operation_canceled);
  EXPECT_TRUE(fixture.counts.empty());
  ASSERT_TRUE(fixture.resources->set_current_context("a"));
  EXPECT_NE(fixture.send(array).memory()->file()->path, path);
  EXPECT_THAT(fixture.counts.misuse, IsEmpty());
}

TEST(Forward, prewarms_as_told_and_not_shared_memory_if_it_decides_R9_R10) {
  struct Row {
    Prewarm prewarm;
    bool on_shared_memory;
    std::size_t maps;
  };
  constexpr Row rows[] = {{Prewarm::off, false, 0},
                          {Prewarm::off, true, 0},
                          {Prewarm::on, false, 1},
                          {Prewarm::on, true, 1},
                          {Prewarm::automatic, false, 1},
                          {Prewarm::automatic, true, 0}};
  for (const Row& row : rows) {
    SendFixture fixture;
    fixture.folder.make_folder("shm");
    fixture.os.mounts["/dev/shm"] = fixture.folder.path("shm");
    fixture.resources = fixture.make(
        {.root = row.on_shared_memory ? "/dev/shm/deep" : fixture.folder.path("deep")});
    {
      ForwardReducer reducer = fixture.reducer({.max_nbytes = 100, .prewarm = row.prewarm});
      const Array array = patterned(10'000);
      const Sent first = must(reducer.reduce(array));
      const Sent second = must(reducer.reduce(array));
      EXPECT_EQ(fixture.os.count_of(Call::map), row.maps);
      EXPECT_EQ(fixture.os.count_of(Call::unmap), row.maps);
      fixture.os.director = fail_kth(0, std::errc::not_enough_memory, Call::map);
      const Array other = patterned(10'000);
      EXPECT_TRUE(reducer.reduce(other)) << "without it all goes on";
      fixture.os.director = nullptr;
    }
    fixture.end();
    fixture.folder.remove("shm");
    fixture.folder.remove("deep");
  }
}

TEST(Forward, tells_as_much_as_it_is_asked_to_R11) {
  for (const int verbose : {0, 1, 2}) {
    SendFixture fixture({.max_nbytes = 100, .verbose = verbose});
    const Array array = must(Array::zeros(dtype_of("<i4"), {100, 3}));
    const Sent made = must(fixture.forward->reduce(array));
    const std::string line = "a map of an array (shape (100, 3), dtype <i4) at ";
    EXPECT_EQ(fixture.os.said.find(line) != std::string::npos, verbose >= 1) << fixture.os.said;
    EXPECT_EQ(fixture.os.said.find(fixture.file_of(made)) != std::string::npos, verbose >= 1);
    fixture.os.said.clear();
    const Sent reused = must(fixture.forward->reduce(array));
    EXPECT_EQ(fixture.os.said.find("reuses " + fixture.file_of(made)) != std::string::npos,
              verbose >= 2);
    fixture.os.said.clear();
    EXPECT_TRUE(fixture.forward->reduce(patterned(5)));
    EXPECT_EQ(fixture.os.said.find("by value (shape (5), dtype |u1)") != std::string::npos,
              verbose >= 2);
    EXPECT_EQ(std::ranges::count(fixture.os.said, '\n'), verbose >= 2 ? 1 : 0);
  }
}

}  // namespace
}  // namespace lastref
