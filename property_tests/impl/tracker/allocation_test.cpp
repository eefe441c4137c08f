// Whichever allocation of a client, a sweep or a tracker fails: each call works or reports the
// failure, counts are exact, nothing is left, and the next call works.
//
// Has a main of its own: this program is also the tracker of its trees. A variable of its
// environment can choose which of its allocations fail.
#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <lastref/kernel_os.hpp>
#include <lastref/loky.hpp>
#include <lastref/owners.hpp>
#include <lastref/tracker.hpp>
#include <lastref/tracker_client.hpp>

#include "impl/os/within_memory.hpp"
#include "impl/tracker/ledger.hpp"
#include "impl/tracker/registry.hpp"
#include "impl/tracker/tree.hpp"
#include "property_tests/support/array_model.hpp"
#include "property_tests/support/failing_memory.hpp"
#include "property_tests/support/fresh_folder.hpp"
#include "property_tests/support/process_actions.hpp"

namespace lastref::tracker {
namespace {

using pretend::Armed;
using pretend::fail_each_allocation;
using pretend::FreshFolder;
using pretend::must;
using pretend::unless_no_memory;
using pretend::until;

/// "first count path": which allocations of the tracker fail, and where it writes how many there
/// were.
constexpr const char* failures_variable = "LASTREF_TEST_FAILURES";

std::string this_program() {
  return std::filesystem::read_symlink("/proc/self/exe");
}

/// One of this many allocations is failed, unless the environment asks for all of them.
std::uint64_t stride(std::uint64_t usual) {
  return os::KernelOs().environment("LASTREF_TEST_ALL_ALLOCATIONS") ? 1 : usual;
}

/// Does not wait: pauses end immediately.
class HastyOs final : public os::KernelOs {
 public:
  Result<std::size_t> poll(std::span<os::PollItem> items,
                           std::optional<std::chrono::nanoseconds> timeout) noexcept override {
    return items.empty() ? 0 : KernelOs::poll(items, timeout);
  }
};

/// While `refuses`, each send fails, and waits with a time limit end immediately.
class RefusingOs final : public os::KernelOs {
 public:
  using KernelOs::KernelOs;
  Status send(os::Fd socket, os::Bytes message, std::span<const os::Fd> fds) noexcept override {
    return refuses ? failure(std::errc::no_buffer_space, "") : KernelOs::send(socket, message, fds);
  }
  Result<std::size_t> poll(std::span<os::PollItem> items,
                           std::optional<std::chrono::nanoseconds> timeout) noexcept override {
    return KernelOs::poll(items, refuses && timeout ? std::chrono::nanoseconds(0) : timeout);
  }

  std::atomic<bool> refuses = false;
};

class TrackerAllocations_E10 : public testing::Test {
 protected:
  std::string runtime() const { return folder_.path("runtime"); }
  Resource file(const std::string& name) const {
    return {.type = ResourceType::file, .name = folder_.path(name)};
  }
  std::unique_ptr<Client> lead() { return Client::lead(os_, {.runtime_folder = runtime()}); }
  /// Makes the client leave, and waits for the end of the tree.
  void end(std::unique_ptr<Client>& client) {
    client.reset();
    until([&] { return !folder_.exists("runtime"); });
  }
  std::uint64_t count_of(Client& client, const Resource& resource) {
    auto counts = client.counts();
    while (!counts && counts.error().code == std::errc::not_enough_memory) {
      counts = client.counts();  // Its thread lacked memory a moment ago.
    }
    std::uint64_t count = 0;
    for (const Count& each : must(std::move(counts))) {
      count += each.resource == resource ? each.count : 0;
    }
    return count;
  }

  FreshFolder folder_;
  os::KernelOs os_{{.program = this_program()}};
};

TEST_F(TrackerAllocations_E10, a_tree_starts_or_the_call_fails) {
  const Resource name = file("a name that is no short string");
  fail_each_allocation(
      [&](const Armed& armed) -> std::string {
        std::unique_ptr<Client> client;
        Status counted = ok();
        RootOptions options{.runtime_folder = runtime()};
        armed([&] {
          client = Client::lead(os_, std::move(options));
          if (client) {
            counted = client->register_name(name);
          }
        });
        std::string finding = unless_no_memory(counted);
        if (!client) {
          client = lead();
        }
        const std::uint64_t count = count_of(*client, name);
        if (count != (client && counted && count > 0 ? 1U : 0U)) {
          finding += " it counts " + std::to_string(count) + ";";
        }
        if (!client->register_name(name) || count_of(*client, name) != count + 1) {
          finding += " the next call does not count;";
        }
        static_cast<void>(client->forget(name));
        end(client);
        return finding;
      },
      {.stride = stride(2)});
}

TEST_F(TrackerAllocations_E10, a_call_of_a_client_does_all_or_nothing) {
  const Resource name = file("a name that is no short string");
  fail_each_allocation(
      [&](const Armed& armed) -> std::string {
        std::unique_ptr<Client> client = lead();
        LASTREF_ASSERT(client->probe().has_value());
        std::string finding;
        std::uint64_t model = 0;
        const auto call = [&](const char* what, int change, const std::function<Status()>& act) {
          Status done = ok();
          armed([&] { done = act(); });
          finding += unless_no_memory(done);
          model += done ? static_cast<std::uint64_t>(change) : 0;
          if (const std::uint64_t count = count_of(*client, name); count != model) {
            finding += std::string(" after ") + what + " it counts " + std::to_string(count) +
                       " and not " + std::to_string(model) + ";";
            model = count;
          }
        };
        call("register", 1, [&] { return client->register_name(name); });
        call("register", 1, [&] { return client->register_name(name); });
        call("hold", 1, [&] { return model > 0 ? client->hold(name) : Status(os::no_memory("")); });
        call("release", -1, [&] {
          return model > 1 ? client->release(name) : Status(os::no_memory(""));
        });
        call("counts", 0, [&] {
          const auto counts = client->counts();
          return counts ? ok() : Status(os::no_memory(""));
        });
        LASTREF_ASSERT(client->register_name(name).has_value());
        static_cast<void>(client->forget(name));
        end(client);
        return finding;
      },
      {.stride = stride(5)});
}

TEST_F(TrackerAllocations_E10, a_client_waits_for_no_connection_that_failed) {
  fail_each_allocation(
      [&](const Armed& armed) -> std::string {
        RefusingOs os({.program = this_program()});
        std::unique_ptr<Client> client = Client::lead(os, {.runtime_folder = runtime()});
        LASTREF_ASSERT(client->probe().has_value());
        const Resource name = file("a name that is no short string");
        bool counted = true;
        os.refuses = true;
        armed([&] { counted = client->register_name(name).has_value(); });
        os.refuses = false;
        end(client);
        return counted ? " it counts what it cannot send;" : "";
      },
      {.stride = stride(6)});
}

TEST_F(TrackerAllocations_E10, a_registry_changes_whole_names_and_takes_away_without_memory) {
  const Resource folder{.type = ResourceType::folder, .name = "/a folder of no short name"};
  const Resource inside{.type = ResourceType::file, .name = folder.name + "/a file"};
  fail_each_allocation([&](const Armed& armed) -> std::string {
    Registry registry;
    std::string finding;
    for (const Resource& name : {folder, inside}) {
      bool is_added = false;
      armed([&] { is_added = os::had_memory([&] { registry.add(1, name); }); });
      if (registry.knows(name) != is_added || registry.count_of(name) != (is_added ? 1U : 0U)) {
        finding += " it is neither added nor unknown;";
      }
      if (!is_added) {
        registry.add(1, name);
      }
    }
    armed([&] { registry.drop(1, Registry::no_limit, [](const Resource&) {}); });
    std::vector<Resource> taken;
    taken.reserve(2);
    const Registry::Stamp before = registry.now();
    const auto take = [&](const Resource& name) { taken.push_back(name); };
    armed([&] {
      static_cast<void>(
          os::had_memory([&] { registry.take_doomed(before, Registry::no_limit, take); }));
    });
    registry.take_doomed(before, Registry::no_limit, take);
    if (taken != std::vector{inside, folder} || !registry.empty()) {
      finding += " " + std::to_string(taken.size()) + " names are taken;";
    }
    return finding;
  });
}

TEST_F(TrackerAllocations_E10, a_ledger_records_a_name_or_says_that_it_does_not) {
  const Resource name = file("a name that is no short string");
  fail_each_allocation([&](const Armed& armed) -> std::string {
    folder_.write("ledger");
    const std::string path = folder_.path("ledger");
    Ledger ledger = must(Ledger::open(os_, path));
    std::string finding;
    bool is_entered = false;
    armed([&] { is_entered = os::had_memory([&] { static_cast<void>(ledger.enter(name)); }); });
    if (must(Ledger::names_at(os_, path)).size() != (is_entered ? 1U : 0U)) {
      finding += " it is not what it says;";
    }
    LASTREF_ASSERT(ledger.enter(name).has_value());
    armed([&] { static_cast<void>(ledger.mark_dead(name)); });
    if (!must(Ledger::names_at(os_, path)).empty()) {
      finding += " a name cannot be ended;";
    }
    folder_.remove("ledger");
    return finding;
  });
}

TEST_F(TrackerAllocations_E10, a_sweep_leaves_what_it_cannot_do_to_the_next) {
  const Resource name = file("a name that is no short string");
  fail_each_allocation([&](const Armed& armed) -> std::string {
    {
      OwnTree tree = must(make_tree(os_, runtime()));
      Ledger ledger = must(Ledger::open(os_, tree.paths.ledger()));
      LASTREF_ASSERT(ledger.enter(name).has_value());
      folder_.write("a name that is no short string");
    }
    Result<Swept> swept;
    const std::string where = runtime();
    armed([&] { swept = sweep(os_, where); });
    const Status status = swept ? ok() : Status(failure(swept.error()));
    const Result<Swept> again = sweep(os_, where);
    if (!again || folder_.exists("a name that is no short string") || folder_.exists("runtime")) {
      return "the next sweep leaves something;";
    }
    return unless_no_memory(status);
  });
}

TEST_F(TrackerAllocations_E10, the_line_protocol_loses_no_line) {
  HastyOs os;
  fail_each_allocation([&](const Armed& armed) -> std::string {
    const os::PipeEnds ends = must(os.make_pipe());
    {
      os::UniqueFd write(os, ends.write);
      LokyClient client(os, write.get());
      for (const char* name : {"released", "left"}) {
        folder_.write(name);
        LASTREF_ASSERT(client.register_name(file(name)).has_value());
      }
      LASTREF_ASSERT(client.maybe_unlink(file("released")).has_value());
    }
    testing::internal::CaptureStderr();
    int code = 0;
    armed([&] { code = run_loky(os, ends.read); });
    testing::internal::GetCapturedStderr();
    const bool is_clean = !folder_.exists("released") && !folder_.exists("left");
    for (const char* name : {"released", "left"}) {
      std::filesystem::remove(folder_.path(name));
    }
    return code == 0 && !is_clean ? "it ends with 0, and something is left;" : "";
  });
}

/// Does what a tree of two clients does; "" if all is as expected. A call that lacked memory is
/// repeated.
class Play {
 public:
  explicit Play(os::Os& os) : os_(os) {}

  std::string run() {
    testing::internal::CaptureStderr();
    try {
      play();
    } catch (const std::exception& thrown) {
      finding_ += thrown.what();
    }
    const std::string said = testing::internal::GetCapturedStderr();
    if (said.find("starting another") != std::string::npos || !finding_.empty()) {
      finding_ += " it said: " + said;
    }
    return finding_;
  }

 private:
  void play() {
    auto root = Client::lead(os_, {.runtime_folder = folder_.path("runtime")});
    std::unique_ptr<Client> other;
    insist("register a", [&] { return root->register_name(thing("a")); });
    insist("register b", [&] { return root->register_name(thing("b")); });
    folder_.write("a");
    folder_.write("b");
    insist("join", [&] {
      auto joined = Client::join(os_, must(root->tree()));
      if (joined) {
        other = *std::move(joined);
      }
      return status_of(joined);
    });
    if (!other) {
      return;
    }
    insist("hold a", [&] { return other->hold(thing("a")); });
    insist("probe", [&] { return other->probe(); });
    insist("release a", [&] { return root->release(thing("a")); });
    insist("register c", [&] { return other->register_name(thing("c")); });
    folder_.write("c");
    insist("forget b", [&] { return root->forget(thing("b")); });
    insist("probe", [&] { return root->probe(); });
    insist("counts", [&]() -> Status {
      LASTREF_TRY(counts, root->counts());
      const std::vector<Count> expected = {
          {.resource = thing("a"), .holder = os_.process_id(), .count = 1},
          {.resource = thing("c"), .holder = os_.process_id(), .count = 1}};
      finding_ += counts == expected ? "" : " the counts are wrong;";
      return ok();
    });
    finding_ += folder_.exists("a") ? "" : " a is removed too early;";
    insist("release a", [&] { return other->release(thing("a")); });
    until([&] { return !folder_.exists("a"); });
    other.reset();
    until([&] { return !folder_.exists("c"); });
    root.reset();
    until([&] { return !folder_.exists("runtime"); });
    finding_ += folder_.exists("b") ? "" : " b is removed, which was forgotten;";
    folder_.remove("b");
  }

  template <typename Act>
  void insist(const char* what, Act act) {
    constexpr int tries_max = 1000;
    for (int tries = 0; tries < tries_max; ++tries) {
      const Status done = act();
      if (done) {
        return;
      }
      if (done.error().code != std::errc::not_enough_memory) {
        finding_ += std::string(" ") + what + ": " + describe(done.error()) + ";";
        return;
      }
    }
    finding_ += std::string(" ") + what + " never works;";
  }
  Resource thing(const std::string& name) const {
    return {.type = ResourceType::file, .name = folder_.path(name)};
  }

  os::Os& os_;
  FreshFolder folder_;
  std::string finding_;
};

TEST_F(TrackerAllocations_E10, a_tracker_serves_on_and_counts_exactly) {
  const std::string told = folder_.path("told");
  const auto play_with = [&](std::uint64_t first, std::uint64_t count) {
    std::ostringstream failures;
    failures << first << ' ' << count << ' ' << told;
    pretend::set_variable(failures_variable, failures.str());
    return Play(os_).run();
  };
  EXPECT_EQ(play_with(0, 0), "");
  std::uint64_t allocations = 0;
  until([&] { return std::ifstream(told) >> allocations && allocations > 0; });
  constexpr std::uint64_t runs_max = 8;  // of each kind
  const std::uint64_t step = stride(allocations / runs_max + 1);
  std::uint64_t runs = 0;
  for (const std::uint64_t count : {std::uint64_t{1}, std::uint64_t{5}}) {
    for (std::uint64_t first = 1 + runs % step; first <= allocations; first += step) {
      EXPECT_EQ(play_with(first, count), "") << count << " allocations from " << first << " on";
      ++runs;
    }
  }
  std::cout << "             " << allocations << " allocations, " << runs << " runs\n";
  pretend::set_variable(failures_variable, "");
  folder_.remove("told");
}

int be_tracker(os::Os& os, const std::vector<std::string>& arguments) {
  std::istringstream failures(os.environment(failures_variable).value_or(""));
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::string told;
  failures >> first >> count >> told;
  pretend::fail_allocations_here(first, count);
  const int code = run(os, arguments);
  const std::uint64_t allocations = pretend::allocations_here();
  pretend::fail_allocations_here(0, 0);
  if (first == 0 && !told.empty()) {
    std::ofstream(told) << allocations << '\n';
  }
  return code;
}

}  // namespace
}  // namespace lastref::tracker

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words.front() == lastref::tracker::entry_point) {
    lastref::os::KernelOs os;
    return lastref::tracker::be_tracker(os, {words.begin() + 1, words.end()});
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
