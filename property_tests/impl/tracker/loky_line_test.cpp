// loky_line_test: loky's line protocol, as a reader and as a writer of lines.
#include <array>
#include <deque>
#include <ostream>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <lastref/loky_client.hpp>

#include "impl/tracker/loky.hpp"
#include "property_tests/impl/tracker/generators.hpp"
#include "property_tests/impl/tracker/pretend_process.hpp"

namespace lastref::tracker {
namespace {

using pretend::any_name;
using pretend::any_resource;

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
    {"no_name", "REGISTER::file", "a name that cannot be"},
    {"nul", std::string("REGISTER:/a\0b:file", 18), "a name that cannot be"},
    {"overlong",
     "REGISTER:" + std::string(name_size_max + 1, 'a') + ":file",
     "a name that cannot be"},
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

}  // namespace
}  // namespace lastref::tracker
