#include "bench/perf/call_counter.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include <lastref/os.hpp>

#include "bench/counted/mark.hpp"
#include "bench/perf/process.hpp"
#include "harness/platform/child_process.hpp"
#include "harness/platform/names.hpp"
#include "harness/platform/proc.hpp"
#include "harness/platform/unique_fd.hpp"

namespace lastref::perf {
namespace {

// Traced threads and their processes, as ptrace(2) and proc(5) show them.

struct TracedProcess {
  os::Pid pid = 0;
  std::string role = "starter";
  bool is_own_program = false;  ///< It has called execve(2), so it shares no memory.
  std::array<std::uint64_t, 4> collected = {};  ///< See `Counter::collect`.
};

enum class Stance : std::uint8_t {
  held,   ///< stopped, and not to be resumed yet
  ready,  ///< stopped, and waits for its turn
  runs,
  asleep,  ///< in a call, until it is woken
  dying,   ///< runs no more code of its own
};

/// The call before which a thread has stopped.
struct CallSeen {
  long number = -1;
  std::array<std::uint64_t, 3> arguments = {};
};

class TracedThread {
 public:
  TracedThread(os::Pid thread, std::size_t number, std::shared_ptr<TracedProcess> of)
      : id(thread),
        index(number),
        process(std::move(of)),
        stat_(open_file("stat")),
        call_(open_file("syscall")) {}

  /// Whether it sleeps in its call: until it is woken, or while a child borrows its memory.
  bool is_asleep() const {
    if (!call || !is_said_to_sleep()) {
      return false;
    }
    // A call that may have to wait, but does not need to, shows state S for a moment. Reading this
    // file waits until the thread sleeps, or gives "running"; or the thread has stopped meanwhile.
    // proc(5), /proc/pid/syscall
    const std::string said = read_again(call_.get());
    return !said.empty() && !said.starts_with("running") && is_said_to_sleep();
  }
  /// Resumes it until its next stop, and delivers its pending signal.
  void go_on() {
    // If the thread was killed meanwhile, its own event reports that.
    const auto pending = static_cast<std::uintptr_t>(std::exchange(signal, 0));
    ::ptrace(PTRACE_SYSCALL, id, nullptr, std::bit_cast<void*>(pending));
  }
  /// Resumes it until it ends.
  void go_to_end() const { ::ptrace(PTRACE_CONT, id, nullptr, nullptr); }

  const os::Pid id;
  const std::size_t index;  ///< by age in its tree
  const std::shared_ptr<TracedProcess> process;
  Stance stance = Stance::ready;
  std::optional<CallSeen> call = {};  ///< the current call
  bool has_slept = false;             ///< in this call
  bool has_lent_memory = false;       ///< in this call, to a child
  int signal = 0;                     ///< to be delivered to it

 private:
  int open_file(const char* what) const {
    return ::open(fmt::format("/proc/{}/task/{}/{}", process->pid, id, what).c_str(),
                  O_RDONLY | O_CLOEXEC);
  }

  /// The current content of a /proc file; empty if its process or thread has ended.
  static std::string read_again(int fd) {
    std::array<char, 512> buffer{};
    const ssize_t size = ::pread(fd, buffer.data(), buffer.size(), 0);
    return {buffer.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
  }

  /// A thread that has lent its memory to a child is in uninterruptible sleep (D). Any other thread
  /// in state D waits only for the kernel, and continues by itself.
  bool is_said_to_sleep() const {
    const std::string stat = read_again(stat_.get());
    const std::string_view state = harness::stat_field_in(stat, 3);
    return state == "S" || (state == "D" && has_lent_memory);
  }

  harness::UniqueFd stat_;
  harness::UniqueFd call_;
};

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

/// Starts a stopped program and traces it with all its descendants. The calling process becomes the
/// parent of orphans.
os::Pid start_traced(std::vector<std::string> command, std::vector<std::string> environment) {
  const std::vector<char*> arguments = harness::pointers_to(command);
  const std::vector<char*> variables = harness::pointers_to(environment);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::signal(SIGCHLD, SIG_DFL);  // If it were ignored, wait(2) would not report children.
  const os::Pid child = ::fork();
  if (child < 0) {
    throw std::system_error(errno, std::generic_category(), "fork");
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
    give_up("a program cannot be traced here: ptrace(2) is refused");
  }
  constexpr std::uintptr_t options = PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD |
                                     PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                                     PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT;
  if (::ptrace(PTRACE_SETOPTIONS, child, nullptr, std::bit_cast<void*>(options)) != 0) {
    throw std::system_error(errno, std::generic_category(), "ptrace");
  }
  return child;
}

/// The call that a stopped thread is about to make, or has made; then `result` is set.
struct StopAtCall {
  bool is_entry = false;
  CallSeen call = {};
  std::int64_t result = 0;
};

StopAtCall stop_at_call(os::Pid thread) {
  __ptrace_syscall_info info{};
  if (::ptrace(PTRACE_GET_SYSCALL_INFO, thread, std::bit_cast<void*>(sizeof info), &info) < 0) {
    throw std::system_error(errno, std::generic_category(), "ptrace");
  }
  if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
    return {.is_entry = true,
            .call = {.number = static_cast<long>(info.entry.nr),
                     .arguments = {info.entry.args[0], info.entry.args[1], info.entry.args[2]}}};
  }
  return {.result = info.exit.rval};
}

/// The thread has stopped before a call. The call is skipped and fails with ENOSYS.
void refuse_call(os::Pid thread) {
#if defined(__x86_64__)
  constexpr long no_call = -1;
  ::ptrace(PTRACE_POKEUSER,
           thread,
           std::bit_cast<void*>(std::uintptr_t{offsetof(user_regs_struct, orig_rax)}),
           std::bit_cast<void*>(no_call));
#else
  static_cast<void>(thread);
  give_up("calls are counted on x86-64 alone");
#endif
}

/// The thread that was just started, in this process or a new one.
os::Pid newcomer_of(os::Pid thread) {
  unsigned long message = 0;
  ::ptrace(PTRACE_GETEVENTMSG, thread, nullptr, &message);
  return static_cast<os::Pid>(message);
}

bool is_thread_of(os::Pid process, os::Pid thread) {
  return ::access(fmt::format("/proc/{}/task/{}", process, thread).c_str(), F_OK) == 0;
}

/// The second word of its command line; empty if there is none.
std::string second_word_of(os::Pid process) {
  const std::string line = harness::read_file(fmt::format("/proc/{}/cmdline", process));
  const std::size_t begin = line.find('\0');
  return begin == std::string::npos
             ? std::string()
             : line.substr(begin + 1, line.find('\0', begin + 1) - begin - 1);
}

/// The number of minor page faults of all its threads.
std::uint64_t faults_of(os::Pid process) {
  const std::string stat = harness::read_file(fmt::format("/proc/{}/stat", process));
  return harness::number_in<std::uint64_t>(harness::stat_field_in(stat, 10)).value_or(0);
}

using Clock = std::chrono::steady_clock;

/// No thread runs this long without a call.
constexpr std::chrono::seconds patience{30};
/// The maximum number of calls in one turn of a thread that does not sleep: it may be waiting for a
/// thread that does not have its turn.
constexpr int turn_max = 100'000;

/// Those that return how many bytes they have moved.
constexpr std::string_view moving_calls =
    " read pread64 readv preadv preadv2 recvfrom recvmsg write pwrite64 writev pwritev pwritev2 "
    "sendto sendmsg sendfile splice copy_file_range ";

bool moves_bytes(const std::string& call) {
  return moving_calls.find(' ' + call + ' ') != std::string_view::npos;
}

bool receives(const std::string& call) {
  return call == "recvmsg" || call == "recvfrom";
}

/// Whether the call asks how a process ended that may not be a child, which Linux supports since
/// 6.15. ioctl(2), PIDFD_GET_INFO.
bool is_new_question(const CallSeen& call) {
  constexpr std::uint64_t kind_and_number = 0xFF0B;
  return call.number == SYS_ioctl && (call.arguments[1] & 0xFFFF) == kind_and_number;
}

/// Blocks SIGCHLD while it exists, so that the signal can be waited for and no handler gets it.
class SignalOfChildren {
 public:
  SignalOfChildren() {
    ::sigemptyset(&set_);
    ::sigaddset(&set_, SIGCHLD);
    ::pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  SignalOfChildren(const SignalOfChildren&) = delete;
  SignalOfChildren& operator=(const SignalOfChildren&) = delete;
  ~SignalOfChildren() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  /// Waits for the signal, but at most for `time`.
  void wait(std::chrono::nanoseconds time) const {
    const timespec most{.tv_sec = 0, .tv_nsec = time.count()};
    ::sigtimedwait(&set_, nullptr, &most);
  }

 private:
  sigset_t set_{};
  sigset_t before_{};
};

/// Pauses of growing length, because nothing reports that a thread has gone to sleep.
class Pauses {
 public:
  Pauses(const SignalOfChildren& children, const char* in_vain)
      : children_(children), in_vain_(in_vain) {}

  void pause() {
    throw_if_interrupted();
    children_.wait(time_);
    time_ = std::min(time_ * 2, time_max);
    if (Clock::now() > end_) {
      give_up("{}", in_vain_);
    }
  }

 private:
  static constexpr std::chrono::nanoseconds time_max{1'000'000};

  const SignalOfChildren& children_;
  const char* in_vain_;
  std::chrono::nanoseconds time_{10'000};
  Clock::time_point end_ = Clock::now() + patience;
};

class Counter {
 public:
  explicit Counter(const CountedProgram& program)
      : root_(start_traced(program.command, program.environment)), tells_ends_(program.tells_ends) {
    auto process = std::make_shared<TracedProcess>();
    process->pid = root_;
    add_thread(root_, process);
  }
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;
  ~Counter() {
    // All traced processes are killed. After that, orphans are reparented to init again.
    for (const auto& [id, thread] : threads_) {
      ::kill(thread->process->pid, SIGKILL);
    }
    int status = 0;
    for (os::Pid id = 0; !threads_.empty() && (id = ::waitpid(-1, &status, __WALL)) > 0;) {
      if (WIFSTOPPED(status)) {
        ::ptrace(PTRACE_CONT, id, nullptr, nullptr);  // It stopped at its exit.
      }
    }
    ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  }

  std::vector<FiguresByRole> count() {
    while (!threads_.empty()) {
      throw_if_interrupted();
      settle();
      if (TracedThread* const next = whose_turn()) {
        run(*next);
      } else if (marking_ != nullptr) {
        cut();
      } else if (!threads_.empty()) {
        wait_for_event();  // All threads sleep, so only a timer can wake one.
      }
    }
    if (exit_code_ != 0) {
      give_up("what is counted ended with {}", exit_code_);
    }
    return std::move(operations_);
  }

 private:
  void count(const TracedProcess& process, std::string_view counter, std::uint64_t more = 1) {
    if (more > 0) {
      figures_[process.role][std::string(counter)] += more;
    }
  }
  void count(const TracedThread& thread, Column column, std::uint64_t more = 1) {
    count(*thread.process, name_of(column), more);
  }

  void add_thread(os::Pid id, std::shared_ptr<TracedProcess> process) {
    threads_.emplace(id, std::make_unique<TracedThread>(id, births_++, std::move(process)));
  }

  /// Handles one event, if there is one.
  bool take_event(int options) {
    int status = 0;
    const os::Pid id = ::waitpid(-1, &status, __WALL | options);
    if (id <= 0) {
      return false;
    }
    take(id, status);
    return true;
  }

  void wait_for_event() {
    Pauses pauses(children_, "all sleep, and none is woken");
    while (!take_event(WNOHANG)) {
      pauses.pause();
    }
  }

  void take(os::Pid id, int status) {
    const auto found = threads_.find(id);
    if (found == threads_.end()) {
      early_.insert(id);  // The event of its parent has not arrived yet.
      return;
    }
    TracedThread& thread = *found->second;
    if (!WIFSTOPPED(status)) {
      if (id == root_) {
        exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      }
      threads_.erase(found);
      return;
    }
    thread.stance = Stance::ready;
    const int event = status >> 16;
    const int signal = WSTOPSIG(status);
    if (signal == (SIGTRAP | 0x80)) {
      take_call(thread, stop_at_call(id));
    } else if (event == PTRACE_EVENT_EXIT) {
      collect(*thread.process);
      thread.stance = Stance::dying;
      thread.go_to_end();
    } else if (event == PTRACE_EVENT_EXEC) {
      become_program(*thread.process);
    } else if (event != 0) {
      take_newcomer(thread, event == PTRACE_EVENT_VFORK);
    } else {
      thread.signal = signal;
    }
  }

  void take_call(TracedThread& thread, const StopAtCall& stop) {
    if (stop.is_entry) {
      thread.call = stop.call;
      thread.has_slept = false;
      thread.has_lent_memory = false;
      if (is_new_question(stop.call) && !tells_ends_) {
        refuse_call(thread.id);
      }
      if (stop.call.number == SYS_prctl && stop.call.arguments[0] == bench::mark_option) {
        thread.stance = Stance::held;
        marking_ = &thread;
        return;
      }
      count(*thread.process, harness::name_of_call(stop.call.number));
      return;
    }
    const auto call = std::exchange(thread.call, std::nullopt);
    if (!call) {
      return;
    }
    count(thread, Column::wake_ups, thread.has_slept ? 1 : 0);
    const std::string name = harness::name_of_call(call->number);
    if (moves_bytes(name) && stop.result > 0) {
      count(thread, Column::bytes, static_cast<std::uint64_t>(stop.result));
      count(thread, Column::messages, receives(name) ? 1 : 0);
    }
  }

  void take_newcomer(TracedThread& parent, bool borrows_memory) {
    parent.has_lent_memory = borrows_memory;
    const os::Pid id = newcomer_of(parent.id);
    std::shared_ptr<TracedProcess> process = parent.process;
    if (is_thread_of(process->pid, id)) {
      count(parent, Column::threads);
    } else {
      count(parent, Column::processes);
      process = std::make_shared<TracedProcess>();
      process->pid = id;
    }
    // A new thread stops before it runs.
    if (early_.erase(id) == 0) {
      ::waitpid(id, nullptr, __WALL);
    }
    add_thread(id, std::move(process));
  }

  void become_program(TracedProcess& process) {
    const std::string word = second_word_of(process.pid);
    process.role = process.pid == root_ ? "caller" : word == "--receive" ? "receiver" : word;
    process.is_own_program = true;
    process.collected = {0, 0, 0, faults_of(process.pid)};
  }

  /// Adds what the process itself and the kernel have counted since the last time.
  void collect(TracedProcess& process) {
    if (!process.is_own_program) {
      return;
    }
    constexpr std::array columns = {
        Column::crossings, Column::copies, Column::copied, Column::pages};
    std::array<std::uint64_t, columns.size()> now = {0, 0, 0, faults_of(process.pid)};
    if (own_counts_ != 0) {
      iovec here{.iov_base = now.data(), .iov_len = sizeof(bench::OwnCounts)};
      iovec there{.iov_base = std::bit_cast<void*>(own_counts_), .iov_len = here.iov_len};
      ::process_vm_readv(process.pid, &here, 1, &there, 1, 0);
    }
    for (std::size_t at = 0; at < columns.size(); ++at) {
      count(process, name_of(columns[at]), now[at] - process.collected[at]);
    }
    process.collected = now;
  }

  /// An operation begins or ends; no thread runs.
  void cut() {
    TracedThread& thread = *std::exchange(marking_, nullptr);
    own_counts_ = thread.call->arguments[2];
    std::map<os::Pid, TracedProcess*> processes;
    for (const auto& [id, each] : threads_) {
      processes.emplace(each->process->pid, each->process.get());
    }
    for (const auto& [pid, process] : processes) {
      collect(*process);
    }
    if (thread.call->arguments[1] == static_cast<std::uint64_t>(bench::Mark::end)) {
      const std::string& marks = thread.process->role;
      figures_[marks];  // This role has a row even without figures.
      operations_.push_back(std::move(figures_));
    }
    figures_.clear();
    thread.call.reset();
    thread.stance = Stance::ready;
  }

  bool is_settled() {
    return std::ranges::all_of(threads_, [](const auto& each) {
      const TracedThread& thread = *each.second;
      return thread.stance == Stance::held || thread.stance == Stance::ready ||
             (thread.stance == Stance::asleep && thread.is_asleep());
    });
  }

  /// Returns when all threads have stopped or sleep, and all events have been handled.
  void settle() {
    Pauses pauses(children_, "a thread neither calls nor sleeps");
    for (int looks = 0; looks < 2;) {
      if (take_event(WNOHANG)) {
        looks = 0;
      } else if (!is_settled()) {
        looks = 0;
        pauses.pause();
      } else {
        ++looks;
      }
    }
  }

  /// The next ready thread by age, after the one that ran last.
  TracedThread* whose_turn() {
    TracedThread* next = nullptr;
    const auto turns = [&](const TracedThread& thread) {
      return std::pair(thread.index <= last_, thread.index);
    };
    for (const auto& [id, thread] : threads_) {
      if (thread->stance == Stance::ready && (next == nullptr || turns(*thread) < turns(*next))) {
        next = thread.get();
      }
    }
    return next;
  }

  /// Runs the thread until it sleeps, ends, or marks.
  void run(TracedThread& thread) {
    const os::Pid id = thread.id;
    last_ = thread.index;
    for (int calls = 0; calls < turn_max; ++calls) {
      thread.stance = Stance::runs;
      thread.go_on();
      Pauses pauses(children_, "a thread neither calls nor sleeps");
      while (thread.stance == Stance::runs) {
        if (!take_event(WNOHANG)) {
          if (thread.is_asleep()) {
            thread.stance = Stance::asleep;
            thread.has_slept = true;
            return;
          }
          pauses.pause();
        } else if (!threads_.contains(id)) {
          return;
        }
      }
      if (thread.stance != Stance::ready) {
        return;
      }
    }
  }

  const SignalOfChildren children_;
  const os::Pid root_;
  const bool tells_ends_;
  std::map<os::Pid, std::unique_ptr<TracedThread>> threads_;
  std::set<os::Pid> early_;
  std::size_t births_ = 0;
  std::size_t last_ = 0;
  TracedThread* marking_ = nullptr;
  std::uint64_t own_counts_ = 0;  ///< their address, in each process
  FiguresByRole figures_;
  std::vector<FiguresByRole> operations_;
  int exit_code_ = 0;
};

}  // namespace

std::vector<FiguresByRole> count_calls(const CountedProgram& program) {
  return Counter(program).count();
}

}  // namespace lastref::perf
