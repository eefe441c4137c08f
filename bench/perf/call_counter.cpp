#include "bench/perf/call_counter.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "bench/counted/mark.hpp"
#include "bench/perf/interrupted.hpp"
#include "bench/perf/traced.hpp"

namespace lastref::perf {
namespace {

using Clock = std::chrono::steady_clock;

/// No thread runs this long without a call.
constexpr std::chrono::seconds patience{30};
/// The maximum number of calls in one turn of a thread that does not sleep: it may be waiting for a
/// thread that does not have its turn.
constexpr int turn_max = 100'000;

constexpr std::array moving_calls = {SYS_read,
                                     SYS_pread64,
                                     SYS_readv,
                                     SYS_preadv,
                                     SYS_preadv2,
                                     SYS_recvfrom,
                                     SYS_recvmsg,
                                     SYS_write,
                                     SYS_pwrite64,
                                     SYS_writev,
                                     SYS_pwritev,
                                     SYS_pwritev2,
                                     SYS_sendto,
                                     SYS_sendmsg,
                                     SYS_sendfile,
                                     SYS_splice,
                                     SYS_copy_file_range};

bool moves_bytes(long number) {
  return std::ranges::find(moving_calls, number) != moving_calls.end();
}

bool receives(long number) {
  return number == SYS_recvmsg || number == SYS_recvfrom;
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
      throw std::runtime_error(in_vain_);
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
    process->role = "starter";
    add_thread(root_, process);
    threads_.at(root_)->stance = Stance::ready;
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

  std::vector<CountsByRole> count() {
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
      throw std::runtime_error(fmt::format("what is counted ended with {}", exit_code_));
    }
    return std::move(operations_);
  }

 private:
  Counts& counts_of(const TracedThread& thread) { return counts_[thread.process->role]; }

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
    Pauses pauses(children_, "all sleep, and nobody is woken");
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
      ++counts_of(thread).calls[name_of_call(stop.call.number)];
      return;
    }
    const auto call = std::exchange(thread.call, std::nullopt);
    if (!call) {
      return;
    }
    Counts& counts = counts_of(thread);
    counts.wake_ups += thread.has_slept ? 1U : 0U;
    if (moves_bytes(call->number) && stop.result > 0) {
      counts.bytes += static_cast<std::uint64_t>(stop.result);
      counts.messages += receives(call->number) ? 1U : 0U;
    }
  }

  void take_newcomer(TracedThread& parent, bool borrows_memory) {
    parent.has_lent_memory = borrows_memory;
    const os::Pid id = newcomer_of(parent.id);
    std::shared_ptr<TracedProcess> process = parent.process;
    if (is_thread_of(process->pid, id)) {
      ++counts_of(parent).threads;
    } else {
      ++counts_of(parent).processes;
      process = std::make_shared<TracedProcess>();
      process->pid = id;
      process->role = "starter";
    }
    // A new thread stops before it runs.
    if (early_.erase(id) == 0) {
      ::waitpid(id, nullptr, __WALL);
    }
    add_thread(id, std::move(process));
    threads_.at(id)->stance = Stance::ready;
  }

  void become_program(TracedProcess& process) {
    const std::string word = second_word_of(process.pid);
    process.role = process.pid == root_ ? "caller" : word == "--receive" ? "receiver" : word;
    process.is_own_program = true;
    process.crossings = process.copies = process.copied = 0;
    process.faults = faults_of(process.pid);
  }

  /// Adds what the process itself and the kernel have counted since the last time.
  void collect(TracedProcess& process) {
    if (!process.is_own_program) {
      return;
    }
    std::array<std::uint64_t, 3> own{};
    if (own_counts_ != 0) {
      iovec here{.iov_base = own.data(), .iov_len = sizeof own};
      iovec there{.iov_base = std::bit_cast<void*>(own_counts_), .iov_len = sizeof own};
      ::process_vm_readv(process.pid, &here, 1, &there, 1, 0);
    }
    const std::uint64_t faults = faults_of(process.pid);
    Counts& counts = counts_[process.role];
    counts.crossings += own[0] - std::exchange(process.crossings, own[0]);
    counts.copies += own[1] - std::exchange(process.copies, own[1]);
    counts.copied += own[2] - std::exchange(process.copied, own[2]);
    counts.faults += faults - std::exchange(process.faults, faults);
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
      std::erase_if(counts_, [&](const auto& each) {
        return each.first != marks && each.second == Counts{};
      });
      counts_[marks];  // This role has a row even without counts.
      operations_.push_back(std::move(counts_));
    }
    counts_.clear();
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
  CountsByRole counts_;
  std::vector<CountsByRole> operations_;
  int exit_code_ = 0;
};

}  // namespace

std::vector<CountsByRole> count_calls(const CountedProgram& program) {
  return Counter(program).count();
}

}  // namespace lastref::perf
