#include "bench/perf/traced.hpp"

#include <fcntl.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace lastref::perf {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<char*> pointers_to(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& string : strings) {
    pointers.push_back(const_cast<char*>(string.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

/// Fields 3 and later of /proc/pid/stat, proc(5). The name of a program may contain anything.
std::string_view behind_name(std::string_view stat) {
  const std::size_t end = stat.rfind(')');
  return end == std::string_view::npos ? std::string_view() : stat.substr(end + 2);
}

int open_of(const char* what, const TracedProcess& process, os::Pid thread) {
  return ::open(fmt::format("/proc/{}/task/{}/{}", process.pid, thread, what).c_str(),
                O_RDONLY | O_CLOEXEC);
}

/// The current content of a /proc file; empty if its process or thread has ended.
std::string_view read_again(int fd, std::span<char> buffer) {
  const ssize_t size = ::pread(fd, buffer.data(), buffer.size(), 0);
  return {buffer.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

/// Resets signals for the program, because our parent may ignore or block some, as nohup(1) does.
/// main has already opened the standard descriptors.
void be_as_all_start() {
  for (int signal = 1; signal < NSIG; ++signal) {
    ::signal(signal, SIG_DFL);  // Fails for SIGKILL and SIGSTOP, which is fine.
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void give_up(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

TracedThread::TracedThread(os::Pid thread, std::size_t number, std::shared_ptr<TracedProcess> of)
    : id(thread),
      index(number),
      process(std::move(of)),
      stat_(open_of("stat", *process, thread)),
      call_(open_of("syscall", *process, thread)) {}

TracedThread::~TracedThread() {
  ::close(stat_);
  ::close(call_);
}

bool TracedThread::is_asleep() const {
  if (!call) {
    return false;
  }
  std::array<char, 512> buffer{};
  // A thread that has lent its memory to a child is in uninterruptible sleep (D). Any other thread
  // in state D waits only for the kernel, and continues by itself.
  const auto says_so = [&] {
    const std::string_view rest = behind_name(read_again(stat_, buffer));
    return rest.starts_with('S') || (rest.starts_with('D') && has_lent_memory);
  };
  if (!says_so()) {
    return false;
  }
  // A call that may have to wait, but does not need to, shows state S for a moment. Reading this
  // file waits until the thread sleeps, or gives "running"; or the thread has stopped meanwhile.
  // proc(5), /proc/pid/syscall
  const std::string_view said = read_again(call_, buffer);
  return !said.empty() && !said.starts_with("running") && says_so();
}

void TracedThread::go_on() {
  // If the thread was killed meanwhile, its own event reports that.
  ::ptrace(PTRACE_SYSCALL,
           id,
           nullptr,
           std::bit_cast<void*>(static_cast<std::uintptr_t>(std::exchange(signal, 0))));
}

void TracedThread::go_to_end() const {
  ::ptrace(PTRACE_CONT, id, nullptr, nullptr);
}

os::Pid start_traced(const std::vector<std::string>& command,
                     const std::vector<std::string>& environment) {
  const std::vector<char*> arguments = pointers_to(command);
  const std::vector<char*> variables = pointers_to(environment);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::signal(SIGCHLD, SIG_DFL);  // If it were ignored, wait(2) would not report children.
  const os::Pid child = ::fork();
  if (child < 0) {
    give_up("fork");
  }
  if (child == 0) {
    // Each start has the same addresses. This is not permitted everywhere; then counts of pages may
    // differ.
    ::personality(ADDR_NO_RANDOMIZE);
    // A touched page does not bring in 511 others, as it does on some machines. prctl(2)
    ::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) {
      ::_exit(126);
    }
    be_as_all_start();
    ::raise(SIGSTOP);
    ::execve(arguments.front(), arguments.data(), variables.data());
    ::_exit(127);
  }
  int status = 0;
  if (::waitpid(child, &status, __WALL) != child || !WIFSTOPPED(status)) {
    throw std::runtime_error("a program cannot be traced here: ptrace(2) is refused");
  }
  constexpr std::uintptr_t options = PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD |
                                     PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                                     PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT;
  if (::ptrace(PTRACE_SETOPTIONS, child, nullptr, std::bit_cast<void*>(options)) != 0) {
    give_up("ptrace");
  }
  return child;
}

StopAtCall stop_at_call(os::Pid thread) {
  __ptrace_syscall_info info{};
  if (::ptrace(PTRACE_GET_SYSCALL_INFO, thread, std::bit_cast<void*>(sizeof info), &info) < 0) {
    give_up("ptrace");
  }
  if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
    return {.is_entry = true,
            .call = {.number = static_cast<long>(info.entry.nr),
                     .arguments = {info.entry.args[0], info.entry.args[1], info.entry.args[2]}}};
  }
  return {.result = info.exit.rval};
}

void refuse_call(os::Pid thread) {
#if defined(__x86_64__)
  constexpr long no_call = -1;
  ::ptrace(PTRACE_POKEUSER,
           thread,
           std::bit_cast<void*>(std::uintptr_t{offsetof(user_regs_struct, orig_rax)}),
           std::bit_cast<void*>(no_call));
#else
  static_cast<void>(thread);
  throw std::runtime_error("calls are counted on x86-64 alone");
#endif
}

os::Pid newcomer_of(os::Pid thread) {
  unsigned long message = 0;
  ::ptrace(PTRACE_GETEVENTMSG, thread, nullptr, &message);
  return static_cast<os::Pid>(message);
}

bool is_thread_of(os::Pid process, os::Pid thread) {
  return ::access(fmt::format("/proc/{}/task/{}", process, thread).c_str(), F_OK) == 0;
}

std::string name_of_call(long number) {
  char* const name = ::seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, static_cast<int>(number));
  std::string text = name == nullptr ? fmt::format("call_{}", number) : name;
  std::free(name);
  return text;
}

std::string second_word_of(os::Pid process) {
  const std::string line = text_of(fmt::format("/proc/{}/cmdline", process));
  const std::size_t begin = line.find('\0');
  return begin == std::string::npos
             ? std::string()
             : line.substr(begin + 1, line.find('\0', begin + 1) - begin - 1);
}

std::uint64_t faults_of(os::Pid process) {
  const std::string stat = text_of(fmt::format("/proc/{}/stat", process));
  std::string_view rest = behind_name(stat);
  // The result is field 10; the state is field 3.
  for (int field = 3; field < 10; ++field) {
    rest.remove_prefix(std::min(rest.find(' '), rest.size() - 1) + 1);
  }
  return std::strtoull(std::string(rest.substr(0, rest.find(' '))).c_str(), nullptr, 10);
}

}  // namespace lastref::perf
