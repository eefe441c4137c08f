// loky_test: loky's line protocol, as a reader and as a writer of lines; and loky mode from the
// first byte of a real pipe to its end, against files.
#include "impl/tracker/loky.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <lastref/loky.hpp>

#include "property_tests/impl/tracker/generators.hpp"
#include "property_tests/impl/tracker/pretend_process.hpp"
#include "property_tests/support/fresh_folder.hpp"

namespace lastref::tracker {
namespace {

using pretend::any_name;
using pretend::any_resource;
using pretend::Crossing;
using pretend::Decision;
using pretend::Fate;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

struct Word {
  LokyVerb verb;
  std::string_view text;
};
constexpr std::array words = {Word{LokyVerb::register_, "REGISTER"},
                              Word{LokyVerb::unregister, "UNREGISTER"},
                              Word{LokyVerb::maybe_unlink, "MAYBE_UNLINK"}};

std::string line_of(std::string_view command, const Resource& resource) {
  return std::string(command) + ":" + resource.name + ":" + std::string(name_of(resource.type));
}

RC_GTEST_PROP(LokyLineProperties, any_name_is_read_back_whatever_colons_are_in_it_T12, ()) {
  const Resource resource = *any_resource();
  for (const Word& word : words) {
    const auto parsed = parse_loky_line(line_of(word.text, resource));
    RC_ASSERT(parsed.has_value());
    RC_ASSERT(*parsed == (LokyLine{.verb = word.verb, .resource = resource}));
  }
}

struct Line {
  const char* name;
  std::string text;
  const char* reason;  ///< Empty: it is accepted.
};

void PrintTo(const Line& line, std::ostream* out) {
  *out << line.name;
}

const Line lines[] = {
    {"colons_only_in_the_name", "REGISTER:::::file", ""},
    {"empty", "", "not CMD:name:rtype"},
    {"a_word", "REGISTER", "not CMD:name:rtype"},
    {"one_colon", "REGISTER:file", "not CMD:name:rtype"},
    {"a_colon", ":", "not CMD:name:rtype"},
    {"colons", "::", "unknown command"},
    {"no_command", ":/a:file", "unknown command"},
    {"other_command", "DELETE:/a:file", "unknown command"},
    {"small_letters", "register:/a:file", "unknown command"},
    {"start_of_a_command", "REGISTE:/a:file", "unknown command"},
    {"more_than_a_command", "REGISTERS:/a:file", "unknown command"},
    {"a_space_before", " REGISTER:/a:file", "unknown command"},
    {"more_than_a_probe", "PROBES:/a:file", "unknown command"},
    {"no_type", "REGISTER:/a:", "unknown resource type"},
    {"other_type", "REGISTER:/a:semaphore", "unknown resource type"},
    {"capital_type", "REGISTER:/a:FILE", "unknown resource type"},
    {"a_carriage_return", "REGISTER:/a:file\r", "unknown resource type"},
    {"no_name", "REGISTER::file", "an impossible name"},
    {"nul", std::string("REGISTER:/a\0b:file", 18), "an impossible name"},
    {"overlong", "REGISTER:" + std::string(name_size_max + 1, 'a') + ":file", "an impossible name"},
};

class LokyLines : public testing::TestWithParam<Line> {};

TEST_P(LokyLines, are_accepted_or_refused_with_a_reason_T4_T12) {
  const auto parsed = parse_loky_line(GetParam().text);
  if (parsed) {
    EXPECT_STREQ(GetParam().reason, "");
    return;
  }
  EXPECT_EQ(parsed.error().code, std::errc::bad_message);
  EXPECT_EQ(parsed.error().subject, GetParam().reason);
}

INSTANTIATE_TEST_SUITE_P(Loky, LokyLines, testing::ValuesIn(lines), [](const auto& each) {
  return std::string(each.param.name);
});

RC_GTEST_PROP(LokyLineProperties, a_probe_may_say_anything_T12, ()) {
  const std::string rest = *rc::gen::oneOf(
      rc::gen::just<std::string>(""),
      rc::gen::element<std::string>(":", "::", ":0:noop", ":a:b:c:d", ":/a:nonsense"),
      rc::gen::map(any_name(), [](const std::string& name) { return ":" + name; }));
  const auto parsed = parse_loky_line("PROBE" + rest);
  RC_ASSERT(parsed.has_value());
  RC_ASSERT(*parsed == LokyLine{});
}

RC_GTEST_PROP(LokyLineProperties, any_bytes_are_refused_or_mean_what_they_say_T4_T12, ()) {
  const std::string line = *rc::gen::oneOf(
      any_name(),
      rc::gen::map(any_name(100), [](const std::string& text) { return "REGISTER:" + text; }),
      rc::gen::map(any_name(100), [](const std::string& text) { return text + ":file"; }));
  const auto parsed = parse_loky_line(line);
  if (parsed && parsed->verb != LokyVerb::probe) {
    const std::size_t verb = static_cast<std::size_t>(parsed->verb);
    RC_ASSERT(line_of(words.at(verb).text, parsed->resource) == line);
  }
}

/// A pipe that takes what it is given, after the errors of its script.
class RecordingOs final : public os::KernelOs {
 public:
  Result<std::size_t> write(os::Fd fd, os::Bytes bytes) noexcept override {
    LASTREF_ASSERT(fd == pipe);
    if (!script.empty()) {
      const std::errc code = script.front();
      script.pop_front();
      return failure(code, "pipe", Call::write);
    }
    for (const std::byte byte : bytes) {
      written += static_cast<char>(byte);
    }
    ++writes;
    return bytes.size();
  }
  Result<std::size_t> poll(std::span<os::PollItem> items,
                           std::optional<std::chrono::nanoseconds> timeout) noexcept override {
    LASTREF_ASSERT(items.size() == 1);
    LASTREF_ASSERT(items[0].fd == pipe);
    LASTREF_ASSERT(items[0].want_write);
    LASTREF_ASSERT(!timeout.has_value());
    items[0].writable = true;
    ++waits;
    return 1;
  }

  static constexpr os::Fd pipe{9};
  std::deque<std::errc> script;
  std::string written;
  int writes = 0;
  int waits = 0;
};

TEST(LokyClient, writes_each_message_as_one_line_in_one_piece_T12) {
  RecordingOs os;
  LokyClient client(os, RecordingOs::pipe);
  ASSERT_TRUE(client.register_name({.type = ResourceType::file, .name = "/a:b"}));
  ASSERT_TRUE(client.maybe_unlink({.type = ResourceType::folder, .name = "/d"}));
  ASSERT_TRUE(client.unregister({.type = ResourceType::semlock, .name = "/s"}));
  EXPECT_EQ(os.written,
            "REGISTER:/a:b:file\n"
            "MAYBE_UNLINK:/d:folder\n"
            "UNREGISTER:/s:semlock\n");
  EXPECT_EQ(os.writes, 3);
}

TEST(LokyClient, waits_for_space_and_starts_again_when_interrupted_T12) {
  RecordingOs os;
  os.script = {std::errc::interrupted,
               std::errc::resource_unavailable_try_again,
               std::errc::interrupted,
               std::errc::resource_unavailable_try_again};
  LokyClient client(os, RecordingOs::pipe);
  ASSERT_TRUE(client.register_name({.type = ResourceType::file, .name = "/a"}));
  EXPECT_EQ(os.written, "REGISTER:/a:file\n");
  EXPECT_EQ(os.waits, 2);
}

TEST(LokyClient, says_that_the_tracker_is_gone_T12) {
  RecordingOs os;
  os.script = {std::errc::broken_pipe};
  LokyClient client(os, RecordingOs::pipe);
  const Status sent = client.register_name({.type = ResourceType::file, .name = "/a"});
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, std::errc::broken_pipe);
}

struct Unsendable {
  const char* name;
  Resource resource;
  std::errc code;
};

void PrintTo(const Unsendable& unsendable, std::ostream* out) {
  *out << unsendable.name;
}

constexpr auto file = ResourceType::file;
const Unsendable unsendables[] = {
    {"newline", {file, "/a\nMAYBE_UNLINK:/victim:file"}, std::errc::invalid_argument},
    {"newline_at_the_end", {file, "/a\n"}, std::errc::invalid_argument},
    {"not_ascii", {file, "/\xc3\xa4"}, std::errc::invalid_argument},
    {"byte_128", {file, "/\x80"}, std::errc::invalid_argument},
    {"nul", {file, std::string("/\0a", 3)}, std::errc::invalid_argument},
    {"empty", {file, ""}, std::errc::invalid_argument},
    {"shm", {ResourceType::shm, "/a"}, std::errc::invalid_argument},
    {"noop", {ResourceType::noop, "/a"}, std::errc::invalid_argument},
    {"too_long", {file, std::string(loky_name_size_max + 1, 'a')}, std::errc::filename_too_long},
    {"longer_than_any", {file, std::string(name_size_max + 1, 'a')}, std::errc::filename_too_long},
};

class LokyClientRefuses : public testing::TestWithParam<Unsendable> {};

TEST_P(LokyClientRefuses, before_anything_is_sent_T12) {
  RecordingOs os;
  LokyClient client(os, RecordingOs::pipe);
  for (const auto send :
       {&LokyClient::register_name, &LokyClient::maybe_unlink, &LokyClient::unregister}) {
    const Status sent = (client.*send)(GetParam().resource);
    ASSERT_FALSE(sent);
    EXPECT_EQ(sent.error().code, GetParam().code);
  }
  EXPECT_EQ(os.written, "");
  EXPECT_EQ(os.writes, 0);
}

INSTANTIATE_TEST_SUITE_P(Loky,
                         LokyClientRefuses,
                         testing::ValuesIn(unsendables),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(LokyClient, carries_every_other_byte_of_ascii_and_the_longest_name_T12) {
  std::string every_byte;
  for (char byte = 1; byte < 127; ++byte) {
    if (byte != '\n') {
      every_byte += byte;
    }
  }
  every_byte += '\x7f';
  for (const std::string& name : {every_byte, std::string(loky_name_size_max, 'a')}) {
    RecordingOs os;
    LokyClient client(os, RecordingOs::pipe);
    const Resource resource{.type = file, .name = name};
    ASSERT_TRUE(client.register_name(resource));
    EXPECT_EQ(os.written, line_of("REGISTER", resource) + "\n");
  }
}

RC_GTEST_PROP(LokyClientProperties,
              what_it_sends_is_read_as_what_was_meant_or_it_sends_nothing_T12,
              ()) {
  RecordingOs os;
  LokyClient client(os, RecordingOs::pipe);
  const Resource resource = *any_resource();
  const Status sent = client.maybe_unlink(resource);
  RC_ASSERT(sent.has_value() == !os.written.empty());
  if (sent) {
    RC_ASSERT(os.written.find('\n') == os.written.size() - 1);
    os.written.pop_back();
    const auto parsed = parse_loky_line(os.written);
    RC_ASSERT(parsed.has_value());
    RC_ASSERT(*parsed == (LokyLine{.verb = LokyVerb::maybe_unlink, .resource = resource}));
  }
}

/// A tracker, and what its clients have sent before the last of them disconnects.
class LokyRun {
 public:
  explicit LokyRun(const std::string& sent) {
    const auto ends = os.make_pipe();
    EXPECT_TRUE(ends);
    EXPECT_TRUE(os::write_all(os, ends->write, os::bytes_of(sent)));
    EXPECT_TRUE(os.close(ends->write));
    pipe_ = os::UniqueFd(os, ends->read);
    os.crossings.clear();
  }

  Status serve() {
    LokyTracker tracker(os, pipe_.get());
    return tracker.serve();
  }

  pretend::RecordLocks locks;
  pretend::PretendProcess os{locks};

 private:
  os::UniqueFd pipe_;
};

std::size_t lines_in(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

TEST(LokyTracker, unlinks_when_the_last_reference_goes_and_is_quiet_T3_T12) {
  const pretend::FreshFolder folder;
  folder.write("a");
  const std::string a = folder.path("a");
  LokyRun run("PROBE:0:noop\nREGISTER:" + a + ":file\nREGISTER:" + a + ":file\nMAYBE_UNLINK:" + a +
              ":file\nPROBE\nMAYBE_UNLINK:" + a + ":file\n");
  EXPECT_TRUE(run.serve());
  EXPECT_EQ(run.os.said, "");
}

TEST(LokyTracker, forgets_an_unregistered_name_whatever_its_count_T3_T12) {
  const pretend::FreshFolder folder;
  folder.write("a");
  const std::string a = folder.path("a");
  LokyRun run("REGISTER:" + a + ":file\nREGISTER:" + a + ":file\nUNREGISTER:" + a + ":file\n");
  EXPECT_TRUE(run.serve());
  EXPECT_EQ(run.os.said, "");
  EXPECT_TRUE(folder.exists("a"));
  folder.remove("a");
}

TEST(LokyTracker, reports_unknown_names_and_leaves_them_alone_T3_T12) {
  const pretend::FreshFolder folder;
  folder.write("a");
  const std::string a = folder.path("a");
  LokyRun run("MAYBE_UNLINK:" + a + ":file\nUNREGISTER:" + a + ":file\n");
  EXPECT_TRUE(run.serve());
  EXPECT_THAT(run.os.said, HasSubstr("MAYBE_UNLINK of an unknown name: file:" + a));
  EXPECT_THAT(run.os.said, HasSubstr("UNREGISTER of an unknown name: file:" + a));
  EXPECT_TRUE(folder.exists("a"));
  folder.remove("a");
}

TEST(LokyTracker, cleans_up_at_the_end_with_folders_last_and_one_line_a_type_T5_T12) {
  const pretend::FreshFolder folder;
  folder.make_folder("d/e");
  folder.write("d/e/a");
  folder.write("d/b");
  folder.write("c");
  std::string sent;
  for (const std::string name : {"d:folder", "d/e:folder", "d/e/a:file", "d/b:file", "c:file"}) {
    sent += "REGISTER:" + folder.path(name) + "\n";
  }
  LokyRun run(sent);
  EXPECT_TRUE(run.serve());
  EXPECT_EQ(lines_in(run.os.said), 2U) << run.os.said;
  // The wording that loky shows its users.
  EXPECT_THAT(run.os.said,
              HasSubstr("resource_tracker: There appear to be 3 leaked file objects to clean up at "
                        "shutdown"));
  EXPECT_THAT(run.os.said, HasSubstr("file:" + folder.path("d/e/a")));
  EXPECT_THAT(run.os.said, HasSubstr("2 leaked folder objects"));
  std::vector<std::string> removed;
  for (const Crossing& crossing : run.os.crossings) {
    if (crossing.call == Call::unlink || crossing.call == Call::remove_folder) {
      removed.push_back(crossing.subject);
    }
  }
  const std::vector<std::string> order{folder.path("c"),
                                       folder.path("d/b"),
                                       folder.path("d/e/a"),
                                       folder.path("d/e"),
                                       folder.path("d")};
  EXPECT_EQ(removed, order);
}

TEST(LokyTracker, says_nothing_of_a_name_that_is_gone_when_its_turn_comes_T7_T12) {
  const pretend::FreshFolder folder;
  const std::string gone = folder.path("gone");
  LokyRun run("REGISTER:" + gone + ":file\nMAYBE_UNLINK:" + gone + ":file\n");
  EXPECT_TRUE(run.serve());
  EXPECT_EQ(run.os.said, "");
}

TEST(LokyTracker, refuses_what_it_could_never_read_a_line_from_T12) {
  pretend::RecordLocks locks;
  pretend::PretendProcess os{locks};
  const auto ends = os.make_pipe();
  ASSERT_TRUE(ends);
  EXPECT_TRUE(LokyTracker(os, ends->read).check_pipe());  // Although there is nothing to read.
  EXPECT_FALSE(LokyTracker(os, ends->write).check_pipe());
  EXPECT_TRUE(os.close(ends->read));
  EXPECT_TRUE(os.close(ends->write));
  EXPECT_FALSE(LokyTracker(os, ends->read).check_pipe());
}

TEST(LokyTracker, a_malformed_line_is_reported_and_the_next_one_counts_T4_T12) {
  const pretend::FreshFolder folder;
  folder.write("a");
  const std::string a = folder.path("a");
  LokyRun run("\nnonsense\nREGISTER:/x:socket\nDELETE:/x:file\nREGISTER::file\n\xff\xfe:\n" +
              std::string("REGISTER:/\0:file\n", 17) + "REGISTER:" + a +
              ":file\nMAYBE_UNLINK:" + a + ":file\n");
  EXPECT_TRUE(run.serve());
  EXPECT_EQ(lines_in(run.os.said), 7U) << run.os.said;
}

TEST(LokyTracker, an_overlong_line_is_reported_once_and_passed_over_whole_T4_T12) {
  const pretend::FreshFolder folder;
  folder.write("a");
  folder.write("victim");
  const std::string a = folder.path("a");
  // The first read ends inside the line, and the second begins with text that looks like a whole
  // line.
  const std::string start = "REGISTER:" + std::string(3 * loky_line_size_max, 'x');
  LokyRun run(start + "REGISTER:" + folder.path("victim") + ":file\nREGISTER:" + a + ":file\n");
  std::size_t reads = 0;
  run.os.director = [&](const Crossing& crossing) {
    return crossing.call == Call::read && reads++ == 0
               ? Decision{.fate = Fate::shorten, .bytes = start.size()}
               : Decision{};
  };
  EXPECT_TRUE(run.serve());
  EXPECT_FALSE(folder.exists("a"));
  EXPECT_TRUE(folder.exists("victim"));
  EXPECT_THAT(run.os.said, HasSubstr("malformed line"));
  EXPECT_EQ(lines_in(run.os.said), 2U) << run.os.said;
  folder.remove("victim");
}

TEST(LokyTracker, half_a_line_at_the_end_of_the_pipe_does_nothing_T12) {
  const pretend::FreshFolder folder;
  folder.write("a");
  LokyRun run("REGISTER:" + folder.path("a") + ":fil");
  EXPECT_TRUE(run.serve());
  EXPECT_TRUE(folder.exists("a"));
  folder.remove("a");
}

TEST(LokyTracker, a_missing_file_is_no_error_and_costs_one_call_T7_T12) {
  const pretend::FreshFolder folder;
  const std::string a = folder.path("a");
  LokyRun run("REGISTER:" + a + ":file\nMAYBE_UNLINK:" + a + ":file\n");
  EXPECT_TRUE(run.serve());
  EXPECT_EQ(run.os.said, "");
  EXPECT_EQ(run.os.count_of(Call::unlink), 1U);
}

TEST(LokyTracker, a_refused_file_is_tried_ten_times_in_1_8_seconds_and_reported_T7_T12) {
  const pretend::FreshFolder folder;
  folder.write("a");
  LokyRun run("REGISTER:" + folder.path("a") + ":file\n");
  run.os.director = [](const Crossing& crossing) {
    return crossing.call == Call::unlink
               ? Decision{.fate = Fate::fail, .code = std::errc::permission_denied}
               : Decision{};
  };
  EXPECT_TRUE(run.serve());
  EXPECT_EQ(run.os.count_of(Call::unlink), 10U);
  EXPECT_EQ(run.os.clock, std::chrono::milliseconds(1800));
  EXPECT_THAT(run.os.said, HasSubstr("could not clean up file:" + folder.path("a")));
  folder.remove("a");
}

TEST(LokyTracker, cleans_up_when_the_pipe_fails_and_says_why_T5_T12) {
  const pretend::FreshFolder folder;
  folder.write("a");
  LokyRun run("REGISTER:" + folder.path("a") + ":file\n");
  std::size_t reads = 0;
  run.os.director = [&](const Crossing& crossing) {
    return crossing.call == Call::read && reads++ == 1
               ? Decision{.fate = Fate::fail, .code = std::errc::io_error}
               : Decision{};
  };
  const Status served = run.serve();
  ASSERT_FALSE(served);
  EXPECT_EQ(served.error().code, std::errc::io_error);
}

TEST(LokyTracker, ends_when_poll_fails_for_ever_and_files_are_refused_for_ever_T5_T12) {
  const pretend::FreshFolder folder;
  folder.write("a");
  folder.write("b");
  const std::string a = folder.path("a");
  LokyRun run("REGISTER:" + a + ":file\nMAYBE_UNLINK:" + a + ":file\nREGISTER:" + folder.path("b") +
              ":file\n");
  bool first = true;
  run.os.director = [&](const Crossing& crossing) {
    const bool fails = crossing.call == Call::unlink ||
                       (crossing.call == Call::poll && !std::exchange(first, false));
    return fails ? Decision{.fate = Fate::fail, .code = std::errc::permission_denied} : Decision{};
  };
  EXPECT_FALSE(run.serve());
  EXPECT_THAT(run.os.said, HasSubstr("could not clean up file:" + a));
  EXPECT_EQ(run.os.count_of(Call::unlink), 20U);
  folder.remove("a");
  folder.remove("b");
}

/// The count of each name; the names in the model are those that no line has removed.
struct Expected {
  std::map<std::string, int> counts;
  std::map<std::string, bool> there;

  void take(const std::string& command, const std::string& name) {
    if (command == "REGISTER") {
      ++counts[name];
      return;
    }
    if (counts[name] == 0) {
      return;
    }
    if (command == "UNREGISTER") {
      counts[name] = 0;
    } else if (--counts[name] == 0) {
      there[name] = false;
    }
  }
};

RC_GTEST_PROP(LokyTrackerProperties,
              any_lines_in_any_pieces_leave_the_files_of_the_model_T3_T12,
              ()) {
  const pretend::FreshFolder folder;
  Expected expected;
  std::string sent;
  for (const std::string name : {"a", "b", "c:d"}) {
    folder.write(name);
    expected.there[name] = true;
  }
  const auto steps = *rc::gen::container<std::vector<std::pair<std::string, std::string>>>(
      rc::gen::pair(rc::gen::element<std::string>("REGISTER", "MAYBE_UNLINK", "UNREGISTER"),
                    rc::gen::element<std::string>("a", "b", "c:d")));
  for (const auto& [command, name] : steps) {
    expected.take(command, name);
    sent += command + ":" + folder.path(name) + ":file\n";
  }
  LokyRun run(sent);
  const auto pieces = *rc::gen::inRange(1, 4);
  int calls = 0;
  run.os.director = [&](const Crossing& crossing) {
    return crossing.call == Call::read && ++calls % pieces != 0 ? Decision{.fate = Fate::shorten}
                                                                : Decision{};
  };
  RC_ASSERT(run.serve().has_value());
  for (const auto& [name, was_there] : expected.there) {
    // At the end every counted name is removed.
    RC_ASSERT(folder.exists(name) == (was_there && expected.counts[name] == 0));
    folder.remove(name);
  }
}

}  // namespace
}  // namespace lastref::tracker
