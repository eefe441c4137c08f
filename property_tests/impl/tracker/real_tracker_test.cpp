// The real tracker, in a process of its own, against a model that keeps one number for each name
// and holder. Real processes register, hold, release, forget, fork, leave and are killed, and so is
// the tracker. After each of these the tracker's counts are those of the model, and every held file
// exists. In the end, every file that was not forgotten is removed.
#include <array>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <lastref/kernel_os.hpp>
#include <lastref/owners.hpp>
#include <lastref/tracker.hpp>
#include <lastref/tracker_client.hpp>

#include "property_tests/support/fresh_folder.hpp"
#include "property_tests/support/process_actions.hpp"
#include "property_tests/support/waiting.hpp"

namespace lastref {
namespace {

using pretend::read_all;
using pretend::wait_for;

constexpr const char* holder_entry = "holder";
constexpr const char* killer_entry = "killer";
constexpr const char* witness_entry = "witness";
constexpr os::Fd orders{3};
constexpr os::Fd answers{4};
constexpr os::Fd life{5};
constexpr int names = 4;
constexpr int holders = 3;  // in addition to the root
constexpr std::size_t order_size = 2;
constexpr int killed_by = 9;

std::string this_program() {
  return std::filesystem::read_symlink("/proc/self/exe");
}

Resource resource_of(const std::string& folder, int name) {
  return {.type = ResourceType::file, .name = folder + "/name_" + std::to_string(name)};
}

/// Orders to a holder: a letter, and for some the number of a name.
enum Order : char {
  take = 't',
  hold = 'h',
  release = 'r',
  forget = 'f',
  speak = 's',
  leave_stranger = 'k',
  leave = 'l'
};

/// A copy of this process registers the name through the inherited client, and is killed.
bool speak_in_a_child(os::Os& os, tracker::Client& client, const Resource& resource) {
  const auto told = os.make_pipe();
  if (!told) {
    return false;
  }
  const os::UniqueFd read(os, told->read);
  os::UniqueFd write(os, told->write);
  const os::Pid child = pretend::fork_here();
  if (child == 0) {
    const bool done = client.register_name(resource) && client.probe();
    static_cast<void>(os::write_all(os, write.get(), os::bytes_of(done ? "+" : "-")));
    pretend::hang();
  }
  write.close_quietly();
  const auto opened = os.open_process(child);
  const os::UniqueFd process(os, opened ? *opened : os::Fd{});
  std::array<std::byte, 1> answer{};
  const bool spoke = read_all(os, read.get(), answer) && static_cast<char>(answer[0]) == '+';
  pretend::send_signal(child, killed_by);
  static_cast<void>(wait_for(os, process.get()));
  return spoke;
}

/// A copy of this process sends nothing, keeps all that it inherited, and ends with the test.
bool leave_stranger_here(os::Os& os) {
  if (pretend::fork_here() == 0) {
    std::array<std::byte, 1> never{};
    read_all(os, life, never);
    pretend::send_signal(os.process_id(), killed_by);
  }
  return true;
}

/// Whether it was done.
bool execute(os::Os& os, tracker::Client& client, const std::string& folder, char order, int name) {
  const Resource resource = resource_of(folder, name);
  switch (order) {
    case take: {
      if (!client.register_name(resource)) {
        return false;
      }
      const auto file = os.open(resource.name, {.write = true, .create = true});
      return file ? os.close(*file).has_value() : file.error().code == std::errc::file_exists;
    }
    case hold:
      return client.hold(resource).has_value();
    case release:
      return client.release(resource).has_value();
    case forget:
      return client.forget(resource).has_value();
    case speak:
      return speak_in_a_child(os, client, resource);
    case leave_stranger:
      return leave_stranger_here(os);
    default:
      return false;
  }
}

/// {tree, folder}: joins, and follows orders until it has to leave, or is killed.
int be_holder(os::Os& os, const std::vector<std::string>& arguments) {
  auto client = tracker::Client::join(os, arguments[0]);
  static_cast<void>(os::write_all(os, answers, os::bytes_of(client ? "+" : "-")));
  std::array<std::byte, order_size> order{};
  while (client && read_all(os, orders, order) && static_cast<char>(order[0]) != leave) {
    // The probe ensures that the tracker has processed the order.
    const bool done =
        execute(
            os, **client, arguments[1], static_cast<char>(order[0]), static_cast<int>(order[1])) &&
        (*client)->probe();
    static_cast<void>(os::write_all(os, answers, os::bytes_of(done ? "+" : "-")));
  }
  return client ? 0 : 1;
}

/// A descriptor of the tracker's process. The root must not call this itself: closing the lock file
/// would release the root's own locks.
Result<os::UniqueFd> tracker_of(os::Os& os, const std::string& tree) {
  LASTREF_TRY(lock, os::open_file(os, tree + "/lock", {.write = true}));
  LASTREF_TRY(tracker, os.find_lock(lock.get(), {.kind = os::LockKind::exclusive, .length = 1}));
  LASTREF_TRY(process, os.open_process(tracker ? tracker->pid : 0));
  return os::UniqueFd(os, process);
}

/// {tree}: kills its tracker.
int be_killer(os::Os& os, const std::vector<std::string>& arguments) {
  const auto process = tracker_of(os, arguments[0]);
  return process && os.signal_process(process->get(), os::Signal::kill) ? 0 : 1;
}

/// {tree}: reports when it has found the tracker, and ends when the tracker has.
int be_witness(os::Os& os, const std::vector<std::string>& arguments) {
  const auto process = tracker_of(os, arguments[0]);
  static_cast<void>(os::write_all(os, answers, os::bytes_of(process ? "+" : "-")));
  if (!process) {
    return 1;
  }
  return pretend::wait_until_readable(os, process->get()) ? 0 : 1;
}

/// A holder, as seen from the root.
struct Holder {
  os::Pid pid = 0;
  os::UniqueFd process;
  os::UniqueFd orders;
  os::UniqueFd answers;

  bool answered(os::Os& os) const {
    std::array<std::byte, 1> answer{};
    return read_all(os, answers.get(), answer) && static_cast<char>(answer[0]) == '+';
  }
};

/// As RC_ASSERT, but reports immediately what failed: rapidcheck describes a failure by repeating
/// it, and a failure that depends on timing may not happen again.
void must(int line, bool holds, const std::function<std::string()>& describe = {}) {
  if (!holds) {
    const std::string what = describe ? describe() : std::string();
    std::cerr << "real_tracker_test.cpp:" << line << ": does not hold. " << what << std::endl;
    RC_FAIL(what);
  }
}

/// One step: the action, the process (0 is the root) and the name.
using Step = std::tuple<int, int, int>;

enum What : int {
  to_take,
  to_hold,
  to_release,
  to_forget,
  to_speak_in_a_child,
  to_fork,
  to_leave,
  to_kill,
  to_kill_tracker
};

class Play {
 public:
  Play() {
    tracker::RootOptions options;
    options.runtime_folder = folder_.path("runtime");
    root_ = tracker::Client::lead(os_, options);
    tree_ = root_->tree().value();
    files_ = folder_.path("files");
    folder_.make_folder("files");
    const auto strangers = os_.make_pipe();
    must(__LINE__, strangers.has_value());
    life_ = os::UniqueFd(os_, strangers->read);
    end_of_life_ = os::UniqueFd(os_, strangers->write);
  }

  void perform(const Step& step) {
    const auto [what, member, name] = step;
    switch (what) {
      case to_take:
        must(__LINE__, tell(member, take, name));
        ++counts_[name][pid_of(member)];
        forgotten_.erase(name);
        break;
      case to_hold:
        if (counts_.contains(name)) {
          must(__LINE__, tell(member, hold, name));
          ++counts_[name][pid_of(member)];
        }
        break;
      case to_release:
        if (lives(member) && held_by(member, name) > 0) {
          must(__LINE__, tell(member, release, name));
          drop(name, pid_of(member), 1);
        }
        break;
      case to_forget:
        if (counts_.contains(name)) {
          must(__LINE__, tell(member, forget, name));
          counts_.erase(name);
          forgotten_.insert(name);
        }
        break;
      case to_speak_in_a_child:
        // The child's registration was its own, and ended with it.
        must(__LINE__, tell(member, speak, name));
        if (!counts_.contains(name)) {
          forgotten_.erase(name);
        }
        break;
      case to_fork:
        must(__LINE__, member == 0 || tell(member, leave_stranger, name));
        break;
      case to_leave:
        end(member, [&](const Holder& holder) { send(holder, leave, 0); });
        break;
      case to_kill:
        end(member, [&](const Holder& holder) {
          must(__LINE__, os_.signal_process(holder.process.get(), os::Signal::kill).has_value());
        });
        break;
      default:
        kill_tracker();
    }
  }

  /// The tracker's counts are those of the model, and every held file exists.
  void check() {
    must(__LINE__, root_->probe().has_value());
    const auto counts = root_->counts();
    must(__LINE__, counts.has_value());
    std::map<int, std::map<os::Pid, std::uint64_t>> seen;
    for (const tracker::Count& each : *counts) {
      const int name = each.resource.name.back() - '0';
      must(__LINE__, each.resource == resource_of(files_, name));
      seen[name][each.holder] += each.count;
    }
    must(__LINE__, seen == counts_, [&] {
      return rc::toString(seen) + " is counted, and " + rc::toString(counts_) + " is true";
    });
    for (const auto& [name, holders_of_it] : counts_) {
      must(__LINE__, std::filesystem::exists(resource_of(files_, name).name));
    }
  }

  /// All holders leave. Only forgotten files remain.
  void finish() {
    for (int member = 1; member <= holders; ++member) {
      end(member, [&](const Holder& holder) { send(holder, leave, 0); });
    }
    const Holder witness = start(witness_entry);
    root_.reset();
    must(__LINE__, wait_for(os_, witness.process.get()) == os::ChildExit{});
    for (int name = 0; name < names; ++name) {
      const std::string path = resource_of(files_, name).name;
      must(__LINE__, std::filesystem::exists(path) <= forgotten_.contains(name));
      std::filesystem::remove(path);
    }
    std::filesystem::remove(files_);
    std::filesystem::remove(folder_.path("runtime"));
    must(__LINE__, folder_.names().empty());
  }

 private:
  bool lives(int member) const { return member == 0 || holders_.contains(member); }
  os::Pid pid_of(int member) { return member == 0 ? os_.process_id() : holders_.at(member).pid; }
  std::uint64_t held_by(int member, int name) {
    const auto found = counts_.find(name);
    return found == counts_.end() || !found->second.contains(pid_of(member))
               ? 0
               : found->second.at(pid_of(member));
  }

  void drop(int name, os::Pid pid, std::uint64_t count) {
    auto& of_name = counts_[name];
    if ((of_name[pid] -= count) == 0) {
      of_name.erase(pid);
    }
    if (of_name.empty()) {
      counts_.erase(name);
    }
  }

  /// Starts a process that first reports whether it could begin.
  Holder start(const char* entry) {
    const auto down = os_.make_pipe();
    const auto up = os_.make_pipe();
    must(__LINE__, down.has_value());
    must(__LINE__, up.has_value());
    const os::UniqueFd read(os_, down->read);
    const os::UniqueFd write(os_, up->write);
    const auto child = os_.spawn({.entry = entry,
                                  .arguments = {tree_, files_},
                                  .fds = {{.here = read.get(), .number_there = 3},
                                          {.here = write.get(), .number_there = 4},
                                          {.here = life_.get(), .number_there = 5}},
                                  .blocked = {}});
    must(__LINE__, child.has_value());
    Holder started{.pid = child->pid,
                   .process = os::UniqueFd(os_, child->process),
                   .orders = os::UniqueFd(os_, down->write),
                   .answers = os::UniqueFd(os_, up->read)};
    must(__LINE__, started.answered(os_));
    return started;
  }

  void send(const Holder& holder, char order, int name) {
    const std::array bytes = {static_cast<std::byte>(order), static_cast<std::byte>(name)};
    must(__LINE__, os::write_all(os_, holder.orders.get(), bytes).has_value());
  }

  /// Starts the holder first if it is not running.
  bool tell(int member, char order, int name) {
    if (member == 0) {
      return execute(os_, *root_, files_, order, name);
    }
    if (!lives(member)) {
      holders_[member] = start(holder_entry);
    }
    send(holders_.at(member), order, name);
    return holders_.at(member).answered(os_);
  }

  template <typename How>
  void end(int member, How how) {
    const auto found = holders_.find(member);
    if (found == holders_.end()) {
      return;
    }
    how(found->second);
    static_cast<void>(wait_for(os_, found->second.process.get()));
    for (int name = 0; name < names; ++name) {
      if (const std::uint64_t held = held_by(member, name); held > 0) {
        drop(name, found->second.pid, held);
      }
    }
    holders_.erase(found);
  }

  void kill_tracker() {
    const auto child =
        os_.spawn({.entry = killer_entry, .arguments = {tree_}, .fds = {}, .blocked = {}});
    must(__LINE__, child.has_value());
    const os::UniqueFd process(os_, child->process);
    must(__LINE__, wait_for(os_, process.get()) == os::ChildExit{});
  }

  pretend::FreshFolder folder_;
  os::KernelOs os_{{.program = this_program()}};
  std::unique_ptr<tracker::Client> root_;
  std::string tree_;
  std::string files_;
  /// Strangers run until this pipe is closed, which is after the end of the tree.
  os::UniqueFd life_;
  os::UniqueFd end_of_life_;
  std::map<int, Holder> holders_;
  std::map<int, std::map<os::Pid, std::uint64_t>> counts_;  ///< name, holder: the model
  std::set<int> forgotten_;
};

rc::Gen<Step> any_step() {
  // Killing the tracker is rarer than the rest: it costs more.
  return rc::gen::tuple(rc::gen::weightedElement<int>({{6, to_take},
                                                       {4, to_hold},
                                                       {5, to_release},
                                                       {1, to_forget},
                                                       {1, to_speak_in_a_child},
                                                       {1, to_fork},
                                                       {1, to_leave},
                                                       {2, to_kill},
                                                       {1, to_kill_tracker}}),
                        rc::gen::inRange(0, holders + 1),
                        rc::gen::inRange(0, names));
}

RC_GTEST_PROP(RealTracker,
              counts_what_processes_hold_that_work_fork_leave_and_are_killed_T3_T6_T8_T9_T11,
              ()) {
  const auto steps = *rc::gen::container<std::vector<Step>>(any_step());
  Play play;
  for (const Step& step : steps) {
    play.perform(step);
    play.check();
  }
  play.finish();
}

std::string program_of_test() {
  return std::filesystem::read_symlink("/proc/self/exe");
}

TEST(RealTracker, cleans_up_where_a_relative_name_was_given_wherever_anybody_goes_later_E2_T4) {
  const pretend::FreshFolder folder;
  os::KernelOs os{{.program = program_of_test()}};
  auto client = tracker::Client::lead(os, {.runtime_folder = folder.path("runtime")});
  for (const char* where : {"here", "there"}) {
    folder.make_folder(where);
    folder.make_folder(std::string(where) + "/folder");
    folder.write(std::string(where) + "/folder/inside");
    folder.write(std::string(where) + "/file");
  }
  const Resource file{.type = ResourceType::file, .name = "file"};
  const Resource inner{.type = ResourceType::folder, .name = "folder"};
  {
    const pretend::WorkingFolder here(folder.path("here"));
    for (const Resource& name : {file, inner}) {
      ASSERT_TRUE(client->register_name(name));
      ASSERT_TRUE(client->hold(name));
      ASSERT_TRUE(client->release(name));
    }
    const auto counts = client->counts();
    ASSERT_TRUE(counts);
    ASSERT_EQ(counts->size(), 2U);
    EXPECT_TRUE(counts->front().resource.name.starts_with('/'));
  }
  {
    const pretend::WorkingFolder there(folder.path("there"));
    // From here it is a different name, one that the tracker does not know.
    EXPECT_TRUE(client->forget(file));
    EXPECT_EQ(client->counts()->size(), 2U);
  }
  const pretend::WorkingFolder here(folder.path("here"));
  for (const Resource& name : {file, inner}) {
    ASSERT_TRUE(client->release(name));
  }
  pretend::until([&] { return !folder.exists("here/file") && !folder.exists("here/folder"); });
  EXPECT_TRUE(folder.exists("there/file"));
  EXPECT_TRUE(folder.exists("there/folder/inside"));
  folder.remove("here");
  folder.remove("there");
  client.reset();
  pretend::until([&] { return !folder.exists("runtime"); });
}

TEST(RealTracker, removes_what_was_made_and_nothing_else_of_that_name_E4_T4) {
  const pretend::FreshFolder folder;
  os::KernelOs os{{.program = program_of_test()}};
  auto client = tracker::Client::lead(os, {.runtime_folder = folder.path("runtime")});
  const auto thing = [&](const char* name) {
    return Resource{.type = ResourceType::file, .name = folder.path(name)};
  };
  const auto identity = [&](const char* name) {
    const auto status = os.status_at(folder.path(name));
    return Identity{.device = status->device, .inode = status->inode, .btime = status->btime};
  };
  // Each file is created under another name, registered under this one, and renamed. Then one is
  // replaced.
  for (const char* name : {"ours", "replaced"}) {
    folder.write("made");
    ASSERT_TRUE(client->register_name(thing(name), identity("made")));
    std::filesystem::rename(folder.path("made"), folder.path(name));
  }
  folder.write("later");
  ASSERT_TRUE(client->register_name(thing("later")));
  ASSERT_TRUE(client->identify(thing("later"), identity("later")));
  for (const char* name : {"replaced", "later"}) {
    folder.write("another", "another user's");
    std::filesystem::rename(folder.path("another"), folder.path(name));
  }
  for (const char* name : {"replaced", "later", "ours"}) {
    ASSERT_TRUE(client->release(thing(name)));
  }
  pretend::until([&] { return !folder.exists("ours"); });
  for (const char* name : {"replaced", "later"}) {
    EXPECT_EQ(folder.read(name), "another user's");
    folder.remove(name);
  }
  client.reset();
  pretend::until([&] { return !folder.exists("runtime"); });
}

}  // namespace
}  // namespace lastref

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const std::string entry = words.empty() ? std::string() : words.front();
  const std::vector<std::string> arguments(words.empty() ? words.end() : words.begin() + 1,
                                           words.end());
  lastref::os::KernelOs os;
  if (entry == lastref::tracker::entry_point) {
    return lastref::tracker::run(os, arguments);
  }
  if (entry == lastref::holder_entry) {
    return lastref::be_holder(os, arguments);
  }
  if (entry == lastref::witness_entry) {
    return lastref::be_witness(os, arguments);
  }
  if (entry == lastref::killer_entry) {
    return lastref::be_killer(os, arguments);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
