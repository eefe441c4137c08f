// our_client_test: our client against the tracker that joblib ships, in a Python process of its
// own.
#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <lastref/kernel_os.hpp>
#include <lastref/loky.hpp>
#include <lastref/owners.hpp>
#include <lastref/references.hpp>
#include <lastref/temporary_resources.hpp>

#include "property_tests/interop/loky_peer.hpp"
#include "property_tests/support/array_model.hpp"
#include "property_tests/support/fresh_folder.hpp"
#include "property_tests/support/waiting.hpp"

namespace lastref {
namespace {

using pretend::FreshFolder;
using pretend::Pipe;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using tracker::LokyClient;

/// Loky's tracker, from its first line to the end of its pipe.
class TheirTracker {
 public:
  TheirTracker() {
    Pipe lines(os_);
    Pipe messages(os_);
    const os::Child child = pretend::must(
        os_.spawn({.entry = "-c",
                   .arguments = {"import os; os.dup2(4, 2); os.close(4)\n"
                                 "os.set_blocking(3, True)  # They do not poll.\n"
                                 "from joblib.externals.loky.backend.resource_tracker import main\n"
                                 "main(3)"},
                   .fds = {{.here = lines.read.get(), .number_there = 3},
                           {.here = messages.write.get(), .number_there = 4}},
                   .blocked = {}}));
    process_ = os::UniqueFd(os_, child.process);
    pipe_ = std::move(lines.write);
    said_ = std::move(messages.read);
    client = std::make_shared<LokyClient>(os_, pipe_.get());
  }

  /// Returns when it has processed all earlier messages: a pipe keeps their order.
  void settle() {
    folder_.write("sentinel");
    const Resource sentinel{.type = ResourceType::file, .name = folder_.path("sentinel")};
    ASSERT_TRUE(client->register_name(sentinel));
    ASSERT_TRUE(client->maybe_unlink(sentinel));
    while (folder_.exists("sentinel")) {
      std::array items = {os::PollItem{.fd = process_.get(), .want_read = true}};
      ASSERT_EQ(os_.poll(items, std::chrono::microseconds(100)).value(), 0U) << "it has ended";
    }
  }

  /// Closes the pipe. Returns the tracker's output, once it has cleaned up.
  std::string end() {
    pipe_.close_quietly();
    std::string said = pretend::read_to_end(os_, said_.get());
    EXPECT_EQ(pretend::wait_for(os_, process_.get()).value(), os::ChildExit{});
    return said;
  }

  std::shared_ptr<LokyClient> client;

 private:
  FreshFolder folder_;
  os::KernelOs os_{{.program = LASTREF_PYTHON}};
  os::UniqueFd process_;
  os::UniqueFd pipe_;
  os::UniqueFd said_;
};

Resource file_in(const FreshFolder& folder, const std::string& name) {
  return {.type = ResourceType::file, .name = folder.path(name)};
}

TEST(OurClient, has_their_tracker_unlink_at_the_last_reference_and_clean_up_at_the_end_T12) {
  FreshFolder folder;
  TheirTracker their;
  for (const char* name : {"released", "held", "held twice", "forgotten", "never named"}) {
    folder.write(name);
  }
  folder.make_folder("d/e");
  folder.write("d/e/f");
  for (const char* name : {"released", "held", "held twice", "held twice", "forgotten"}) {
    ASSERT_TRUE(their.client->register_name(file_in(folder, name)));
  }
  const Resource inner{.type = ResourceType::folder, .name = folder.path("d")};
  ASSERT_TRUE(their.client->register_name(inner));
  for (const char* name : {"released", "held twice"}) {
    ASSERT_TRUE(their.client->maybe_unlink(file_in(folder, name)));
  }
  ASSERT_TRUE(their.client->unregister(file_in(folder, "forgotten")));
  their.settle();
  EXPECT_THAT(folder.names(),
              ElementsAre("d", "d/e", "d/e/f", "forgotten", "held", "held twice", "never named"));
  const std::string said = their.end();
  EXPECT_THAT(folder.names(), ElementsAre("forgotten", "never named"));
  EXPECT_THAT(said, HasSubstr("2 leaked file objects"));
  EXPECT_THAT(said, HasSubstr("1 leaked folder objects"));
  folder.remove("forgotten");
  folder.remove("never named");
}

TEST(OurClient, has_their_tracker_take_any_name_that_it_lets_through_T12) {
  FreshFolder folder;
  TheirTracker their;
  std::vector<std::string> names = {
      "a:file", ":", "two messages", "REGISTER:x:file", "\t", "a\x7f"};
  std::string deep = "deep";
  while (folder.path(deep).size() + 2 <= tracker::loky_name_size_max - 100) {
    deep += "/" + std::string(99, 'x');
  }
  folder.make_folder(deep);
  deep += "/" + std::string(tracker::loky_name_size_max - folder.path(deep).size() - 1, 'y');
  names.push_back(deep);
  for (const std::string& name : names) {
    folder.write(name);
    ASSERT_TRUE(folder.exists(name)) << name;
    ASSERT_TRUE(their.client->register_name(file_in(folder, name)));
    ASSERT_TRUE(their.client->maybe_unlink(file_in(folder, name)));
  }
  const auto longer = their.client->register_name(file_in(folder, deep + "y"));
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().code, std::errc::filename_too_long);
  their.settle();
  for (const std::string& name : names) {
    EXPECT_FALSE(folder.exists(name)) << name;
  }
  EXPECT_EQ(their.end(), "");
  folder.remove("deep");
}

TEST(OurClient, has_their_tracker_unlink_a_semaphore_T12) {
  os::KernelOs os;
  TheirTracker their;
  const std::string name = pretend::unique_text();
  const Resource semaphore{.type = ResourceType::semlock, .name = "/" + name};
  ASSERT_TRUE(os.create_semaphore(semaphore.name, 0600));
  ASSERT_TRUE(their.client->register_name(semaphore));
  their.settle();
  EXPECT_TRUE(std::filesystem::exists("/dev/shm/sem." + name));
  ASSERT_TRUE(their.client->maybe_unlink(semaphore));
  their.settle();
  EXPECT_FALSE(std::filesystem::exists("/dev/shm/sem." + name));
  EXPECT_EQ(their.end(), "");
}

TEST(OurClient, is_refused_with_a_type_what_would_confuse_their_tracker_T12) {
  FreshFolder folder;
  TheirTracker their;
  folder.write("victim");
  const std::string victim = folder.path("victim");
  const std::string injected =
      folder.path("a") + ":file\nREGISTER:" + victim + ":file\nMAYBE_UNLINK:" + victim;
  for (const std::string& name : {injected, folder.path("caf\xc3\xa9"), victim + "\n"}) {
    const auto refused = their.client->register_name({.type = ResourceType::file, .name = name});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, std::errc::invalid_argument);
  }
  their.settle();
  EXPECT_EQ(their.end(), "");
  EXPECT_TRUE(folder.exists("victim"));
  folder.remove("victim");
}

TEST(OurClient, lends_their_tracker_the_files_of_a_manager_T12_M4) {
  FreshFolder folder;
  TheirTracker their;
  os::KernelOs os;
  const auto manager = pretend::must(TemporaryResources::make(
      os, references_of(their.client), {.root = folder.path(), .context = "c"}));
  const auto file = pretend::must(
      manager->publish([&](os::Fd fd) { return os::write_all(os, fd, os::bytes_of("content")); }));
  auto lent = pretend::must(manager->lend(*file));
  ASSERT_TRUE(lent.has_value());
  ASSERT_TRUE(manager->clean_up());
  their.settle();
  EXPECT_TRUE(std::filesystem::exists(file->path()));
  ASSERT_TRUE(lent->release());
  their.settle();
  EXPECT_FALSE(std::filesystem::exists(file->path()));
  // The folder was left to the exit of the process, or to their tracker.
  EXPECT_THAT(their.end(), HasSubstr("1 leaked folder objects"));
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST(OurClient, finds_the_counts_of_the_model_in_their_tracker_T3_T12) {
  FreshFolder folder;
  TheirTracker their;
  int round = 0;
  EXPECT_TRUE(rc::check([&] {
    const auto messages = *rc::gen::container<std::vector<std::pair<char, int>>>(rc::gen::pair(
        rc::gen::weightedElement<char>({{6, 'r'}, {5, 'm'}, {1, 'u'}}), rc::gen::inRange(0, 3)));
    std::map<int, int> counts;
    std::map<int, bool> gone;
    const std::string prefix = std::to_string(round++) + ": ";
    for (int name = 0; name < 3; ++name) {
      folder.write(prefix + std::to_string(name));
    }
    for (const auto& [message, name] : messages) {
      const Resource file = file_in(folder, prefix + std::to_string(name));
      int& count = counts[name];
      if (message == 'r') {
        RC_ASSERT(their.client->register_name(file).has_value());
        ++count;
      } else if (count > 0) {  // Their tracker prints a page for each name that it does not know.
        RC_ASSERT(
            (message == 'm' ? their.client->maybe_unlink(file) : their.client->unregister(file))
                .has_value());
        count = message == 'm' ? count - 1 : 0;
        gone[name] = gone[name] || (message == 'm' && count == 0);
      }
    }
    their.settle();
    for (int name = 0; name < 3; ++name) {
      RC_ASSERT(folder.exists(prefix + std::to_string(name)) != gone[name]);
      // The remaining names are released too, so that nothing is left at the end.
      const Resource file = file_in(folder, prefix + std::to_string(name));
      if (counts[name] > 0) {
        RC_ASSERT(their.client->unregister(file).has_value());
      }
      folder.remove(prefix + std::to_string(name));
    }
  }));
  // For files that were unlinked and registered again, the second clean-up fails and is reported.
  const std::string said = their.end();
  EXPECT_EQ(said.find("leaked"), std::string::npos) << said;
  EXPECT_EQ(said.find("Traceback"), std::string::npos) << said;
}

}  // namespace
}  // namespace lastref
