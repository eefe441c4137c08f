#include "harness/warden/capabilities.hpp"

#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "harness/platform/child_process.hpp"
#include "harness/warden/notifier.hpp"
#include "harness/warden/private_folders.hpp"
#include "harness/warden/proc_inspect.hpp"
#include "harness/warden/warden.hpp"

namespace lastref::harness::warden {
namespace {

/// Runs the probe in a child, because it may change its process.
bool succeeds(bool (*probe)()) {
  const int child = start_child([probe] { return probe() ? 0 : 1; });
  return child > 0 && reap(child) == 0;
}

int listen_to_one_call() {
  const auto filter = filter_of({SYS_getppid});
  return filter ? take_filter(*filter) : -1;
}

bool can_take_filter() {
  return listen_to_one_call() >= 0;
}

/// A kernel that knows the flag reads the filter next, and finds none. seccomp(2)
bool knows_wait_killable() {
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  constexpr unsigned flags =
      SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, nullptr) < 0 && errno == EFAULT;
}

bool wakes_in_turn() {
  UniqueFd listener(listen_to_one_call());
  return listener && Notifier(std::move(listener)).wakes_in_turn();
}

bool can_read_a_child() {
  static const char word[] = "read";
  const int child = start_child(::pause);
  const auto text = text_at(child, reinterpret_cast<std::uintptr_t>(word));
  ::kill(child, SIGKILL);
  reap(child);
  return text == word;
}

/// Whether a process gets as far as to the start of a program. There need not be any program here,
/// so it is a folder, and the kernel refuses to run that.
bool starts_a_program(WatchOptions options) {
  options.command = {"/"};
  const auto watched = watch(options);
  return !watched && watched.error().code == std::errc::permission_denied &&
         watched.error().subject == options.command.front();
}

bool can_watch() {
  return starts_a_program({});
}

bool can_mount() {
  // A working folder below /tmp would be hidden.
  return ::chdir("/") == 0 && make_private({{.path = "/tmp", .size = {}}}).has_value();
}

bool can_lay_over() {
  const std::string folder = ::access("/usr", F_OK) == 0 ? "/usr" : "/tmp";
  return ::chdir("/") == 0 &&
         make_private({{.path = folder, .size = {}, .is_overlay = true}}).has_value();
}

bool can_have_own_ipc() {
  return ::chdir("/") == 0 && make_private({{.path = "ipc", .size = {}}}).has_value();
}

bool can_have_own_pids() {
  WatchOptions options;
  options.has_own_pids = true;
  return ::chdir("/") == 0 && make_private({{.path = std::string(own_pids), .size = {}}}) &&
         starts_a_program(std::move(options));
}

}  // namespace

bool watches_here() {
  return succeeds(can_watch);
}

std::vector<Diagnosis> diagnose() {
  return {
      {.what = "seccomp user notification",
       .works = succeeds(can_take_filter),
       .lost = "nothing can be watched",
       .remedy = "a kernel of 5.9 or newer with CONFIG_SECCOMP_FILTER, and no seccomp policy "
                 "around this process that forbids seccomp(2), as a container may have one"},
      {.what = "calls that signals do not interrupt while lastref holds them (WAIT_KILLABLE_RECV)",
       .works = succeeds(knows_wait_killable),
       .lost = "more runs are interrupted by us, if the program gets signals",
       .remedy = "Linux 5.19"},
      {.what = "turns on one processor (SYNC_WAKE_UP)",
       .works = succeeds(wakes_in_turn),
       .lost = "all processors but one, which the program then shares with us: a call that stops "
               "would cost several times as much",
       .remedy = "Linux 6.6"},
      {.what = "reading the memory of a child",
       .works = succeeds(can_read_a_child),
       .lost = "names of files are not known",
       .remedy = "kernel.yama.ptrace_scope of 0 or 1; programs that are set-uid or not dumpable "
                 "stay unread"},
      {.what = "a program that is watched from its start to its end",
       .works = watches_here(),
       .lost = "lastref run",
       .remedy = "the missing capabilities above"},
      {.what = "a mount namespace of its own",
       .works = succeeds(can_mount),
       .lost = "--private",
       .remedy = "user.max_user_namespaces above 0, or root"},
      {.what = "an overlay of its own",
       .works = succeeds(can_lay_over),
       .lost = "--private FOLDER=overlay",
       .remedy = "overlayfs in the kernel; Linux 5.11, or root"},
      {.what = "an IPC namespace of its own",
       .works = succeeds(can_have_own_ipc),
       .lost = "--private ipc",
       .remedy = "user.max_ipc_namespaces above 0; user.max_user_namespaces, too, or root"},
      {.what = "a pid namespace of its own, with its /proc",
       .works = succeeds(can_have_own_pids),
       .lost = "--private pid",
       .remedy = "user.max_pid_namespaces above 0; user.max_user_namespaces, too, or root; a /proc "
                 "of which nothing is covered, as containers do it"},
  };
}

}  // namespace lastref::harness::warden
