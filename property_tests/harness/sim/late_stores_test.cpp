// Litmus tests of the simulated kernel: which stores of a process may become visible before others.
#include <array>
#include <cstring>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <lastref/owners.hpp>

#include "harness/sim/sim_kernel.hpp"

namespace lastref::harness::sim {
namespace {

constexpr std::uint64_t value_at = 8;  // After the word
constexpr std::uint64_t ready = 1;

/// Two processes that have mapped one file: a word, and the value that it announces.
class LateStoresTest : public testing::Test {
 protected:
  LateStoresTest() {
    const auto fd = kernel_.open(*writer_, "/tmp/file", {.write = true, .create = true});
    EXPECT_TRUE(fd);
    file_ = fd.value_or(os::Fd::none);
    write("\0\0\0\0\0\0\0\0old value", 0);
    const auto same = kernel_.open(*reader_, "/tmp/file", {.write = true});
    file_of_reader_ = same.value_or(os::Fd::none);
    map_ = map(*writer_, file_);
    EXPECT_EQ(map_.data(), map(*reader_, file_of_reader_).data());
  }

  os::Buffer map(SimProcess& process, os::Fd file) {
    const auto mapped =
        kernel_.map(process, {.file = file, .size = 17, .kind = os::MapKind::shared});
    EXPECT_TRUE(mapped);
    return mapped.value_or(os::Buffer());
  }

  template <std::size_t size>
  void write(const char (&bytes)[size], std::uint64_t offset) {
    const os::Bytes all = os::bytes_of(std::string_view(bytes, size - 1));
    EXPECT_EQ(kernel_.write_at(*writer_, file_, all, offset), size - 1);
  }

  std::string value_in_map() const {
    std::string value(9, '\0');
    std::memcpy(value.data(), map_.data() + value_at, value.size());
    return value;
  }

  std::uint64_t word_in_map() const {
    std::uint64_t word = 0;
    std::memcpy(&word, map_.data(), sizeof(word));
    return word;
  }

  /// What SharedWord does to its word.
  void store(std::memory_order order, bool is_late = false) {
    kernel_.touch(*writer_,
                  {.step = Step::word_store, .at = map_.data(), .order = order, .wanted = ready},
                  [=] { return is_late; });
    std::memcpy(map_.data(), &ready, sizeof(ready));
  }
  std::uint64_t load(std::memory_order order) {
    kernel_.touch(*reader_, {.step = Step::word_load, .at = map_.data(), .order = order}, [] {
      return false;
    });
    return word_in_map();
  }
  bool change(std::uint64_t expected, std::memory_order order, std::memory_order unchanged) {
    kernel_.touch(*reader_,
                  {.step = Step::word_change,
                   .at = map_.data(),
                   .order = order,
                   .order_if_unchanged = unchanged,
                   .expected = expected,
                   .wanted = ready},
                  [] { return false; });
    return word_in_map() == expected;
  }

  /// Runs `act` as that process, like a scheduler.
  template <typename Act>
  void as(SimProcess& process, Act act) {
    kernel_.late.enter(process);
    act();
    kernel_.late.leave();
  }

  SimKernel kernel_;
  std::shared_ptr<SimProcess> writer_ = kernel_.make_process(nullptr, "writer");
  std::shared_ptr<SimProcess> reader_ = kernel_.make_process(nullptr, "reader");
  os::Fd file_ = os::Fd::none;
  os::Fd file_of_reader_ = os::Fd::none;
  os::Buffer map_;
};

/// The writer writes the value and then the word; the reader reads the word and then the value.
struct Passing {
  std::memory_order stored;
  std::memory_order loaded;
  const char* seen;
};

class MessagePassing : public LateStoresTest, public testing::WithParamInterface<Passing> {};

TEST_P(MessagePassing, is_seen_as_far_as_both_ask_for_order) {
  as(*writer_, [&] {
    write("new value", value_at);
    store(GetParam().stored);
    EXPECT_EQ(value_in_map(), "new value") << "its own";
  });
  as(*reader_, [&] {
    EXPECT_EQ(load(GetParam().loaded), ready);
    EXPECT_EQ(value_in_map(), GetParam().seen);
  });
  EXPECT_EQ(value_in_map(), "new value") << "for a reader from outside";
}

constexpr std::array<Passing, 5> passings = {{
    {std::memory_order_release, std::memory_order_acquire, "new value"},
    {std::memory_order_seq_cst, std::memory_order_seq_cst, "new value"},
    {std::memory_order_relaxed, std::memory_order_acquire, "old value"},
    {std::memory_order_release, std::memory_order_relaxed, "old value"},
    {std::memory_order_relaxed, std::memory_order_relaxed, "old value"},
}};
INSTANTIATE_TEST_SUITE_P(Of, MessagePassing, testing::ValuesIn(passings));

TEST_F(LateStoresTest, a_change_acquires_by_the_order_of_what_it_did) {
  const auto seen_after =
      [&](std::uint64_t expected, std::memory_order order, std::memory_order unchanged) {
        std::string seen;
        as(*writer_, [&] {
          write("old value", value_at);
          kernel_.late.release(*writer_);
        });
        as(*reader_, [&] { kernel_.late.acquire(*reader_); });
        as(*writer_, [&] {
          write("new value", value_at);
          store(std::memory_order_release);
        });
        as(*reader_, [&] {
          EXPECT_EQ(change(expected, order, unchanged), expected == ready);
          seen = value_in_map();
        });
        return seen;
      };
  constexpr auto acquire = std::memory_order_acquire;
  constexpr auto relaxed = std::memory_order_relaxed;
  EXPECT_EQ(seen_after(ready, std::memory_order_acq_rel, relaxed), "new value");
  EXPECT_EQ(seen_after(ready, std::memory_order_release, acquire), "old value");
  EXPECT_EQ(seen_after(0, relaxed, acquire), "new value");
  EXPECT_EQ(seen_after(0, std::memory_order_acq_rel, relaxed), "old value");
}

TEST_F(LateStoresTest, a_word_that_is_late_is_seen_at_once_by_who_changes_it) {
  as(*writer_, [&] { store(std::memory_order_release, /*is_late=*/true); });
  as(*reader_, [&] {
    EXPECT_EQ(load(std::memory_order_acquire), 0U);
    EXPECT_FALSE(change(0, std::memory_order_acq_rel, std::memory_order_acquire));
    EXPECT_EQ(load(std::memory_order_relaxed), ready);
  });
}

TEST_F(LateStoresTest, calls_see_what_was_written) {
  as(*writer_, [&] { write("new value", value_at); });
  as(*reader_, [&] {
    EXPECT_EQ(value_in_map(), "old value");
    std::array<std::byte, 9> bytes{};
    EXPECT_EQ(kernel_.read_at(*reader_, file_of_reader_, bytes, value_at), bytes.size());
    EXPECT_EQ(std::memcmp(bytes.data(), "new value", bytes.size()), 0);
    EXPECT_EQ(value_in_map(), "new value") << "once seen, it stays so";
  });
}

TEST_F(LateStoresTest, what_is_written_over_is_seen_first) {
  as(*writer_, [&] { write("new", value_at); });
  as(*reader_, [&] {
    const os::Bytes mine = os::bytes_of("his");
    EXPECT_EQ(kernel_.write_at(*reader_, file_of_reader_, mine, value_at + 3), mine.size());
    EXPECT_EQ(kernel_.write_at(*reader_, file_of_reader_, mine, value_at), mine.size());
    EXPECT_EQ(value_in_map(), "hishislue");
  });
  as(*writer_, [&] { EXPECT_EQ(value_in_map(), "new value") << "that comes late as well"; });
  EXPECT_EQ(value_in_map(), "hishislue");
}

TEST_F(LateStoresTest, a_hole_is_punched_into_what_was_written) {
  const std::string zeros(9, '\0');
  as(*writer_, [&] { write("new value", value_at); });
  as(*reader_, [&] {
    EXPECT_TRUE(kernel_.punch_hole(*reader_, file_of_reader_, value_at, zeros.size()));
    EXPECT_EQ(value_in_map(), zeros);
  });
  as(*writer_, [&] { EXPECT_EQ(value_in_map(), zeros); });
  EXPECT_EQ(value_in_map(), zeros);
}

TEST_F(LateStoresTest, the_dead_leave_nothing_that_is_late) {
  as(*writer_, [&] { write("new value", value_at); });
  kernel_.close_all(*writer_);
  as(*reader_, [&] {
    EXPECT_EQ(value_in_map(), "old value");
    kernel_.late.acquire(*reader_);
    EXPECT_EQ(value_in_map(), "new value");
  });
  EXPECT_EQ(kernel_.late.size(), 0U);
}

TEST_F(LateStoresTest, who_ends_its_map_before_it_saw_a_store_does_not_undo_it) {
  as(*writer_, [&] { write("new value", value_at); });
  as(*reader_, [&] {
    EXPECT_EQ(value_in_map(), "old value");
    EXPECT_TRUE(kernel_.unmap(*reader_, map_));
    kernel_.late.release(*reader_);
  });
  EXPECT_EQ(kernel_.late.size(), 0U);
  as(*writer_, [&] { EXPECT_EQ(value_in_map(), "new value"); });
}

TEST_F(LateStoresTest, bytes_are_unreleased_until_their_writer_releases) {
  as(*writer_, [&] {
    store(std::memory_order_relaxed, /*is_late=*/true);
    EXPECT_FALSE(kernel_.late.has_unreleased(*writer_));  // A word does not announce another word.
    write("new value", value_at);
    EXPECT_TRUE(kernel_.late.has_unreleased(*writer_));
    EXPECT_FALSE(kernel_.late.has_unreleased(*reader_));
    store(std::memory_order_relaxed);
    EXPECT_TRUE(kernel_.late.has_unreleased(*writer_));
    store(std::memory_order_release);
    EXPECT_FALSE(kernel_.late.has_unreleased(*writer_));
  });
}

TEST_F(LateStoresTest, nothing_is_late_that_nobody_else_has_mapped) {
  kernel_.close_all(*reader_);
  as(*writer_, [&] { write("new value", value_at); });
  EXPECT_EQ(kernel_.late.size(), 0U);
}

}  // namespace
}  // namespace lastref::harness::sim
