#include "harness/kernel/inherited_state.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <span>
#include <string_view>

#include "harness/kernel/control_block.hpp"
#include "harness/platform/proc.hpp"

namespace lastref::harness {
namespace {

constexpr int standard_numbers = 3;
constexpr int highest_signal = 64;
constexpr const char* users_file = "users";
/// proc(5), "/proc/[pid]/fd"; memfd_create(2)
constexpr std::string_view users_file_in_proc = "/memfd:users (deleted)";

/// What a descriptor refers to; empty if it is not open.
std::string open_as(int number) {
  return link_at("/proc/self/fd/" + std::to_string(number)).value_or("");
}

bool ignores(int number) noexcept {
  struct sigaction action {};
  return ::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

std::string standard_descriptor_missing() {
  for (int number = 0; number < standard_numbers; ++number) {
    const std::string file = open_as(number);
    if (file.empty() || file == users_file_in_proc) {
      return std::to_string(number) + (file.empty() ? " is closed" : " is the user's file");
    }
  }
  return {};
}

/// Only for processes that do not report to their starter when they die. Where the kernel can
/// report an exit only to a parent, a worker is a child of its starter. In a pid namespace, all
/// orphans become children of the first process.
bool is_programs_child(const RunContext& context,
                       std::uint16_t process,
                       const SpawnRequest& request) {
  const auto& processes = context.run.control_block().processes;
  const os::Pid starter = processes[processes[process].parent].own_pid;
  return request.entry != nullptr && !context.plays_in(ambient::pid_namespace) &&
         ::getppid() == starter;
}

}  // namespace

std::uint64_t blocked_signals() noexcept {
  sigset_t blocked;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  std::uint64_t bits = 0;
  for (int number = 1; number <= highest_signal; ++number) {
    bits |= ::sigismember(&blocked, number) == 1 ? signal_bit(number) : 0U;
  }
  return bits;
}

void open_users_file_as_standard_error() noexcept {
  const int file = ::memfd_create(users_file, MFD_CLOEXEC);
  const bool done = file == STDERR_FILENO || ::dup2(file, STDERR_FILENO) == STDERR_FILENO;
  LASTREF_ASSERT(done);
  if (file != STDERR_FILENO) {
    ::close(file);
  }
}

std::string wrong_standard_descriptor() {
  for (int number = 0; number < standard_numbers; ++number) {
    const std::string file = open_as(number);
    struct stat status {};
    if (file == users_file_in_proc && ::fstat(number, &status) == 0 && status.st_size > 0) {
      return "a message is in the file of the user that is " + std::to_string(number);
    }
    if (!file.empty() && file != "/dev/null" && file != users_file_in_proc) {
      return std::to_string(number) + " is " + file;
    }
  }
  return {};
}

std::optional<Finding> not_inherited(const RunContext& context,
                                     std::uint16_t process,
                                     const SpawnRequest& request,
                                     std::uint64_t blocked) {
  if (std::string seen = standard_descriptor_missing(); !seen.empty()) {
    return Finding{.claim = "E1: a process that we start has 0, 1 and 2", .seen = seen};
  }
  // SIGCHLD is an exception: a process between the program and what it starts must not ignore it.
  if (context.plays_in(ambient::deaf) && !ignores(SIGHUP)) {
    return Finding{.claim = "E6: what a program ignores stays ignored in what it starts",
                   .seen = "SIGHUP is not ignored"};
  }
  if (const std::uint64_t now = blocked_signals(); now != blocked) {
    return Finding{.claim = "E6: what we start hears what the program's own children hear",
                   .seen = "it blocks " + std::to_string(now) + ", and should block " +
                           std::to_string(blocked)};
  }
  if (is_programs_child(context, process, request)) {
    return Finding{.claim = "E7: wait() sees no child that the program did not start",
                   .seen = "the " + request.role + " is a child of the program"};
  }
  return std::nullopt;
}

}  // namespace lastref::harness
