// kernel_os_test: what KernelOs promises beyond the contract, observed through /proc.
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <lastref/kernel_os.hpp>

#include "property_tests/impl/os/contract.hpp"
#include "property_tests/support/exclusive_lock.hpp"
#include "property_tests/support/fresh_folder.hpp"
#include "property_tests/support/process_actions.hpp"

namespace lastref {
namespace {

using contract::fails;
using contract::Pair;
using contract::Pipe;
using contract::Running;
using contract::Scene;
using contract::value_of;
using contract::worked;
using os::bytes_of;
using os::Fd;
using os::KernelOs;
using os::UniqueFd;

class KernelOsAlone : public contract::OsContract {};
INSTANTIATE_TEST_SUITE_P(On,
                         KernelOsAlone,
                         testing::Values(contract::kernel_fixture()),
                         [](const auto& row) { return std::string(row.param.name); });

/// The text of a file of /proc, which reports no size.
std::string proc_text(os::Os& os, const std::string& path) {
  const UniqueFd file = value_of(os::open_file(os, path, {}));
  std::string text;
  for (std::string piece = contract::read_some(os, file.get()); !piece.empty();
       piece = contract::read_some(os, file.get())) {
    text += piece;
  }
  return text;
}

/// A line "Name:\tvalue" of a file of /proc, as a number.
std::uint64_t proc_number(os::Os& os, const std::string& path, const std::string& name, int base) {
  const std::string text = proc_text(os, path);
  const std::size_t at = text.find(name + ":");
  EXPECT_NE(at, std::string::npos) << path << " has no " << name;
  return at == std::string::npos ? 0
                                 : std::stoull(text.substr(at + name.size() + 1), nullptr, base);
}

std::uint64_t mask_of(os::Os& os, const std::string& process, const std::string& which) {
  return proc_number(os, "/proc/" + process + "/status", which, 16);
}

std::uint64_t flags_of(os::Os& os, Fd fd) {
  const std::string number = std::to_string(static_cast<int>(fd));
  return proc_number(os, "/proc/self/fdinfo/" + number, "flags", 8);
}

constexpr std::uint64_t close_on_exec = 02000000;
constexpr std::uint64_t never_blocks = 04000;
constexpr std::uint64_t bit_of_interrupt = 1U << 1U;
/// 32 and 33, which posix_spawn ignores in the child; the C library sets them up when it needs
/// them.
constexpr std::uint64_t bits_of_glibc = 3ULL << 31U;
constexpr std::uint64_t bit_of_sigpipe = 1U << 12U;
constexpr std::uint64_t bit_of_sigxfsz = 1U << 24U;
constexpr std::uint64_t bit_of_terminate = 1U << 14U;

std::string children_of_this_thread(os::Os& os) {
  return proc_text(os, "/proc/thread-self/children");
}

TEST_P(KernelOsAlone, every_descriptor_is_close_on_exec_and_sockets_and_pipes_never_block) {
  act([](Scene& scene) {
    os::Os& os = scene.os();
    const UniqueFd file = scene.create("file");
    const UniqueFd memory(os, value_of(os.create_shm(scene.unique_name(), 0600)));
    const UniqueFd process(os, value_of(os.open_process(os.process_id())));
    const Pair pair = scene.pair();
    const Pipe pipe = scene.pipe();
    const std::array fds = {file.get()};
    EXPECT_TRUE(worked(os.send(pair.left.get(), bytes_of("m"), fds)));
    std::array<std::byte, 8> buffer{};
    const os::Received received = value_of(os.receive(pair.right.get(), buffer));
    ASSERT_EQ(received.fds.size(), 1U);
    const UniqueFd copy(os, received.fds[0]);
    for (const UniqueFd* const fd : {&file, &memory, &process, &copy}) {
      EXPECT_TRUE(flags_of(os, fd->get()) & close_on_exec);
    }
    for (const UniqueFd* const fd : {&pair.left, &pair.right, &pipe.read, &pipe.write}) {
      EXPECT_TRUE(flags_of(os, fd->get()) & close_on_exec);
      EXPECT_TRUE(flags_of(os, fd->get()) & never_blocks);
    }
    EXPECT_TRUE(worked(os.unlink_shm(scene.unique_name())));
    scene.remove("file");
  });
}

TEST_P(KernelOsAlone, a_path_with_a_nul_in_it_is_not_a_shorter_path) {
  act([](Scene& scene) {
    scene.create("file");
    const std::string path = scene.path("file") + std::string("\0tail", 5);
    constexpr auto invalid = std::errc::invalid_argument;
    EXPECT_TRUE(fails(scene.os().open(path, {}), Call::open, invalid));
    EXPECT_TRUE(fails(scene.os().status_at(path), Call::status_at, invalid));
    EXPECT_TRUE(fails(scene.os().unlink(path), Call::unlink, invalid));
    EXPECT_TRUE(fails(scene.os().make_folder(path, 0700), Call::make_folder, invalid));
    EXPECT_TRUE(fails(scene.os().remove_folder(path), Call::remove_folder, invalid));
    EXPECT_TRUE(fails(scene.os().create_shm(path, 0600), Call::create_shm, invalid));
    EXPECT_TRUE(fails(scene.os().unlink_shm(path), Call::unlink_shm, invalid));
    EXPECT_TRUE(fails(scene.os().create_semaphore(path, 0600), Call::create_semaphore, invalid));
    EXPECT_TRUE(fails(scene.os().unlink_semaphore(path), Call::unlink_semaphore, invalid));
    const UniqueFd socket(scene.os(), value_of(scene.os().make_socket()));
    EXPECT_TRUE(fails(scene.os().bind(socket.get(), std::string(1, '\0')), Call::bind, invalid));
    scene.remove("file");
  });
}

TEST_P(KernelOsAlone, what_is_no_socket_or_no_file_has_no_peer_and_no_lock) {
  act([](Scene& scene) {
    const Pipe pipe = scene.pipe();
    EXPECT_TRUE(fails(scene.os().peer_of(pipe.read.get()), Call::peer_of, std::errc::not_a_socket));
    constexpr Fd nobodys{1'000'000'000};
    EXPECT_TRUE(
        fails(scene.os().find_lock(nobodys, {}), Call::find_lock, std::errc::bad_file_descriptor));
  });
}

TEST_P(KernelOsAlone, a_locked_folder_is_passed_over_by_what_removes_by_age) {
  act([](Scene& scene) {
    ASSERT_TRUE(worked(scene.os().make_folder(scene.path("folder"), 0700)));
    UniqueFd ours = scene.open(scene.path("folder"), {.folder = true});
    const pretend::ExclusiveLock theirs(scene.path("folder"));
    ASSERT_TRUE(theirs.can_be_had());
    EXPECT_TRUE(fails(scene.os().lock_folder(ours.get()),
                      Call::lock_folder,
                      std::errc::resource_unavailable_try_again));
    theirs.give_back();
    EXPECT_TRUE(worked(scene.os().lock_folder(ours.get())));
    EXPECT_FALSE(theirs.can_be_had());
    ours.close_quietly();
    EXPECT_TRUE(theirs.can_be_had());
    EXPECT_TRUE(worked(scene.os().remove_folder(scene.path("folder"))));
  });
}

TEST_P(KernelOsAlone, a_working_folder_that_was_removed_has_no_path) {
  act([](Scene& scene) {
    const pretend::Nowhere nowhere;
    EXPECT_TRUE(fails(
        scene.os().working_folder(), Call::working_folder, std::errc::no_such_file_or_directory));
  });
}

TEST_P(KernelOsAlone, a_spawn_leaves_the_signal_mask_of_its_caller_alone) {
  act([](Scene& scene) {
    const std::uint64_t before = mask_of(scene.os(), "thread-self", "SigBlk");
    Running child(
        scene.os(),
        {.entry = "exit_with", .arguments = {"0"}, .fds = {}, .blocked = {os::Signal::interrupt}});
    EXPECT_EQ(mask_of(scene.os(), "thread-self", "SigBlk"), before);
  });
}

TEST_P(KernelOsAlone, a_thread_gets_no_signals_but_its_children_do) {
  act([](Scene& scene) {
    os::Os& os = scene.os();
    const Pipe until = scene.pipe();
    const auto thread = value_of(os.start_thread([&] {
      const std::uint64_t blocked = mask_of(os, "thread-self", "SigBlk");
      EXPECT_TRUE(blocked & bit_of_interrupt);
      EXPECT_TRUE(blocked & bit_of_terminate);
      Running child(os,
                    {.entry = "wait",
                     .arguments = {},
                     .fds = {{.here = until.read.get(), .number_there = 3}},
                     .blocked = {os::Signal::interrupt}});
      const std::string pid = std::to_string(child.pid());
      EXPECT_EQ(mask_of(os, pid, "SigBlk"), bit_of_interrupt);
      // Its own KernelOs may have been made already.
      EXPECT_EQ(mask_of(os, pid, "SigIgn") & ~bits_of_glibc & ~bit_of_sigxfsz, 0U);
    }));
    thread->join();
  });
}

/// A shell that runs `script` with `arguments` as its first two arguments; 3 is `three`.
Running in_shell(const std::string& script, std::vector<std::string> arguments, Fd three) {
  static KernelOs shell({.program = "/bin/sh"});
  arguments.insert(arguments.begin(), script);
  return Running(shell,
                 {.entry = "-c",
                  .arguments = std::move(arguments),
                  .fds = {{.here = three, .number_there = 3}},
                  .blocked = {}});
}

TEST_P(KernelOsAlone, a_child_has_the_default_action_of_what_is_ignored_here) {
  act([](Scene& scene) {
    os::Os& os = scene.os();
    EXPECT_TRUE(mask_of(os, "self", "SigIgn") & bit_of_sigxfsz);
    Pipe pipe = scene.pipe();
    Running child = in_shell("exec cat /proc/self/status >&3", {}, pipe.write.get());
    pipe.write.close_quietly();
    const std::string text = contract::read_some(os, pipe.read.get());
    EXPECT_EQ(child.end(), os::ChildExit{});
    const std::size_t at = text.find("SigIgn:");
    ASSERT_NE(at, std::string::npos);
    EXPECT_EQ(std::stoull(text.substr(at + 7), nullptr, 16) & ~bits_of_glibc, 0U);
  });
}

TEST_P(KernelOsAlone, a_write_beyond_the_limit_of_a_files_size_is_an_error_and_no_death) {
  act([](Scene& scene) {
    const std::string program = std::filesystem::read_symlink("/proc/self/exe");
    const Pipe pipe = scene.pipe();
    // In blocks of 512 bytes. sh(1p), ulimit
    Running child = in_shell(
        "ulimit -f 8; exec \"$0\" fill \"$1\"", {program, scene.path("file")}, pipe.write.get());
    EXPECT_EQ(child.end(), (os::ChildExit{.code = EFBIG, .killed = false}));
    EXPECT_EQ(value_of(scene.os().status_at(scene.path("file"))).size, 4096U);
    scene.remove("file");
  });
}

using KernelOsDeathTest = KernelOsAlone;
INSTANTIATE_TEST_SUITE_P(On,
                         KernelOsDeathTest,
                         testing::Values(contract::kernel_fixture()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_P(KernelOsDeathTest, a_forked_child_runs_its_own_actions_and_not_those_of_its_parent) {
  act([](Scene& scene) {
    os::Os& os = scene.os();
    const Pipe pipe = scene.pipe();
    const auto say = [&](const char* text) {
      return [&os, &pipe, text] {
        static_cast<void>(os::write_all(os, pipe.write.get(), bytes_of(text)));
      };
    };
    const auto first = os.at_exit(say("parent "));
    EXPECT_EXIT(
        {
          const auto own = os.at_exit(say("child "));
          const auto last = os.at_exit(say("last "));
          // NOLINTNEXTLINE(concurrency-mt-unsafe): a fork has no other threads.
          std::exit(7);
        },
        testing::ExitedWithCode(7),
        "");
    EXPECT_EQ(contract::read_some(os, pipe.read.get()), "last child ");
  });
}

TEST_P(KernelOsAlone, what_is_registered_when_the_actions_have_run_runs_as_well) {
  act([](Scene& scene) {
    Pipe pipe = scene.pipe();
    Running child(scene.os(),
                  {.entry = "say_late",
                   .arguments = {},
                   .fds = {{.here = pipe.write.get(), .number_there = 3}},
                   .blocked = {}});
    pipe.write.close_quietly();
    EXPECT_EQ(child.end(), os::ChildExit{});
    EXPECT_EQ(contract::read_some(scene.os(), pipe.read.get()), "first late ");
  });
}

TEST_P(KernelOsAlone, a_broken_pipe_leaves_no_signal_behind) {
  act([](Scene& scene) {
    os::Os& os = scene.os();
    Pipe pipe = scene.pipe();
    pipe.read.close_quietly();
    const auto thread = value_of(os.start_thread([&] {
      EXPECT_FALSE(os.write(pipe.write.get(), bytes_of("m")));
      EXPECT_EQ(mask_of(os, "thread-self", "SigPnd"), 0U);
    }));
    thread->join();
    EXPECT_FALSE(os.write(pipe.write.get(), bytes_of("m")));
    EXPECT_FALSE(mask_of(os, "thread-self", "SigBlk") & bit_of_sigpipe);
  });
}

TEST_P(KernelOsAlone, a_broken_pipe_leaves_a_signal_that_somebody_else_has_sent) {
  act([](Scene& scene) {
    Pipe pipe = scene.pipe();
    pipe.read.close_quietly();
    pretend::hold_back_a_broken_pipe();
    const auto written = scene.os().write(pipe.write.get(), bytes_of("m"));
    EXPECT_TRUE(fails(written, Call::write, std::errc::broken_pipe));
    EXPECT_TRUE(pretend::take_broken_pipe());
  });
}

TEST_P(KernelOsAlone, a_program_that_is_missing_leaves_no_child) {
  act([](Scene& scene) {
    constexpr auto missing = std::errc::no_such_file_or_directory;
    KernelOs with_path({.program = scene.path("missing")});
    KernelOs with_name({.program = "lastref_no_such_program"});
    const os::SpawnOptions options{.entry = "e", .arguments = {}, .fds = {}, .blocked = {}};
    EXPECT_TRUE(fails(with_path.spawn(options), Call::spawn, missing));
    // Permission denied if PATH has folders that this user may not search. execvp(3).
    EXPECT_FALSE(with_name.spawn(options));
    EXPECT_EQ(with_name.spawn(options).error().subject, "lastref_no_such_program");
    EXPECT_EQ(children_of_this_thread(scene.os()), "");
  });
}

TEST_P(KernelOsAlone, a_program_that_is_not_named_is_looked_for_as_lastref) {
  act([](Scene& scene) {
    const std::string path = scene.os().environment("PATH").value_or("");
    pretend::set_variable("PATH", scene.path("missing"));
    const auto spawned =
        KernelOs().spawn({.entry = "e", .arguments = {}, .fds = {}, .blocked = {}});
    pretend::set_variable("PATH", path);
    ASSERT_TRUE(fails(spawned, Call::spawn, std::errc::no_such_file_or_directory));
    EXPECT_EQ(spawned.error().subject, "lastref");
    EXPECT_EQ(children_of_this_thread(scene.os()), "");
  });
}

TEST_P(KernelOsAlone, a_descriptor_that_a_stranger_left_open_is_not_inherited) {
  act([](Scene& scene) {
    const std::ofstream stranger(scene.path("file"));
    const Pipe pipe = scene.pipe();
    Running none(scene.os(), {.entry = "count_fds", .arguments = {}, .fds = {}, .blocked = {}});
    EXPECT_EQ(none.end().code, 0);
    Running one(scene.os(),
                {.entry = "count_fds",
                 .arguments = {},
                 .fds = {{.here = pipe.read.get(), .number_there = 200}},
                 .blocked = {}});
    EXPECT_EQ(one.end().code, 1);
    scene.remove("file");
  });
}

TEST_P(KernelOsAlone, without_a_free_descriptor_nothing_starts_and_nothing_is_left) {
  act([](Scene& scene) {
    os::Os& os = scene.os();
    const pretend::FewDescriptors few(200);
    constexpr auto full = std::errc::too_many_files_open;
    const Pair pair = scene.pair();
    const std::array fds = {pair.left.get()};
    EXPECT_TRUE(worked(os.send(pair.left.get(), bytes_of("m"), fds)));
    std::vector<UniqueFd> sockets;
    auto last = os.make_socket();
    while (last) {
      sockets.emplace_back(os, *last);
      last = os.make_socket();
    }
    EXPECT_TRUE(fails(last, Call::make_socket, full));
    std::vector<os::PollItem> more_than_may_be(201);
    EXPECT_TRUE(fails(os.poll(more_than_may_be, std::chrono::nanoseconds(0)),
                      Call::poll,
                      std::errc::invalid_argument));
    EXPECT_TRUE(fails(os.make_pipe(), Call::make_pipe, full));
    EXPECT_TRUE(
        fails(os.spawn({.entry = "exit_with", .arguments = {"0"}, .fds = {}, .blocked = {}}),
              Call::spawn,
              full));
    std::array<std::byte, 8> buffer{};
    const os::Received received = value_of(os.receive(pair.right.get(), buffer));
    EXPECT_TRUE(received.truncated);
    EXPECT_TRUE(received.fds.empty());
    EXPECT_EQ(received.size, 1U);
    sockets.clear();
    EXPECT_EQ(children_of_this_thread(os), "");
  });
}

TEST_P(KernelOsAlone, what_is_in_the_environment_has_a_value) {
  act([](Scene& scene) { EXPECT_TRUE(scene.os().environment("PATH").has_value()); });
}

TEST_P(KernelOsAlone, a_look_at_a_file_system_leaves_no_descriptor_E12) {
  act([](Scene& scene) {
    const auto open_here = [] {
      const std::filesystem::directory_iterator all("/proc/self/fd");
      return std::distance(begin(all), end(all));
    };
    const auto before = open_here();
    EXPECT_NE(value_of(scene.os().file_system(scene.folder())), 0U);
    EXPECT_FALSE(scene.os().file_system(scene.path("nowhere")));
    EXPECT_EQ(open_here(), before);
  });
}

TEST(KernelOsOfProcess, is_one_whoever_asks) {
  KernelOs& first = KernelOs::of_process({.program = "/bin/true"});
  EXPECT_EQ(&first, &KernelOs::of_process());
}

}  // namespace
}  // namespace lastref
