// os_contract_entries: what the child processes of the contract tests do. They know nothing of
// gtest.
#include <algorithm>
#include <array>
#include <fstream>

#include <lastref/kernel_os.hpp>

#include "property_tests/impl/os/contract.hpp"

namespace lastref::contract {

using os::Fd;
using os::Os;
using Arguments = std::span<const std::string>;

namespace {

constexpr int went_wrong = 99;
constexpr std::size_t fill_size = std::size_t{1} << 16U;
constexpr Fd three{3};
constexpr Fd four{4};

void write_text(Os& os, Fd fd, std::string_view text) {
  static_cast<void>(os::write_all(os, fd, os::bytes_of(text)));
}

/// Waits until no process has the other end of the pipe or socket.
int wait_until_over(Os& os, Fd fd) {
  std::array items = {os::PollItem{.fd = fd}};
  const auto count = os::retry_interrupted([&] { return os.poll(items, patience); });
  return count.value_or(0) == 1 && items[0].hung_up ? 0 : went_wrong;
}

os::LockRange range_of(Arguments arguments) {
  return {.kind = arguments[0] == "shared" ? os::LockKind::shared : os::LockKind::exclusive,
          .start = std::stoull(arguments[1]),
          .length = std::stoull(arguments[2])};
}

/// {code}: exits with it.
int exit_with(Os&, Arguments arguments) {
  return std::stoi(arguments[0]);
}

/// Writes its arguments to 3, one a line.
int say(Os& os, Arguments arguments) {
  for (const std::string& argument : arguments) {
    write_text(os, three, argument + "\n");
  }
  return 0;
}

/// Writes its pid to 3.
int say_id(Os& os, Arguments) {
  write_text(os, three, std::to_string(os.process_id()));
  return 0;
}

/// Writes its token to 3.
int say_token(Os& os, Arguments) {
  write_text(os, three, std::to_string(os.process_token()));
  return 0;
}

/// Writes to 3 the values of the variables that its arguments name, one a line, or "none".
int say_environment(Os& os, Arguments arguments) {
  for (const std::string& name : arguments) {
    write_text(os, three, os.environment(name).value_or("none") + "\n");
  }
  return 0;
}

/// Has {entry, arguments...} write its output to this process's 3.
int pass_on(Os& os, Arguments arguments) {
  const auto child = os.spawn({.entry = arguments[0],
                               .arguments = {arguments.begin() + 1, arguments.end()},
                               .fds = {{.here = three, .number_there = 3}},
                               .blocked = {}});
  return child && wait_for(os, child->process) ? 0 : went_wrong;
}

/// Dies of a kill that one of its threads sends.
int kill_itself(Os& os, Arguments) {
  const auto thread = os.start_thread([&os] {
    if (const auto self = os.open_process(os.process_id())) {
      static_cast<void>(os.signal_process(*self, os::Signal::kill));
    }
  });
  if (thread) {
    (*thread)->join();
  }
  return went_wrong;
}

/// Runs until the other end of 3 is closed.
int wait(Os& os, Arguments) {
  return wait_until_over(os, three);
}

/// Writes "three" to 3 and "four" to 4.
int say_numbers(Os& os, Arguments) {
  write_text(os, three, "three");
  write_text(os, four, "four");
  return 0;
}

/// Starts say_numbers with its own 3 and 4 swapped.
int swap_fds(Os& os, Arguments) {
  auto child =
      os.spawn({.entry = "say_numbers",
                .arguments = {},
                .fds = {{.here = three, .number_there = 4}, {.here = four, .number_there = 3}},
                .blocked = {}});
  if (!child) {
    return went_wrong;
  }
  return wait_for(os, child->process) ? 0 : went_wrong;
}

/// Exits with the number of its descriptors, not counting the standard three.
int count_fds(Os& os, Arguments) {
  int count = 0;
  for (int i = 3; i < 256; ++i) {
    count += os.status(Fd{i}) ? 1 : 0;
  }
  return count;
}

/// Exits with how many of 0, 1 and 2 it has.
int count_standard(Os& os, Arguments) {
  int count = 0;
  for (const int number : {0, 1, 2}) {
    count += os.status(Fd{number}) ? 1 : 0;
  }
  return count;
}

/// Every kind of descriptor, made in that folder; nothing remains there.
Result<std::vector<Fd>> one_of_each(Os& os, const std::string& folder) {
  std::vector<Fd> made;
  LASTREF_TRY(file, os.open(folder + "/made", {.write = true, .create = true}));
  made.push_back(file);
  LASTREF_TRY(same, os.open(folder, {.folder = true}));
  made.push_back(same);
  LASTREF_TRY(door, os.make_socket());
  made.push_back(door);
  LASTREF_CHECK(os.bind(door, folder + "/door"));
  LASTREF_CHECK(os.listen(door));
  LASTREF_TRY(left, os.make_socket());
  made.push_back(left);
  LASTREF_CHECK(os.connect(left, folder + "/door"));
  LASTREF_TRY(right, os.accept(door));
  made.push_back(right);
  LASTREF_TRY(ends, os.make_pipe());
  made.insert(made.end(), {ends.read, ends.write});
  const std::array sent = {file, same, ends.read};
  LASTREF_CHECK(os.send(left, os::bytes_of("m"), sent));
  std::array<std::byte, 8> buffer{};
  LASTREF_TRY(received, os.receive(right, buffer));
  made.insert(made.end(), received.fds.begin(), received.fds.end());
  LASTREF_TRY(self, os.open_process(os.process_id()));
  made.push_back(self);
  const std::string name = "/lastref_" + folder.substr(folder.rfind('/') + 1);
  LASTREF_TRY(memory, os.create_shm(name, 0600));
  made.push_back(memory);
  LASTREF_CHECK(os.unlink_shm(name));
  LASTREF_CHECK(os.create_semaphore(name, 0600));
  LASTREF_CHECK(os.unlink_semaphore(name));
  LASTREF_CHECK(os.unlink(folder + "/door"));
  LASTREF_CHECK(os.unlink(folder + "/made"));
  return made;
}

/// {numbers, folder}: closes these of 0, 1 and 2, makes one of each kind of descriptor, and has a
/// child count its standard ones. Does so twice, because the second time may differ. Exits with 0
/// if no number was below 3, the closed ones are still closed, and the child had all three.
int make_without(Os& os, Arguments arguments) {
  for (const char digit : arguments[0]) {
    static_cast<void>(os.close(Fd{digit - '0'}));
  }
  for (int i = 0; i < 2; ++i) {
    const auto made = one_of_each(os, arguments[1]);
    if (!made) {
      return went_wrong;
    }
    for (const Fd fd : *made) {
      if (static_cast<int>(fd) < 3 || !os.close(fd)) {
        return 3;
      }
    }
    const auto child =
        os.spawn({.entry = "count_standard", .arguments = {}, .fds = {}, .blocked = {}});
    if (!child || static_cast<int>(child->process) < 3 || !wait_for(os, child->process)) {
      return 4;
    }
    const auto exit = os.wait_child(child->process);
    if (!exit || *exit != os::ChildExit{.code = 3, .killed = false}) {
      return 5;
    }
    static_cast<void>(os.close(child->process));
  }
  return count_standard(os, {}) == 3 - static_cast<int>(arguments[0].size()) ? 0 : 6;
}

/// Exits with the number of processors that it sees, up to 255.
int count_processors(Os& os, Arguments) {
  return static_cast<int>(os.processors());
}

/// {path, kind, start, length}: writes to 4 whether it "locked" or was "refused", and runs until
/// the other end of 3 is closed.
int lock(Os& os, Arguments arguments) {
  const auto file = os::open_file(os, arguments[0], {.write = true});
  if (!file) {
    return went_wrong;
  }
  const Status locked = os.lock_range(file->get(), range_of(arguments.subspan(1)));
  write_text(os, four, locked ? "locked" : "refused");
  return wait_until_over(os, three);
}

/// {path}: connects to it, sends "hello", and runs until the other end of 3 is closed.
int connect(Os& os, Arguments arguments) {
  const auto socket = os.make_socket();
  if (!socket || !os.connect(*socket, arguments[0]) || !send_text(os, *socket, "hello")) {
    return went_wrong;
  }
  return wait_until_over(os, three);
}

/// Ignores and unblocks interrupt and terminate, writes "ready" to 4, and runs until the other end
/// of 3 is closed.
int ignore_signals(Os& os, Arguments) {
  for (const os::Signal signal : {os::Signal::interrupt, os::Signal::terminate}) {
    if (!os.ignore_signal(signal) || !os.unblock_signal(signal)) {
      return went_wrong;
    }
  }
  write_text(os, four, "ready");
  return wait_until_over(os, three);
}

/// Ignores interrupt, and interrupts a child. Exits with 100 + the number of the signal that killed
/// the child.
int interrupt_child(Os& os, Arguments) {
  if (!os.ignore_signal(os::Signal::interrupt)) {
    return went_wrong;
  }
  const auto child = os.spawn({.entry = "wait",
                               .arguments = {},
                               .fds = {{.here = three, .number_there = 3}},
                               .blocked = {}});
  if (!child || !os.signal_process(child->process, os::Signal::interrupt) ||
      !wait_for(os, child->process)) {
    return went_wrong;
  }
  const auto exit = os.wait_child(child->process);
  return exit && *exit && (*exit)->killed ? 100 + (*exit)->code : went_wrong;
}

/// Its actions for the end of a process, kept until the last of them runs: entries return before.
class Farewells {
 public:
  static std::shared_ptr<Farewells> at_exit(Os& os) {
    auto made = std::make_shared<Farewells>();
    made->hooks_.push_back(os.at_exit([made] { made->hooks_.clear(); }));
    return made;
  }

  /// Returns the index of the action.
  std::size_t add(Os& os, std::function<void()> action) {
    hooks_.push_back(os.at_exit(std::move(action)));
    return hooks_.size() - 1;
  }
  void take_back(std::size_t which) { hooks_[which].reset(); }

 private:
  std::vector<std::unique_ptr<os::ExitHook>> hooks_;
};

/// Writes its arguments to 3 at exit: each is an action, registered in their order.
int say_at_exit(Os& os, Arguments arguments) {
  const auto farewells = Farewells::at_exit(os);
  for (const std::string& argument : arguments) {
    farewells->add(os, [&os, argument] { write_text(os, three, argument + "\n"); });
  }
  return 7;
}

/// Has actions that write "a" to "e" to 3. "b" is removed at once, and "a" by "c", which also
/// registers "f".
int change_exit(Os& os, Arguments) {
  const auto farewells = Farewells::at_exit(os);
  const auto say = [&os](const char* text) { return [&os, text] { write_text(os, three, text); }; };
  const std::size_t a = farewells->add(os, say("a"));
  const std::size_t b = farewells->add(os, say("b"));
  farewells->add(os, [&os, a, say, list = farewells.get()] {
    write_text(os, three, "c");
    list->take_back(a);
    list->add(os, say("f"));
  });
  farewells->add(os, say("d"));
  farewells->add(os, say("e"));
  farewells->take_back(b);
  return 0;
}

/// Writes "ready" to 4, runs until the other end of 3 is closed, and writes "over" to 4 at exit.
int wait_and_say(Os& os, Arguments) {
  const auto farewells = Farewells::at_exit(os);
  farewells->add(os, [&os] { write_text(os, four, "over"); });
  write_text(os, four, "ready");
  return wait_until_over(os, three);
}

/// Registers an action when it is destroyed.
struct LateSpeaker {
  explicit LateSpeaker(Os& the_os) : os(the_os) {}
  LateSpeaker(const LateSpeaker&) = delete;
  LateSpeaker& operator=(const LateSpeaker&) = delete;
  ~LateSpeaker() {
    late = os.at_exit([this] { write_text(os, three, "late "); }).release();
  }

  Os& os;
  const os::ExitHook* late = nullptr;
};

/// Writes "first " to 3 at exit, and "late " when its static objects are destroyed. For a real
/// process.
int say_late(Os& os, Arguments) {
  // Made before the first action is registered, so destroyed after it has run.
  static const LateSpeaker speaker(os);
  Farewells::at_exit(os)->add(os, [&os] { write_text(os, three, "first "); });
  return 0;
}

/// {path}: has a file open there, under the lowest number, writes "mine" to it, and reports a
/// message. For a real process.
int report_beside(Os& os, Arguments arguments) {
  std::ofstream file(arguments[0]);
  file << "mine" << std::flush;
  os::report_quietly(os, "a message");
  return file ? 0 : went_wrong;
}

/// Starts the program named lastref, whatever that is; exits with the errno. For a real process.
int start_lastref(Os&, Arguments) {
  os::KernelOs nameless;
  const auto child = nameless.spawn({.entry = "e", .arguments = {}, .fds = {}, .blocked = {}});
  if (child) {
    wait_for(nameless, child->process);
  }
  return child ? 0 : static_cast<int>(child.error().code);
}

/// {path}: writes to a new file there until that fails; exits with the errno.
int fill(Os& os, Arguments arguments) {
  const auto file = os::open_file(os, arguments[0], {.write = true, .create = true});
  if (!file) {
    return went_wrong;
  }
  const std::string text(fill_size, 'x');
  const Status written = os::write_all(os, file->get(), os::bytes_of(text));
  return written ? 0 : static_cast<int>(written.error().code);
}

/// Answers each message on socket 3, until it ends.
int echo(Os& os, Arguments) {
  std::array<std::byte, 256> buffer{};
  for (;;) {
    if (!wait_for(os, three)) {
      return went_wrong;
    }
    const auto received = os.receive(three, buffer);
    if (!received || received->size == 0) {
      return received ? 0 : went_wrong;
    }
    if (!os.send(three, os::Bytes(buffer).first(received->size), received->fds)) {
      return went_wrong;
    }
  }
}

constexpr Entry table[] = {
    {"exit_with", exit_with},
    {"say", say},
    {"say_id", say_id},
    {"say_token", say_token},
    {"say_environment", say_environment},
    {"pass_on", pass_on},
    {"kill_itself", kill_itself},
    {"wait", wait},
    {"say_numbers", say_numbers},
    {"swap_fds", swap_fds},
    {"count_fds", count_fds},
    {"count_standard", count_standard},
    {"make_without", make_without},
    {"count_processors", count_processors},
    {"lock", lock},
    {"connect", connect},
    {"ignore_signals", ignore_signals},
    {"interrupt_child", interrupt_child},
    {"say_at_exit", say_at_exit},
    {"change_exit", change_exit},
    {"wait_and_say", wait_and_say},
    {"say_late", say_late},
    {"report_beside", report_beside},
    {"start_lastref", start_lastref},
    {"fill", fill},
    {"echo", echo},
};

}  // namespace

std::span<const Entry> entries() noexcept {
  return table;
}

}  // namespace lastref::contract
