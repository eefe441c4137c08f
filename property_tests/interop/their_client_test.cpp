// their_client_test: the client that joblib ships, against our tracker, which is the real program
// in a process of its own. It also runs against loky's tracker, from which ours must not differ.
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <lastref/kernel_os.hpp>

#include "property_tests/interop/loky_peer.hpp"
#include "property_tests/support/fresh_folder.hpp"

namespace lastref {
namespace {

using pretend::FreshFolder;
using pretend::LokyPeer;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A new tracker, and loky's client that is connected to it.
class TheirClient : public testing::Test {
 protected:
  TheirClient() { EXPECT_EQ(tell({"lead", "ours", LASTREF_PROGRAM, folder.path("said")}), "done"); }

  std::string tell(const std::vector<std::string>& messages) { return peer.tell(messages); }

  void settle() { EXPECT_EQ(tell({"settle", folder.path("sentinel")}), "done"); }

  /// The tracker's output, until its end.
  std::string end() {
    EXPECT_EQ(tell({"end"}), "0");
    EXPECT_THAT(peer.end(), IsEmpty());
    std::string said = folder.read("said");
    folder.remove("said");
    return said;
  }

  FreshFolder folder;
  LokyPeer peer;
};

TEST_F(TheirClient, has_a_file_unlinked_at_its_last_reference_and_hears_nothing_T3_T12) {
  folder.write("a");
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(tell({"register", folder.path("a"), "file"}), "done");
  }
  for (int i = 0; i < 9; ++i) {
    EXPECT_EQ(tell({"maybe_unlink", folder.path("a"), "file"}), "done");
  }
  settle();
  EXPECT_TRUE(folder.exists("a"));
  EXPECT_EQ(tell({"maybe_unlink", folder.path("a"), "file"}), "done");
  settle();
  EXPECT_FALSE(folder.exists("a"));
  EXPECT_EQ(end(), "");
}

TEST_F(TheirClient, keeps_what_it_unregisters_whatever_the_count_T3_T12) {
  folder.write("a");
  folder.make_folder("d");
  for (const auto& [name, type] : {std::pair("a", "file"), std::pair("d", "folder")}) {
    EXPECT_EQ(tell({"register", folder.path(name), type}), "done");
    EXPECT_EQ(tell({"register", folder.path(name), type}), "done");
    EXPECT_EQ(tell({"unregister", folder.path(name), type}), "done");
  }
  EXPECT_EQ(end(), "");
  EXPECT_THAT(folder.names(), ElementsAre("a", "d"));
  folder.remove("a");
  folder.remove("d");
}

TEST_F(TheirClient, has_names_with_colons_and_spaces_T12) {
  const std::string names[] = {"a:file", ":", "REGISTER:x:file", "two messages", "a: b", "C:\\a"};
  for (const std::string& name : names) {
    folder.write(name);
    EXPECT_EQ(tell({"register", folder.path(name), "file"}), "done");
    EXPECT_EQ(tell({"maybe_unlink", folder.path(name), "file"}), "done");
  }
  settle();
  EXPECT_THAT(folder.names(), ElementsAre("said"));
  EXPECT_EQ(end(), "");
}

TEST_F(TheirClient, has_a_folder_deleted_with_what_is_in_it_T4_T12) {
  folder.make_folder("d/e f");
  folder.write("d/e f/a");
  folder.write("precious");
  folder.link("d/link", folder.path("precious"));
  EXPECT_EQ(tell({"register", folder.path("d"), "folder"}), "done");
  EXPECT_EQ(tell({"maybe_unlink", folder.path("d"), "folder"}), "done");
  settle();
  EXPECT_THAT(folder.names(), ElementsAre("precious", "said"));
  EXPECT_EQ(end(), "");
  folder.remove("precious");
}

TEST_F(TheirClient, has_a_semaphore_unlinked_T4_T12) {
  os::KernelOs os;
  const std::string name = pretend::unique_text();
  ASSERT_TRUE(os.create_semaphore("/" + name, 0600));
  const std::string path = "/dev/shm/sem." + name;
  EXPECT_EQ(tell({"register", "/" + name, "semlock"}), "done");
  EXPECT_EQ(tell({"register", "/" + name, "semlock"}), "done");
  EXPECT_EQ(tell({"maybe_unlink", "/" + name, "semlock"}), "done");
  settle();
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_EQ(tell({"maybe_unlink", "/" + name, "semlock"}), "done");
  settle();
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_EQ(end(), "");
}

TEST_F(TheirClient, shares_its_pipe_with_children_that_speak_at_once_T12) {
  folder.write("a");
  EXPECT_EQ(tell({"share", "2", "200", "register", folder.path("a"), "file"}), "0");
  EXPECT_EQ(tell({"share", "3", "133", "maybe_unlink", folder.path("a"), "file"}), "0");
  settle();
  EXPECT_TRUE(folder.exists("a"));
  EXPECT_EQ(tell({"share", "1", "1", "maybe_unlink", folder.path("a"), "file"}), "0");
  settle();
  EXPECT_FALSE(folder.exists("a"));
  EXPECT_EQ(end(), "");
}

TEST_F(TheirClient, may_probe_with_anything_T12) {
  EXPECT_EQ(tell({"probe", "", ""}), "done");
  EXPECT_EQ(tell({"probe", "0", "noop"}), "done");
  EXPECT_EQ(tell({"probe", "a:b", "no such type"}), "done");
  EXPECT_EQ(end(), "");
}

TEST_F(TheirClient, is_told_of_what_it_says_wrong_and_served_on_T3_T4_T12) {
  folder.write("a");
  EXPECT_EQ(tell({"maybe_unlink", folder.path("a"), "file"}), "done");
  EXPECT_EQ(tell({"unregister", folder.path("a"), "file"}), "done");
  EXPECT_EQ(tell({"register", folder.path("a"), "socket"}), "done");
  settle();
  EXPECT_TRUE(folder.exists("a"));
  const std::string said = end();
  EXPECT_THAT(said, HasSubstr("MAYBE_UNLINK of an unknown name: file:" + folder.path("a")));
  EXPECT_THAT(said, HasSubstr("UNREGISTER of an unknown name: file:" + folder.path("a")));
  EXPECT_THAT(said, HasSubstr("unknown resource type"));
  folder.remove("a");
}

TEST_F(TheirClient, leaves_nothing_behind_at_the_end_of_its_pipe_T5_T12) {
  folder.make_folder("d");
  folder.write("d/a");
  folder.write("b");
  folder.write("never named");
  EXPECT_EQ(tell({"register", folder.path("d"), "folder"}), "done");
  EXPECT_EQ(tell({"register", folder.path("d/a"), "file"}), "done");
  EXPECT_EQ(tell({"register", folder.path("b"), "file"}), "done");
  const std::string said = end();
  EXPECT_THAT(folder.names(), ElementsAre("never named"));
  EXPECT_THAT(said, HasSubstr("2 leaked file objects to clean up at shutdown:"));
  EXPECT_THAT(said, HasSubstr(" file:" + folder.path("b")));
  EXPECT_THAT(said, HasSubstr(" file:" + folder.path("d/a")));
  EXPECT_THAT(
      said,
      HasSubstr("1 leaked folder objects to clean up at shutdown: folder:" + folder.path("d")));
  folder.remove("never named");
}

/// The number before each "leaked <type> objects", as both trackers print it at their end.
std::map<std::string, std::string> leaks_in(const std::string& said) {
  std::map<std::string, std::string> leaks;
  for (const std::string type : {"file", "folder", "semlock"}) {
    const std::size_t at = said.find(" leaked " + type + " objects");
    if (at != std::string::npos) {
      const std::size_t from = said.rfind(' ', at - 1) + 1;
      leaks[type] = said.substr(from, at - from);
    }
  }
  return leaks;
}

/// The result of some messages, before and after the end of the tracker's pipe.
struct Outcome {
  std::vector<std::string> before;
  std::vector<std::string> after;
  std::map<std::string, std::string> leaks;
  std::string code;

  bool operator==(const Outcome&) const = default;
};

void showValue(const Outcome& outcome, std::ostream& out) {
  out << rc::toString(outcome.before) << ", then " << rc::toString(outcome.after) << " with "
      << rc::toString(outcome.leaks) << " leaked and code " << outcome.code;
}

/// A message, and an index among the names.
using Said = std::pair<std::string, std::size_t>;

struct Name {
  std::string path;
  std::string type;
};

Outcome outcome_of(LokyPeer& peer, const std::string& whose, const std::vector<Said>& messages) {
  const FreshFolder folder;
  const Name names[] = {
      {"a", "file"}, {"b: c", "file"}, {"d", "folder"}, {"d/e", "folder"}, {"d/e/f", "file"}};
  folder.make_folder("d/e");
  for (const char* file : {"a", "b: c", "d/e/f"}) {
    folder.write(file);
  }
  peer.tell({"lead", whose, LASTREF_PROGRAM, folder.path("said")});
  for (const auto& [message, index] : messages) {
    peer.tell({message, folder.path(names[index].path), names[index].type});
  }
  peer.tell({"settle", folder.path("sentinel")});
  Outcome outcome;
  outcome.before = folder.names();
  outcome.code = peer.tell({"end"});
  outcome.leaks = leaks_in(folder.read("said"));
  outcome.after = folder.names();
  for (const std::string& name : folder.names()) {
    folder.remove(name);
  }
  return outcome;
}

TEST(BothTrackers, make_the_same_of_any_words_of_their_client_T3_T4_T5_T12) {
  LokyPeer peer;
  EXPECT_TRUE(rc::check([&peer] {
    const auto messages = *rc::gen::container<std::vector<Said>>(
        rc::gen::pair(rc::gen::weightedElement<std::string>(
                          {{6, "register"}, {5, "maybe_unlink"}, {1, "unregister"}}),
                      rc::gen::inRange<std::size_t>(0, 5)));
    const Outcome ours = outcome_of(peer, "ours", messages);
    RC_ASSERT(ours.code == "0");
    RC_ASSERT(ours == outcome_of(peer, "theirs", messages));
  }));
  peer.end();
}

}  // namespace
}  // namespace lastref
