// kernel_os_embedded_test: KernelOs does not touch the descriptors, signals and children of the
// program that contains it.
#include <elf.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <thread>

#include <lastref/kernel_os.hpp>

#include "property_tests/impl/os/contract.hpp"
#include "property_tests/support/process_actions.hpp"
#include "property_tests/support/process_group.hpp"

namespace lastref {
namespace {

using contract::Pipe;
using contract::Running;
using contract::Scene;
using contract::value_of;
using contract::worked;
using os::ChildExit;
using os::KernelOs;
using os::UniqueFd;

class KernelOsEmbedded : public contract::OsContract {
 protected:
  /// How a shell ends that runs `script`; $0 is this program and $1 the scene's folder.
  static ChildExit end_of(Scene& scene, const std::string& script) {
    KernelOs shell({.program = "/bin/sh"});
    const std::string program = std::filesystem::read_symlink("/proc/self/exe");
    Running child(
        shell,
        {.entry = "-c", .arguments = {script, program, scene.folder()}, .fds = {}, .blocked = {}});
    return child.end();
  }
};
INSTANTIATE_TEST_SUITE_P(On,
                         KernelOsEmbedded,
                         testing::Values(contract::kernel_fixture()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_P(KernelOsEmbedded, what_the_program_has_closed_before_it_came_stays_closed_E1) {
  act([](Scene& scene) {
    for (const std::string closed : {"0", "1", "2", "01", "02", "12", "012"}) {
      std::string redirections;
      for (const char digit : closed) {
        redirections += std::string(" ") + digit + ">&-";
      }
      const std::string script = "exec \"$0\" make_without " + closed + " \"$1\"" + redirections;
      EXPECT_EQ(end_of(scene, script), ChildExit{}) << "without " << closed;
    }
  });
}

TEST_P(KernelOsEmbedded, no_message_lands_in_what_the_program_has_opened_as_2_E1) {
  act([](Scene& scene) {
    EXPECT_EQ(end_of(scene, "exec \"$0\" report_beside \"$1/file\" 2>&-"), ChildExit{});
    EXPECT_EQ(scene.text_of("file"), "mine");
    scene.remove("file");
    EXPECT_EQ(end_of(scene, "exec \"$0\" report_beside \"$1/file\" 2>\"$1/errors\""), ChildExit{});
    EXPECT_EQ(scene.text_of("file"), "mine");
    EXPECT_EQ(scene.text_of("errors"), "a message\n");
    scene.remove("file");
    scene.remove("errors");
  });
}

/// The number after a line's name in /proc/self/status of a process that is started here with
/// `blocked`.
std::uint64_t mask_of_child(os::Os& os, const std::string& line) {
  Pipe pipe;
  const os::PipeEnds ends = value_of(os.make_pipe());
  pipe = {.read = UniqueFd(os, ends.read), .write = UniqueFd(os, ends.write)};
  KernelOs shell({.program = "/bin/sh"});
  Running child(shell,
                {.entry = "-c",
                 .arguments = {"exec cat /proc/self/status >&3"},
                 .fds = {{.here = pipe.write.get(), .number_there = 3}},
                 .blocked = {}});
  pipe.write.close_quietly();
  const std::string text = contract::read_some(os, pipe.read.get());
  EXPECT_EQ(child.end(), ChildExit{});
  const std::size_t at = text.find(line + ":");
  EXPECT_NE(at, std::string::npos);
  return at == std::string::npos ? 0 : std::stoull(text.substr(at + line.size() + 1), nullptr, 16);
}

constexpr std::uint64_t bit_of(int signal) {
  return 1ULL << static_cast<unsigned>(signal - 1);
}

TEST_P(KernelOsEmbedded, what_the_program_ignores_stays_ignored_and_what_we_ignore_does_not_E6) {
  act([](Scene& scene) {
    os::Os& os = scene.os();
    const auto before = std::signal(SIGHUP, SIG_IGN);
    const auto before_too = std::signal(SIGUSR1, SIG_IGN);
    EXPECT_TRUE(worked(os.ignore_signal(os::Signal::hang_up)));
    EXPECT_TRUE(worked(os.ignore_signal(os::Signal::quit)));
    const std::uint64_t ignored = mask_of_child(os, "SigIgn");
    std::signal(SIGHUP, before);
    std::signal(SIGUSR1, before_too);
    std::signal(SIGQUIT, SIG_DFL);
    EXPECT_TRUE(ignored & bit_of(SIGHUP));
    EXPECT_TRUE(ignored & bit_of(SIGUSR1));
    EXPECT_FALSE(ignored & bit_of(SIGQUIT));
    EXPECT_FALSE(ignored & bit_of(SIGXFSZ));
  });
}

TEST_P(KernelOsEmbedded, what_is_ignored_does_not_end_the_process_E6) {
  act([](Scene& scene) {
    for (const os::Signal signal : {os::Signal::interrupt, os::Signal::hang_up, os::Signal::quit}) {
      EXPECT_TRUE(worked(scene.os().ignore_signal(signal)));
    }
    for (const int number : {SIGINT, SIGHUP, SIGQUIT}) {
      std::raise(number);
      std::signal(number, SIG_DFL);
    }
  });
}

TEST_P(KernelOsEmbedded, who_serves_many_may_have_more_descriptors_than_the_program_E10) {
  act([](Scene& scene) {
    constexpr std::uint64_t few = 60;
    const pretend::FewDescriptors limited(few);
    KernelOs shell({.program = "/bin/sh"});
    for (const bool many_fds : {false, true}) {
      const auto child = value_of(shell.spawn(
          {.entry = "-c",
           .arguments = {"ulimit -Sn > \"$0/limit\"; ulimit -Hn >> \"$0/limit\"", scene.folder()},
           .fds = {},
           .blocked = {},
           .end_wanted = false,
           .many_fds = many_fds}));
      const UniqueFd process(shell, child.process);
      ASSERT_TRUE(contract::wait_for(shell, process.get()));
      std::istringstream said(scene.text_of("limit"));
      std::string soft;
      std::string hard;
      said >> soft >> hard;
      EXPECT_NE(hard, std::to_string(few)) << "nothing to ask for here";
      EXPECT_EQ(soft, many_fds ? hard : std::to_string(few));
      scene.remove("limit");
    }
  });
}

#ifndef __SANITIZE_ADDRESS__
#ifndef __SANITIZE_THREAD__
// Under a sanitizer a limit on addresses would also limit its shadow memory.

/// The result of a copy of this process that makes a change and starts a thread; 0 if it is as
/// expected.
int start_thread_after(const std::function<void()>& change, const std::string& limit) {
  return pretend::exit_code_of(pretend::run_in_copy([&] {
    KernelOs os;
    // Larger than the stacks of ended threads that the C library keeps.
    pthread_attr_t larger{};
    ::pthread_attr_init(&larger);
    ::pthread_attr_setstacksize(&larger, std::size_t{64} << 20U);
    ::pthread_setattr_default_np(&larger);
    ::pthread_attr_destroy(&larger);
    change();
    const auto thread = os.start_thread([] {});
    if (thread) {
      (*thread)->join();
      return 3;
    }
    const std::string said = describe(thread.error());
    const bool is_true = said.find(limit) != std::string::npos &&
                         said.find("NPROC") == std::string::npos &&
                         thread.error().code == std::errc::not_enough_memory;
    return is_true ? 0 : 4;
  }));
}

TEST_P(KernelOsEmbedded, a_thread_without_space_for_its_stack_names_the_limit_E10) {
  act([](Scene&) {
    EXPECT_EQ(start_thread_after([] { pretend::allow_addresses(std::uint64_t{2} << 20U); },
                                 "(RLIMIT_AS)"),
              0);
    EXPECT_EQ(start_thread_after([] { pretend::fill_maps(); }, "(vm.max_map_count)"), 0);
  });
}

#endif
#endif

/// The signal masks of the calling thread.
std::uint64_t blocked_here() {
  std::ifstream file("/proc/thread-self/status");
  for (std::string word; file >> word;) {
    if (word == "SigBlk:") {
      file >> word;
      return std::stoull(word, nullptr, 16);
    }
  }
  return 0;
}

TEST_P(KernelOsEmbedded, a_thread_of_the_users_code_has_the_mask_of_its_starter_E6) {
  act([](Scene& scene) {
    os::Os& os = scene.os();
    const std::uint64_t own = blocked_here();
    std::uint64_t seen = ~0ULL;
    std::uint64_t seen_inside = ~0ULL;
    std::uint64_t of_child = ~0ULL;
    const auto thread = value_of(os.start_thread([&] {
      // Started by a thread of the library, it still has the mask of the program.
      const auto inner =
          value_of(os.start_thread([&] { seen_inside = blocked_here(); }, os::ThreadKind::users));
      inner->join();
      of_child = mask_of_child(os, "SigBlk");
    }));
    thread->join();
    const auto users =
        value_of(os.start_thread([&] { seen = blocked_here(); }, os::ThreadKind::users));
    users->join();
    EXPECT_EQ(seen, own);
    EXPECT_EQ(seen_inside, own);
    EXPECT_EQ(of_child, own);
  });
}

TEST_P(KernelOsEmbedded, faults_and_profilers_are_blocked_in_no_thread_E6) {
  act([](Scene& scene) {
    std::uint64_t blocked = 0;
    const auto thread = value_of(scene.os().start_thread([&] { blocked = blocked_here(); }));
    thread->join();
    EXPECT_TRUE(blocked & bit_of(SIGTERM));
    for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGPROF, SIGVTALRM}) {
      EXPECT_FALSE(blocked & bit_of(number)) << number;
    }
  });
}

TEST_P(KernelOsEmbedded, what_it_starts_is_no_child_of_the_program_E7) {
  act([](Scene& scene) {
    const Pipe until = scene.pipe();
    std::vector<std::unique_ptr<Running>> running;
    for (const bool end_wanted : {true, false}) {
      running.push_back(std::make_unique<Running>(
          scene.os(),
          os::SpawnOptions{.entry = "wait",
                           .arguments = {},
                           .fds = {{.here = until.read.get(), .number_there = 3}},
                           .blocked = {},
                           .end_wanted = end_wanted}));
    }
    EXPECT_FALSE(pretend::has_children());
    EXPECT_EQ(running[0]->kill(), (ChildExit{.code = SIGKILL, .killed = true}));
    EXPECT_FALSE(pretend::has_children());
  });
}

TEST_P(KernelOsEmbedded, nothing_that_has_ended_stays_a_zombie_of_a_program_that_adopts_E7) {
  act([](Scene&) {
    EXPECT_EQ(
        pretend::exit_code_of(pretend::run_in_copy([] {
          pretend::adopt_orphans();
          KernelOs os({.program = "/bin/true"});
          for (int round = 0; round < 100; ++round) {
            const auto child = os.spawn(
                {.entry = "any", .arguments = {}, .fds = {}, .blocked = {}, .end_wanted = false});
            if (!child || !os.close(child->process)) {
              return 3;
            }
          }
          pretend::until([] { return !pretend::has_children(); });
          return 0;
        })),
        0);
  });
}

TEST_P(KernelOsEmbedded, whoever_reaps_or_ignores_children_changes_nothing_E7) {
  act([](Scene& scene) {
    const auto before = std::signal(SIGCHLD, SIG_IGN);
    for (int code = 0; code < 20; ++code) {
      Running child(
          scene.os(),
          {.entry = "exit_with", .arguments = {std::to_string(code)}, .fds = {}, .blocked = {}});
      EXPECT_EQ(child.end(), (ChildExit{.code = code, .killed = false}));
    }
    std::signal(SIGCHLD, before);
    std::atomic<bool> over = false;
    std::thread reaper([&] { pretend::reap_until(over); });
    for (int code = 0; code < 20; ++code) {
      Running child(
          scene.os(),
          {.entry = "exit_with", .arguments = {std::to_string(code)}, .fds = {}, .blocked = {}});
      EXPECT_EQ(child.end(), (ChildExit{.code = code, .killed = false}));
    }
    over = true;
    reaper.join();
  });
}

/// A program that dies while it is started: its only segment is at an address where no process may
/// have one. elf(5)
void write_stillborn(const std::string& path) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_EXEC;
#if defined(__x86_64__)
  header.e_machine = EM_X86_64;
#elif defined(__aarch64__)
  header.e_machine = EM_AARCH64;
#endif
  header.e_version = EV_CURRENT;
  header.e_phoff = sizeof header;
  header.e_ehsize = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  Elf64_Phdr segment{};
  segment.p_type = PT_LOAD;
  segment.p_flags = PF_R | PF_X;
  segment.p_vaddr = ~Elf64_Addr{0} << 32U;
  segment.p_filesz = sizeof header + sizeof segment;
  segment.p_memsz = segment.p_filesz;
  segment.p_align = 4096;
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&header), sizeof header);
  file.write(reinterpret_cast<const char*>(&segment), sizeof segment);
  file.close();
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

TEST_P(KernelOsEmbedded, who_dies_at_once_was_started_though_nobody_keeps_dead_children_E7) {
  act([](Scene& scene) {
    const std::string program = scene.path("stillborn");
    write_stillborn(program);
    KernelOs os({.program = program});
    const auto before = std::signal(SIGCHLD, SIG_IGN);
    for (int round = 0; round < 100; ++round) {
      auto child = os.spawn({.entry = "any", .arguments = {}, .fds = {}, .blocked = {}});
      EXPECT_TRUE(worked(child));
      if (child) {
        EXPECT_TRUE(worked(os.close(child->process)));
      }
    }
    std::signal(SIGCHLD, before);
    scene.remove("stillborn");
  });
}

std::atomic<int> children_heard_of = 0;

TEST_P(KernelOsEmbedded, nobody_hears_of_the_end_of_what_was_started_E7) {
  act([](Scene& scene) {
    children_heard_of = 0;
    const auto before = std::signal(SIGCHLD, [](int) { ++children_heard_of; });
    for (int i = 0; i < 20; ++i) {
      Running child(scene.os(),
                    {.entry = "exit_with", .arguments = {"0"}, .fds = {}, .blocked = {}});
      child.end();
    }
    std::signal(SIGCHLD, before);
    EXPECT_EQ(children_heard_of, 0);
  });
}

TEST_P(KernelOsEmbedded, a_message_that_nobody_reads_is_dropped_and_counted_E5) {
  act([](Scene& scene) {
    os::Os& os = scene.os();
    const pretend::FullStandardError full;
    for (int i = 0; i < 3; ++i) {
      os::report_quietly(os, "lost");
    }
    EXPECT_EQ(full.drain().find("lost"), std::string::npos);
    os::report_quietly(os, "heard");
    os::report_quietly(os, "heard again");
    EXPECT_EQ(full.drain(), "lastref: 3 messages before this were not read\nheard\nheard again\n");
  });
}

TEST_P(KernelOsEmbedded, a_set_user_id_program_starts_nothing_from_path_E11) {
  act([](Scene& scene) {
    namespace fs = std::filesystem;
    constexpr unsigned stranger = 65534;
    const std::string program = scene.path("program");
    const std::string evil = scene.path("lastref");
    const std::string stolen = scene.path("stolen");
    std::ofstream(evil) << "#!/bin/sh\n: >" + stolen + "\n";
    fs::copy_file("/proc/self/exe", program);
    fs::permissions(evil, fs::perms(0755));
    fs::permissions(scene.folder(), fs::perms(0777));
    // Without the set-user-ID bit it does start what its caller has put there.
    fs::permissions(program, fs::perms(0755));
    EXPECT_EQ(pretend::run_as(stranger, program, "start_lastref", scene.folder()), 0);
    EXPECT_TRUE(fs::remove(stolen));
    fs::permissions(program, fs::perms(0755) | fs::perms::set_uid);
    EXPECT_EQ(pretend::run_as(stranger, program, "start_lastref", scene.folder()), EACCES);
    EXPECT_FALSE(fs::exists(stolen));
    scene.remove("program");
    scene.remove("lastref");
  });
}

TEST_P(KernelOsEmbedded, a_copy_has_another_token_however_it_was_made_E8) {
  act([](Scene& scene) {
    const std::uint64_t own = scene.os().process_token();
    std::set<std::uint64_t> tokens = {own};
    for (const pretend::Fork fork : {pretend::Fork::plain, pretend::Fork::raw}) {
      tokens.insert(pretend::number_from_copy(fork, [&] { return scene.os().process_token(); }));
    }
    EXPECT_EQ(tokens.size(), 3U);
    EXPECT_EQ(scene.os().process_token(), own);
  });
}

TEST_P(KernelOsEmbedded, the_thread_of_a_copy_has_a_number_of_its_own_E8) {
  act([](Scene& scene) {
    os::Os& os = scene.os();
    EXPECT_EQ(os.thread_id(), os.process_id());
    for (const pretend::Fork fork : {pretend::Fork::plain, pretend::Fork::raw}) {
      EXPECT_EQ(pretend::number_from_copy(
                    fork, [&] { return std::uint64_t{os.thread_id() == os.process_id()}; }),
                1U);
    }
  });
}

/// Like the system call filter of a container.
bool refuse_pidfd_open() {
  std::array<sock_filter, 4> filter = {{
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_pidfd_open},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  }};
  const sock_fprog program = {.len = filter.size(), .filter = filter.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(KernelOsInContainer, a_refused_pidfd_open_is_named_and_leaves_no_child_E10) {
  const os::Pid copy = pretend::run_in_copy([] {
    KernelOs os({.program = "/proc/self/exe"});
    const os::SpawnOptions options{
        .entry = "exit_with", .arguments = {"0"}, .fds = {}, .blocked = {}};
    if (!refuse_pidfd_open()) {
      return 3;
    }
    for (const bool end_wanted : {true, false}) {
      os::SpawnOptions each = options;
      each.end_wanted = end_wanted;
      const auto child = os.spawn(each);
      if (child || child.error().call != Call::open_process ||
          describe(child.error()).find("pidfd_open") == std::string::npos) {
        return 4;
      }
    }
    return pretend::has_children() ? 5 : 0;
  });
  EXPECT_EQ(pretend::exit_code_of(copy), 0);
}

}  // namespace
}  // namespace lastref
