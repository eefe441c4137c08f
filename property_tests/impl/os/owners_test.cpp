// owners_test: owners close what they own, and the helpers retry, on an Os that fails as scripted.
#include <deque>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <lastref/kernel_os.hpp>
#include <lastref/owners.hpp>

#include "impl/os/with_path.hpp"

namespace lastref::os {
namespace {

/// Answers the calls of owners from a script, and records them. Nothing reaches the kernel.
class ScriptedOs final : public KernelOs {
 public:
  Result<Fd> open(const PathAt& where, const OpenOptions&) noexcept override {
    calls.push_back("open " + where.path);
    const Status status = next(Call::open);
    return status ? Result<Fd>(Fd{7}) : failure(status.error());
  }
  Status close(Fd fd) noexcept override {
    calls.push_back("close " + std::to_string(static_cast<int>(fd)));
    return next(Call::close);
  }
  Status unlink(const PathAt& where) noexcept override {
    calls.push_back("unlink " + where.path);
    return next(Call::unlink);
  }
  Result<Buffer> map(const MapOptions&) noexcept override {
    calls.push_back("map");
    const Status status = next(Call::map);
    return status ? Result<Buffer>(Buffer(memory)) : failure(status.error());
  }
  Status unmap(Buffer mapped) noexcept override {
    calls.push_back("unmap " + std::to_string(mapped.size()));
    return next(Call::unmap);
  }
  Result<std::size_t> read(Fd, Buffer into) noexcept override {
    calls.push_back("read " + std::to_string(into.size()));
    if (const Status status = next(Call::read); !status) {
      return failure(status.error());
    }
    if (space.empty()) {
      return 0;
    }
    const std::size_t size = std::min(space.front(), into.size());
    space.pop_front();
    return size;
  }
  Result<std::size_t> write(Fd fd, Bytes bytes) noexcept override {
    return take(fd, bytes, written[static_cast<std::size_t>(fd)].size(), Call::write);
  }
  Result<std::size_t> write_at(Fd fd, Bytes bytes, std::uint64_t offset) noexcept override {
    return take(fd, bytes, offset, Call::write_at);
  }

  /// Codes of the next answers, in order; success when the list is empty.
  std::deque<std::errc> script;
  /// How many bytes the next writes take at most, in order; all when the list is empty.
  std::deque<std::size_t> space;
  std::vector<std::string> calls;
  std::array<std::string, 8> written;
  std::array<std::byte, 5> memory{};

 private:
  Status next(Call call) {
    if (script.empty()) {
      return ok();
    }
    const std::errc code = script.front();
    script.pop_front();
    return code == std::errc{} ? ok() : Status(failure(code, "subject", call));
  }

  Result<std::size_t> take(Fd fd, Bytes bytes, std::uint64_t offset, Call call) {
    if (const Status status = next(call); !status) {
      return failure(status.error());
    }
    std::size_t size = bytes.size();
    if (!space.empty()) {
      size = std::min(size, space.front());
      space.pop_front();
    }
    std::string& text = written[static_cast<std::size_t>(fd)];
    text.resize(std::max(text.size(), static_cast<std::size_t>(offset) + size));
    for (std::size_t i = 0; i < size; ++i) {
      text[static_cast<std::size_t>(offset) + i] = static_cast<char>(bytes[i]);
    }
    return size;
  }
};

using Calls = std::vector<std::string>;
constexpr Fd file{3};

TEST(UniqueFd, closes_once) {
  ScriptedOs os;
  { const UniqueFd fd(os, file); }
  EXPECT_EQ(os.calls, Calls{"close 3"});
}

TEST(UniqueFd, closes_nothing_when_it_owns_nothing) {
  ScriptedOs os;
  {
    UniqueFd nothing;
    UniqueFd released(os, file);
    EXPECT_EQ(released.release(), file);
    EXPECT_FALSE(released);
    EXPECT_TRUE(nothing.close());
    nothing.close_quietly();
  }
  EXPECT_EQ(os.calls, Calls{});
}

TEST(UniqueFd, closes_what_it_had_when_another_moves_in_and_that_once_later) {
  ScriptedOs os;
  {
    UniqueFd first(os, file);
    UniqueFd second(os, Fd{4});
    first = std::move(second);
    EXPECT_EQ(os.calls, Calls{"close 3"});
    UniqueFd& same = first;
    first = std::move(same);
    EXPECT_EQ(first.get(), Fd{4});
    const UniqueFd third = std::move(first);
    EXPECT_EQ(third.get(), Fd{4});
  }
  EXPECT_EQ(os.calls, (Calls{"close 3", "close 4"}));
}

TEST(UniqueFd, never_closes_again_whatever_close_said) {
  for (const std::errc code : {std::errc::interrupted, std::errc::io_error}) {
    ScriptedOs os;
    os.script = {code};
    {
      UniqueFd fd(os, file);
      const Status closed = fd.close();
      EXPECT_EQ(failed_with(closed, code), code == std::errc::io_error);
      EXPECT_FALSE(fd);
    }
    EXPECT_EQ(os.calls, Calls{"close 3"});
  }
}

TEST(UniqueFd, is_closed_by_a_close_that_was_interrupted_T1) {
  ScriptedOs os;
  os.script = {std::errc::interrupted};
  EXPECT_TRUE(UniqueFd(os, file).close());
  os.script = {std::errc::interrupted};
  UniqueFd(os, file).close_quietly();
  EXPECT_EQ(os.calls, (Calls{"close 3", "close 3"}));  // And nothing is reported.
}

TEST(UniqueFd, reports_an_error_that_nobody_asked_for) {
  ScriptedOs os;
  os.script = {std::errc::io_error};
  { const UniqueFd fd(os, file); }
  EXPECT_EQ(os.calls, Calls{"close 3"});
  EXPECT_EQ(os.written[2], "lastref: close subject: Input/output error\n");
}

TEST(UniqueMap, unmaps_once_and_what_it_had_when_another_moves_in) {
  ScriptedOs os;
  {
    auto first = map_memory(os, {.size = 5});
    ASSERT_TRUE(first);
    UniqueMap second(os, Buffer(os.memory).first(2));
    *first = std::move(second);
    EXPECT_EQ(os.calls, (Calls{"map", "unmap 5"}));
    UniqueMap& same = *first;
    *first = std::move(same);
    EXPECT_EQ(first->get().size(), 2U);
    const UniqueMap third = std::move(*first);
    EXPECT_TRUE(third);
    UniqueMap nothing;
    EXPECT_FALSE(nothing);
    EXPECT_TRUE(nothing.unmap());
  }
  EXPECT_EQ(os.calls, (Calls{"map", "unmap 5", "unmap 2"}));
}

TEST(UniqueMap, never_unmaps_again_whatever_unmap_said_and_reports_what_nobody_asked_for) {
  ScriptedOs os;
  os.script = {std::errc::not_enough_memory};
  {
    UniqueMap map(os, os.memory);
    EXPECT_FALSE(map.unmap());
    EXPECT_FALSE(map);
  }
  EXPECT_EQ(os.calls, Calls{"unmap 5"});
  os.script = {std::errc::not_enough_memory};
  { const UniqueMap map(os, os.memory); }
  EXPECT_EQ(os.written[2], "lastref: unmap subject: Cannot allocate memory\n");
}

TEST(ReadUntilFull, reads_on_until_it_is_full_or_the_file_ends) {
  ScriptedOs os;
  os.space = {2, 1, 9};
  os.script = {std::errc{}, std::errc::interrupted};
  std::array<std::byte, 6> into{};
  EXPECT_EQ(read_until_full(os, file, into), std::size_t{6});
  EXPECT_EQ(os.calls, (Calls{"read 6", "read 4", "read 4", "read 3"}));
  os.space = {4};
  EXPECT_EQ(read_until_full(os, file, into), std::size_t{4});
  os.script = {std::errc::io_error};
  EXPECT_EQ(read_until_full(os, file, into).error().code, std::errc::io_error);
}

RC_GTEST_PROP(RetryInterrupted, calls_until_it_is_not_interrupted_and_no_further, ()) {
  const auto interruptions = *rc::gen::inRange(0, 20);
  const auto end =
      *rc::gen::element(std::errc{}, std::errc::io_error, std::errc::no_space_on_device);
  int calls = 0;
  const Status status = retry_interrupted([&]() -> Status {
    ++calls;
    if (calls <= interruptions) {
      return failure(std::errc::interrupted, {});
    }
    return end == std::errc{} ? ok() : Status(failure(end, {}));
  });
  RC_ASSERT(calls == interruptions + 1);
  RC_ASSERT(status.has_value() == (end == std::errc{}));
  RC_ASSERT(status.has_value() || status.error().code == end);
}

TEST(OpenFile, is_retried_when_interrupted_and_owned_when_open) {
  ScriptedOs os;
  os.script = {std::errc::interrupted, std::errc::interrupted};
  {
    const auto opened = open_file(os, "/a", {});
    ASSERT_TRUE(opened);
    EXPECT_EQ(opened->get(), Fd{7});
  }
  EXPECT_EQ(os.calls, (Calls{"open /a", "open /a", "open /a", "close 7"}));
}

TEST(OpenFile, gives_other_errors_back_at_once) {
  ScriptedOs os;
  os.script = {std::errc::too_many_files_open};
  EXPECT_EQ(open_file(os, "/a", {}).error().code, std::errc::too_many_files_open);
  EXPECT_EQ(os.calls, Calls{"open /a"});
}

/// An interruption or none before each write, and writes that take one byte or more.
void make_writes_hard(ScriptedOs& os) {
  os.space = *rc::gen::container<std::deque<std::size_t>>(rc::gen::inRange<std::size_t>(1, 9));
  os.script = *rc::gen::container<std::deque<std::errc>>(
      rc::gen::element(std::errc{}, std::errc::interrupted));
}

RC_GTEST_PROP(WriteAll, writes_everything_in_order_however_short_the_writes, ()) {
  ScriptedOs os;
  make_writes_hard(os);
  const auto text = *rc::gen::arbitrary<std::string>();
  RC_ASSERT(write_all(os, file, bytes_of(text)).has_value());
  RC_ASSERT(os.written[3] == text);
}

RC_GTEST_PROP(WriteAll, writes_everything_at_its_place_however_short_the_writes, ()) {
  ScriptedOs os;
  os.written[3] = "0123456789";
  make_writes_hard(os);
  const auto text = *rc::gen::container<std::string>(rc::gen::inRange('a', 'z'));
  const auto offset = *rc::gen::inRange<std::size_t>(0, 11);
  std::string expected = os.written[3];
  expected.replace(offset, text.size(), text);
  RC_ASSERT(write_all_at(os, file, bytes_of(text), offset).has_value());
  RC_ASSERT(os.written[3] == expected);
}

TEST(WriteAll, stops_at_an_error_and_says_it) {
  ScriptedOs os;
  os.space = {4};
  os.script = {std::errc{}, std::errc::no_space_on_device};
  EXPECT_EQ(write_all(os, file, bytes_of("123456")).error().code, std::errc::no_space_on_device);
  EXPECT_EQ(os.written[3], "1234");
}

TEST(WriteAll, does_not_go_round_for_ever_when_nothing_is_taken) {
  ScriptedOs os;
  os.space = {2, 0};
  const Status status = write_all(os, file, bytes_of("123456"));
  ASSERT_FALSE(status);
  EXPECT_EQ(describe(status.error()), "write fd 3: Input/output error");
}

TEST(WriteAll, of_nothing_makes_no_call) {
  ScriptedOs os;
  os.script = {std::errc::io_error};
  EXPECT_TRUE(write_all(os, file, {}));
}

TEST(ReportQuietly, writes_one_line_and_swallows_errors) {
  ScriptedOs os;
  report_quietly(os, "one");
  report_quietly(os, "two\n");
  os.script = {std::errc::broken_pipe};
  report_quietly(os, "three");
  EXPECT_EQ(os.written[2], "one\ntwo\n");
}

TEST(ReportQuietly, cuts_a_long_message_to_what_a_pipe_takes_in_one_piece_E5) {
  ScriptedOs os;
  std::string long_line(10000, 'a');
  report_quietly(os, long_line);
  EXPECT_TRUE(os.written[2].ends_with("a\xE2\x80\xA6 (5969 more bytes)\n"))
      << os.written[2].substr(4000);
  os.written[2].clear();
  report_quietly(os, std::string(message_max - 1, 'b'));
  EXPECT_EQ(os.written[2], std::string(message_max - 1, 'b') + '\n');
}

RC_GTEST_PROP(ReportQuietly, never_cuts_a_character_in_two_E5, ()) {
  const auto size = *rc::gen::inRange<std::size_t>(4000, 4300);
  std::string line(*rc::gen::inRange<std::size_t>(0, 3), 'x');
  while (line.size() < size) {
    line += "\xC3\xA4";
  }
  ScriptedOs os;
  report_quietly(os, line);
  const std::string said = os.written[2];
  RC_ASSERT(said.size() <= message_max);
  const std::size_t end = std::min(said.find("\xE2\x80\xA6"), said.size() - 1);
  RC_ASSERT(line.starts_with(said.substr(0, end)));
  RC_ASSERT((end - line.find('\xC3')) % 2 == 0U);
}

TEST(About, an_error_names_what_it_is_about_and_a_value_stays_E10) {
  const std::string path = "/dev/shm/a";
  EXPECT_EQ(with_path(path, Result<int>(7)), 7);
  const auto named = [&](const char* subject) {
    const Status full = failure(std::errc::no_space_on_device, subject, Call::write);
    return describe(with_path(path, full).error());
  };
  EXPECT_EQ(named("fd 20"), "write /dev/shm/a: No space left on device");
  EXPECT_EQ(named("a"), "write /dev/shm/a: No space left on device");
  EXPECT_EQ(named("the header"), "write /dev/shm/a (the header): No space left on device");
  const Status refused = failure(std::errc::bad_message, "too short");
  EXPECT_EQ(with_path(path, refused).error().subject, "too short");
}

TEST(Discard, takes_gone_for_done_and_nothing_else) {
  ScriptedOs os;
  os.script = {std::errc{}, std::errc::no_such_file_or_directory, std::errc::permission_denied};
  EXPECT_TRUE(discard(os, "/a"));
  EXPECT_TRUE(discard(os, "/a"));
  EXPECT_EQ(discard(os, "/a").error().code, std::errc::permission_denied);
  EXPECT_EQ(os.calls, (Calls{"unlink /a", "unlink /a", "unlink /a"}));
}

}  // namespace
}  // namespace lastref::os
