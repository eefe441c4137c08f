// receiver_test: the references of a receiver, from before it opens a file until after the last
// unmap; and what it sends on, or back.
#include <algorithm>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <lastref/joblib.hpp>
#include <lastref/npy.hpp>

#include "property_tests/impl/reducers/send_fixture.hpp"
#include "property_tests/support/array_generators.hpp"

namespace lastref {
namespace {

using pretend::Crossing;
using pretend::dtype_of;
using pretend::fail_kth;
using pretend::file_at;
using pretend::must;
using pretend::patterned;
using pretend::SendFixture;
using testing::IsEmpty;

/// The events of files, in order.
std::vector<std::string> tell_story(SendFixture& fixture, const std::function<void()>& act) {
  std::vector<std::string> story;
  fixture.counts.before = [&](const std::string& operation, const std::string&) {
    story.push_back(operation);
  };
  fixture.os.after = [&](const Crossing& crossing) {
    if (crossing.call == Call::open || crossing.call == Call::map || crossing.call == Call::unmap) {
      story.emplace_back(name_of(crossing.call));
    }
  };
  act();
  fixture.counts.before = nullptr;
  fixture.os.after = nullptr;
  return story;
}

TEST(Receiver, holds_before_it_opens_and_releases_after_the_unmap_R7) {
  for (const bool as_view : {false, true}) {
    SendFixture fixture;
    const Array array = patterned(1000);
    const Sent sent = must(fixture.forward->reduce(array));
    Reduction reduction = sent.reduction;
    if (as_view) {
      reduction = StridedFromMemmap{.filename = fixture.file_of(sent),
                                    .dtype = array.dtype(),
                                    .offset = 128,
                                    .shape = {1000},
                                    .unlink = true};
    }
    const auto story = tell_story(fixture, [&] {
      auto rebuilt = std::optional(must(fixture.receiver.rebuild(reduction)));
      EXPECT_TRUE(fixture.receiver.is_temporary(fixture.file_of(sent)));
      const Array view = must(rebuilt->transpose());
      rebuilt.reset();
      EXPECT_TRUE(contents_equal(view, array));
    });
    EXPECT_EQ(story, (std::vector<std::string>{"hold", "open", "map", "unmap", "release"}));
    EXPECT_FALSE(fixture.receiver.is_temporary(fixture.file_of(sent)));
    EXPECT_EQ(fixture.counts.of(fixture.file_of(sent)), 2U);
  }
}

TEST(Receiver, takes_over_what_the_sender_took_if_references_are_nobodys_R7) {
  SendFixture fixture({.max_nbytes = 100}, /*attributed=*/false);
  Sent sent = must(fixture.forward->reduce(patterned(1000)));
  const std::string path = fixture.file_of(sent);
  const auto story =
      tell_story(fixture, [&] { static_cast<void>(fixture.deliver(std::move(sent))); });
  EXPECT_EQ(story, (std::vector<std::string>{"open", "map", "unmap", "release"}));
  EXPECT_EQ(fixture.counts.of(path), 1U);
}

RC_GTEST_PROP(ReceiverProperties, releases_once_for_each_map_whatever_view_goes_last_R7, ()) {
  SendFixture fixture({.max_nbytes = 10}, *rc::gen::arbitrary<bool>());
  const Array array = patterned(24);
  std::string path;
  std::vector<std::pair<int, Array>> views;
  std::map<int, int> alive;
  const int maps = *rc::gen::inRange(1, 4);
  for (int map = 0; map < maps; ++map) {
    views.emplace_back(map, fixture.send(array));
    path = views.back().second.memory()->file()->path;
    for (int count = *rc::gen::inRange(0, 4); count > 0; --count) {
      views.emplace_back(map, pretend::any_view(views.back().second));
    }
    alive[map] = static_cast<int>(
        std::ranges::count(views, map, [](const auto& each) { return each.first; }));
  }
  while (!views.empty()) {
    const auto held = static_cast<std::size_t>(
        std::ranges::count_if(alive, [](const auto& each) { return each.second > 0; }));
    RC_ASSERT(fixture.counts.of(path) == 1 + held);
    RC_ASSERT(fixture.receiver.is_temporary(path));
    const auto at = *rc::gen::inRange<std::size_t>(0, views.size());
    --alive[views[at].first];
    views.erase(views.begin() + static_cast<std::ptrdiff_t>(at));
  }
  RC_ASSERT(fixture.counts.of(path) == 1U);
  RC_ASSERT(!fixture.receiver.is_temporary(path));
  RC_ASSERT(fixture.counts.misuse.empty());
}

TEST(Receiver, may_go_before_its_arrays_R7) {
  SendFixture fixture;
  const Array array = patterned(1000);
  const Sent sent = must(fixture.forward->reduce(array));
  auto receiver = std::make_unique<Receiver>(fixture.os, fixture.worker);
  auto rebuilt = std::optional(must(receiver->rebuild(sent.reduction)));
  receiver.reset();
  fixture.worker.reset();
  EXPECT_TRUE(contents_equal(*rebuilt, array));
  EXPECT_EQ(fixture.counts.of(fixture.file_of(sent), "worker"), 1U);
  must(fixture.os.start_thread([gone = std::exchange(rebuilt, std::nullopt)]() mutable {
    gone.reset();
  }))->join();
  EXPECT_EQ(fixture.counts.of(fixture.file_of(sent), "worker"), 0U);
  EXPECT_THAT(fixture.counts.misuse, IsEmpty());
}

TEST(Receiver, keeps_its_reference_to_the_end_if_it_shall_not_unlink_R7) {
  for (const bool attributed : {true, false}) {
    SendFixture fixture({.max_nbytes = 100, .unlink_on_gc_collect = false}, attributed);
    const Sent sent = must(fixture.forward->reduce(patterned(1000)));
    const std::string path = fixture.file_of(sent);
    const std::size_t before = fixture.counts.of(path);
    EXPECT_TRUE(fixture.receiver.rebuild(sent.reduction));
    EXPECT_EQ(fixture.counts.of(path), before + (attributed ? 1U : 0U));
    EXPECT_EQ(fixture.counts.said("release"), 0U);
    EXPECT_FALSE(fixture.receiver.is_temporary(path));
  }
}

TEST(Receiver, gives_back_what_it_could_not_open_and_never_unlinks_R7) {
  struct Row {
    const char* name;
    void (*spoil)(const pretend::FreshFolder& folder, const std::string& name);
  };
  const Row rows[] = {
      {"missing", [](const auto& folder, const auto& name) { folder.remove(name); }},
      {"truncated",
       [](const auto& folder, const auto& name) {
         std::filesystem::resize_file(folder.path(name), 300);
       }},
      {"empty", [](const auto& folder, const auto& name) { folder.write(name, ""); }},
      {"not an npy",
       [](const auto& folder, const auto& name) { folder.write(name, std::string(9000, 'x')); }},
      {"a folder",
       [](const auto& folder, const auto& name) {
         folder.remove(name);
         folder.make_folder(name);
       }},
      {"a symlink",
       [](const auto& folder, const auto& name) {
         std::filesystem::rename(folder.path(name), folder.path(name) + ".real");
         folder.link(name, folder.path(name) + ".real");
       }},
  };
  for (const Row& row : rows) {
    for (const MapMode mode : {MapMode::read, MapMode::read_write, MapMode::create}) {
      for (const bool unlinks : {true, false}) {
        SCOPED_TRACE(row.name);
        SendFixture fixture(
            {.max_nbytes = 100, .mmap_mode = mode, .unlink_on_gc_collect = unlinks});
        const Sent sent = must(fixture.forward->reduce(patterned(1000)));
        const std::string path = fixture.file_of(sent);
        row.spoil(fixture.folder, path.substr(fixture.folder.path().size() + 1));
        const auto names = fixture.folder.names();
        EXPECT_FALSE(fixture.receiver.rebuild(sent.reduction));
        EXPECT_EQ(fixture.counts.of(path), 2U);
        EXPECT_EQ(fixture.counts.of(path, "worker"), 0U);
        EXPECT_FALSE(fixture.receiver.is_temporary(path));
        EXPECT_EQ(fixture.folder.names(), names);
        EXPECT_EQ(fixture.os.count_of(Call::unlink), 0U);
        EXPECT_THAT(fixture.counts.misuse, IsEmpty());
      }
    }
  }
}

TEST(Receiver, follows_no_symlink_in_the_place_of_a_temporary_file_R7_R13) {
  SendFixture fixture;
  const Sent sent = must(fixture.forward->reduce(patterned(1000)));
  const std::string path = fixture.file_of(sent);
  std::filesystem::rename(path, path + ".moved");
  std::filesystem::create_symlink(path + ".moved", path);
  const auto rebuilt = fixture.receiver.rebuild(sent.reduction);
  ASSERT_FALSE(rebuilt);
  EXPECT_EQ(rebuilt.error().code, std::errc::too_many_symbolic_link_levels);
  std::filesystem::rename(path + ".moved", path);
  EXPECT_TRUE(fixture.receiver.rebuild(sent.reduction));
}

/// Elements of size 0 may be at the end of the file as well as anywhere in it, but not past it.
TEST(Receiver, maps_no_elements_up_to_the_end_of_a_file_R7) {
  SendFixture fixture;
  const Sent sent = must(fixture.forward->reduce(patterned(1000)));
  const std::string path = fixture.file_of(sent);
  const std::uint64_t end = must(fixture.os.status_at(path)).size;
  StridedFromMemmap view = {
      .filename = path, .dtype = patterned(1).dtype(), .offset = end, .shape = {0}};
  EXPECT_EQ(must(fixture.receiver.rebuild(view)).shape(), Shape{0});
  ++view.offset;
  EXPECT_EQ(fixture.receiver.rebuild(view).error().code, std::errc::invalid_argument);
}

TEST(Receiver, gives_back_what_it_holds_if_any_call_fails_R7) {
  for (const bool unlinks : {true, false}) {
    for (const bool as_view : {true, false}) {
      for (std::size_t at = 0;; ++at) {
        SCOPED_TRACE(at);
        SendFixture fixture({.max_nbytes = 100, .unlink_on_gc_collect = unlinks});
        const Array array = patterned(1000);
        const Sent sent = must(fixture.forward->reduce(array));
        const std::string path = fixture.file_of(sent);
        Reduction reduction = sent.reduction;
        if (as_view) {
          reduction = StridedFromMemmap{.filename = path,
                                        .dtype = array.dtype(),
                                        .offset = 128,
                                        .shape = {1000},
                                        .unlink = true};
        }
        const std::size_t before = fixture.os.crossings.size();
        fixture.os.director = fail_kth(at, std::errc::not_enough_memory);
        const auto rebuilt = fixture.receiver.rebuild(reduction);
        const bool was_reached = fixture.os.crossings.size() > before + at;
        fixture.os.director = nullptr;
        EXPECT_EQ(fixture.counts.of(path, "worker"), rebuilt ? 1U : 0U);
        EXPECT_EQ(fixture.receiver.is_temporary(path), rebuilt.has_value());
        EXPECT_THAT(fixture.counts.misuse, IsEmpty());
        EXPECT_TRUE(fixture.os.status_at(path));
        if (!was_reached) {
          break;
        }
      }
    }
  }
}

TEST(Receiver, gives_back_what_does_not_repeat_as_it_was_told_R7) {
  for (const bool unlinks : {true, false}) {
    SendFixture fixture({.max_nbytes = 100, .unlink_on_gc_collect = unlinks});
    const Sent sent = must(fixture.forward->reduce(patterned(1000)));
    auto hostile = std::get<LoadTemporaryMemmap>(sent.reduction);
    hostile.repeated_to = Shape{7, 999};
    EXPECT_FALSE(fixture.receiver.rebuild(hostile));
    EXPECT_EQ(fixture.counts.of(hostile.filename, "worker"), 0U);
    EXPECT_FALSE(fixture.receiver.is_temporary(hostile.filename));
    EXPECT_THAT(fixture.counts.misuse, IsEmpty());
  }
}

TEST(Receiver, refuses_strides_that_reach_to_the_lowest_number_R3) {
  SendFixture fixture;
  const Sent sent = must(fixture.forward->reduce(patterned(1000)));
  constexpr std::ptrdiff_t lowest = std::numeric_limits<std::ptrdiff_t>::min();
  const auto rebuilt = fixture.receiver.rebuild(StridedFromMemmap{.filename = fixture.file_of(sent),
                                                                  .dtype = dtype_of("<f8"),
                                                                  .offset = 128,
                                                                  .shape = {3},
                                                                  .strides = Strides{lowest / 2},
                                                                  .total_buffer_len = 24});
  ASSERT_FALSE(rebuilt);
  EXPECT_EQ(rebuilt.error().code, std::errc::value_too_large);
}

TEST(Receiver, opens_nothing_that_it_could_not_hold_R7) {
  SendFixture fixture;
  const Sent sent = must(fixture.forward->reduce(patterned(1000)));
  const std::size_t opened = fixture.os.count_of(Call::open);
  fixture.counts.fails = 0;
  EXPECT_FALSE(fixture.receiver.rebuild(sent.reduction));
  EXPECT_EQ(fixture.os.count_of(Call::open), opened);
  EXPECT_FALSE(fixture.receiver.is_temporary(fixture.file_of(sent)));
  EXPECT_EQ(fixture.counts.said("release"), 0U);
}

TEST(Receiver, maps_as_the_sender_said_R7_R8) {
  for (const MapMode mode :
       {MapMode::read, MapMode::read_write, MapMode::create, MapMode::copy_on_write}) {
    SCOPED_TRACE(name_of(mode));
    SendFixture fixture({.max_nbytes = 100, .mmap_mode = mode});
    const Array array = patterned(1000);
    const Array one = fixture.send(array);
    const Array other = fixture.send(array);
    EXPECT_TRUE(contents_equal(one, array));
    EXPECT_EQ(one.writable(), mode != MapMode::read);
    if (one.writable()) {
      one.mutable_data().value()[0] ^= std::byte{0xff};
      const bool is_shared = mode != MapMode::copy_on_write;
      EXPECT_EQ(other.data()[0] == one.data()[0], is_shared);
      EXPECT_EQ(fixture.send(array).data()[0] == one.data()[0], is_shared);
    }
  }
}

TEST(Worker, sends_on_a_temporary_file_that_then_outlives_its_own_view_R6_R7) {
  for (const bool attributed : {true, false}) {
    SendFixture fixture({.max_nbytes = 100}, attributed);
    const auto receiver = std::make_shared<Receiver>(fixture.os, fixture.worker);
    ForwardReducer onward(fixture.os, fixture.worker, nullptr, {.max_nbytes = 100}, receiver);
    const auto below = fixture.counts.party("grandchild");
    Receiver last(fixture.os, below);
    const Array array = patterned(1000);
    Sent first = must(fixture.forward->reduce(array));
    const std::string path = fixture.file_of(first);
    auto mine = std::optional(must(receiver->rebuild(first.reduction)));
    if (!attributed) {
      first.reference->release_ownership();
    }
    first.reference.reset();
    ASSERT_TRUE(fixture.resources->clean_up());
    EXPECT_EQ(fixture.counts.of(path), 1U);
    auto second = std::optional(must(onward.reduce(must(mine->transpose()))));
    EXPECT_TRUE(std::get<StridedFromMemmap>(second->reduction).unlink);
    EXPECT_EQ(fixture.counts.of(path), 2U);
    // Destroyed before the other receiver has opened it.
    mine.reset();
    EXPECT_EQ(fixture.counts.of(path), 1U);
    auto theirs = std::optional(must(last.rebuild(SendFixture::travel(*second))));
    if (!attributed) {
      second->reference->release_ownership();
    }
    second.reset();
    EXPECT_EQ(fixture.counts.of(path), 1U);
    EXPECT_TRUE(contents_equal(*theirs, array));
    EXPECT_TRUE(fixture.os.status_at(path));
    theirs.reset();
    EXPECT_EQ(fixture.counts.of(path), 0U);
    EXPECT_FALSE(fixture.os.status_at(path));
    EXPECT_THAT(fixture.counts.misuse, IsEmpty());
  }
}

TEST(Worker, sends_back_by_value_what_came_by_a_temporary_file_R6) {
  SendFixture fixture;
  const auto receiver = std::make_shared<Receiver>(fixture.os, fixture.worker);
  BackwardReducer backward(fixture.os, receiver);
  const Array array = patterned(1000);
  const Sent sent = must(fixture.forward->reduce(array));
  const Array rebuilt = must(receiver->rebuild(sent.reduction));
  for (const Array& each : {rebuilt, must(rebuilt.slice(std::vector<Slice>{{.step = -3}}))}) {
    const Sent back = must(backward.reduce(each));
    EXPECT_TRUE(std::holds_alternative<ByValue>(back.reduction));
    EXPECT_FALSE(back.reference);
    EXPECT_TRUE(contents_equal(must(fixture.receiver.rebuild(SendFixture::travel(back))), each));
  }
  // A file that is not temporary is still sent as a file, and a plain array as a value.
  fixture.folder.write("file", std::string(100, 'x'));
  const Array own = must(Array::over(
      must(Memory::map_file(
          fixture.os, fixture.folder.path("file"), {.mode = MapMode::read, .size = 100})),
      {.dtype = dtype_of("|u1"), .shape = {100}}));
  const Sent view = must(backward.reduce(own));
  EXPECT_EQ(std::get<StridedFromMemmap>(view.reduction).filename, fixture.folder.path("file"));
  EXPECT_FALSE(std::get<StridedFromMemmap>(view.reduction).unlink);
  EXPECT_FALSE(view.reference);
  EXPECT_TRUE(std::holds_alternative<ByValue>(must(backward.reduce(array)).reduction));
  const Array anonymous = must(Array::over(must(Memory::map_anonymous(fixture.os, 4096)),
                                           {.dtype = dtype_of("|u1"), .shape = {4096}}));
  EXPECT_TRUE(std::holds_alternative<ByValue>(must(backward.reduce(anonymous)).reduction));
  fixture.folder.remove("file");
}

TEST(Factory, installs_a_pair_with_the_usual_options_R11) {
  const ForwardOptions usual;
  EXPECT_EQ(usual.max_nbytes, 1'000'000U);
  EXPECT_EQ(usual.mmap_mode, MapMode::read);
  EXPECT_EQ(usual.prewarm, Prewarm::off);
  EXPECT_TRUE(usual.unlink_on_gc_collect);
  EXPECT_EQ(usual.verbose, 0);
  SendFixture fixture;
  const auto receiver = std::make_shared<Receiver>(fixture.os, fixture.worker);
  joblib::ReducerRegistry forth;
  joblib::ReducerRegistry back;
  must(joblib::get_memmapping_reducers(
      fixture.os, {fixture.parent, fixture.resources, receiver}, {.max_nbytes = 100}, forth, back));
  const Array plain = patterned(1000);
  const Array map = must(Array::over(must(Memory::map_anonymous(fixture.os, 4096)),
                                     {.dtype = dtype_of("|u1"), .shape = {4096}}));
  for (const Array& array : {plain, map}) {
    const Sent sent = must(reduce(forth, array));
    EXPECT_TRUE(std::holds_alternative<LoadTemporaryMemmap>(sent.reduction));
    const Array rebuilt = must(receiver->rebuild(sent.reduction));
    EXPECT_TRUE(contents_equal(rebuilt, array));
    EXPECT_TRUE(std::holds_alternative<ByValue>(must(reduce(back, rebuilt)).reduction));
    EXPECT_TRUE(std::holds_alternative<ByValue>(must(joblib::reduce({}, array)).reduction));
    EXPECT_TRUE(std::get<StridedFromMemmap>(must(reduce(forth, rebuilt)).reduction).unlink);
  }
}

}  // namespace
}  // namespace lastref
