// loky_tracker_test: loky mode from the first byte of a real pipe to its end, against files.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "impl/tracker/loky.hpp"
#include "property_tests/impl/tracker/pretend_process.hpp"
#include "property_tests/support/fresh_folder.hpp"

namespace lastref::tracker {
namespace {

using pretend::Crossing;
using pretend::Decision;
using pretend::Fate;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

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
