#include "harness/warden/warden.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <memory>
#include <new>
#include <set>
#include <sstream>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include <lastref/kernel_os.hpp>

#include "harness/explore/jobs.hpp"
#include "harness/journal/record.hpp"
#include "harness/kernel/patience.hpp"
#include "harness/scenario/pattern.hpp"
#include "harness/warden/notifier.hpp"
#include "harness/warden/peek.hpp"
#include "harness/warden/syscalls.hpp"

namespace lastref::harness::warden {
namespace {

using std::chrono::milliseconds;

constexpr int look_every = 20'000;  // microseconds
constexpr std::uint64_t look_every_stops = 256;

/// What the child that becomes the program and the supervisor tell each other. No call that a
/// filter may stop can do that: until the supervisor has the listener, nobody answers.
struct Start {
  static constexpr int no_listener_yet = -2;

  std::atomic<int> listener = no_listener_yet;  ///< Its number in the child; -1 if it has none
  std::atomic<int> may_go = 0;
  std::atomic<int> error = 0;  ///< Why there is no listener, or no program
};

void wait_while(const std::atomic<int>& word, int value) noexcept {
  constexpr timespec time{.tv_sec = 0, .tv_nsec = 20'000'000};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, value, &time, nullptr, 0);
}

void set(std::atomic<int>& word, int value) noexcept {
  word = value;
  ::syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

/// A Start in memory that a child shares.
class SharedStart {
 public:
  SharedStart() noexcept
      : memory_(::mmap(
            nullptr, sizeof(Start), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    LASTREF_ASSERT(memory_ != MAP_FAILED);
    new (memory_) Start;
  }
  SharedStart(const SharedStart&) = delete;
  SharedStart& operator=(const SharedStart&) = delete;
  ~SharedStart() { ::munmap(memory_, sizeof(Start)); }

  Start* operator->() const noexcept { return static_cast<Start*>(memory_); }
  Start& operator*() const noexcept { return *static_cast<Start*>(memory_); }

 private:
  void* memory_;
};

/// Where a shell finds it; itself if it has a "/" in it, or is nowhere.
std::string program_of(const std::string& word) {
  const auto folders = os::KernelOs().environment("PATH");
  if (word.find('/') != std::string::npos || !folders) {
    return word;
  }
  std::istringstream all(*folders);
  for (std::string folder; std::getline(all, folder, ':');) {
    std::string path = (folder.empty() ? "." : folder) + '/' + word;
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
        ::access(path.c_str(), X_OK) == 0) {
      return path;
    }
  }
  return word;
}

/// In the child: takes the filter, waits until it may go, and becomes the program.
[[noreturn]] void become(const char* program,
                         char* const* arguments,
                         const Filter& filter,
                         Start& start) noexcept {
  constexpr int not_run = 127;
  // Without a supervisor each call that stops would fail, and the program would go on so.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int listener = take_filter(filter);
  start.error = listener < 0 ? errno : 0;
  set(start.listener, listener);
  while (listener >= 0 && start.may_go == 0) {
    wait_while(start.may_go, 0);
  }
  if (listener >= 0) {
    ::execv(program, arguments);
    start.error = errno;
  }
  ::_exit(not_run);
}

/// Ends what waits in us now and then. A program that is started has none of it.
class Alarm {
 public:
  Alarm() noexcept {
    struct sigaction hears {};
    hears.sa_handler = [](int) {};  // Without SA_RESTART
    ::sigaction(SIGALRM, &hears, &before_);
    constexpr timeval every{.tv_sec = 0, .tv_usec = look_every};
    const itimerval time{.it_interval = every, .it_value = every};
    ::setitimer(ITIMER_REAL, &time, nullptr);
  }
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;
  ~Alarm() {
    constexpr itimerval never{};
    ::setitimer(ITIMER_REAL, &never, nullptr);
    ::sigaction(SIGALRM, &before_, nullptr);
  }

 private:
  struct sigaction before_ {};
};

/// A call that stops, and whether it is looked at.
struct Known {
  const SyscallRow* row = nullptr;
  bool needs_object = false;
};

class Watch {
 public:
  explicit Watch(const WatchOptions& options)
      : options_(options), hits_(options.faults.size()), watched_{} {
    watched_.struck.resize(options.faults.size());
    for (const SyscallRow& row : syscalls()) {
      known_[row.number] = {.row = &row, .needs_object = needs_object(row)};
    }
  }

  Result<Watched> run() {
    LASTREF_CHECK(start());
    follow();
    if (const int error = start_->error; error != 0) {
      return failure(std::errc{error}, options_.command.front());
    }
    finish();
    return std::move(watched_);
  }

 private:
  Status start();
  std::set<int> numbers() const;
  void follow();
  void look_around();
  bool is_over() const { return root_ended_ && children_of(::getpid()).empty(); }
  bool needs_object(const SyscallRow& row) const;
  static std::string object_of(const Notification& call, const SyscallRow& row);
  void judge(const Notification& call, ProcessSeen& who);
  void note_names(const Notification& call, const SyscallRow& row, const CallSeen& seen);
  bool strike(const Notification& call, const ProcessSeen& who, const CallSeen& seen);
  void kill_after(const Notification& call, int process);
  void reap();
  void kill_tree();
  void finish();

  const WatchOptions& options_;
  SharedStart start_;
  std::unique_ptr<Notifier> notifier_;
  std::unique_ptr<RolesOfTree> roles_;
  NamesLedger names_;
  int root_ = -1;
  bool root_ended_ = false;
  std::unordered_map<int, int> dies_after_;  ///< Process by thread
  std::vector<std::uint64_t> hits_;          ///< Calls that each fault fits
  std::optional<double> ended_at_;
  bool is_late_ = false;
  std::unordered_map<int, Known> known_;                     ///< By their numbers
  std::unordered_map<std::uint64_t, std::uint64_t> counts_;  ///< Of role, call and object
  Watched watched_;
};

std::set<int> Watch::numbers() const {
  std::set<int> numbers;
  for (const SyscallRow& row : syscalls()) {
    const bool is_struck =
        std::ranges::find(options_.faults, row.name, &TreeFault::call) != options_.faults.end();
    if (!row.is_frequent || is_struck) {
      numbers.insert(row.number);
    }
  }
  return numbers;
}

Status Watch::start() {
  LASTREF_TRY(filter, filter_of(numbers()));
  std::vector<std::string> words = options_.command;
  std::vector<char*> arguments;
  std::ranges::transform(
      words, std::back_inserter(arguments), [](auto& word) { return word.data(); });
  arguments.push_back(nullptr);
  const std::string program = program_of(words.front());
  // Whose parent ends becomes ours, and not a stranger's.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  root_ = ::fork();
  if (root_ < 0) {
    return failure(std::errc{errno}, "a process");
  }
  if (root_ == 0) {
    become(program.c_str(), arguments.data(), filter, *start_);
  }
  while (start_->listener == Start::no_listener_yet && !is_dead(root_, milliseconds(0))) {
    wait_while(start_->listener, Start::no_listener_yet);
  }
  int listener = start_->listener;
  int error = start_->error;
  if (listener >= 0) {
    const auto process = static_cast<int>(::syscall(SYS_pidfd_open, root_, 0));
    listener = static_cast<int>(::syscall(SYS_pidfd_getfd, process, listener, 0));
    error = errno;
    ::close(process);
  }
  if (listener < 0) {
    ::kill(root_, SIGKILL);
    ::waitpid(root_, nullptr, 0);
    return failure(std::errc{error}, "watching a program");
  }
  notifier_ = std::make_unique<Notifier>(listener);
  roles_ = std::make_unique<RolesOfTree>(root_);
  set(start_->may_go, 1);
  return ok();
}

void Watch::follow() {
  const Alarm alarm;
  while (!is_over()) {
    const auto call = notifier_->receive();
    if (call) {
      ++watched_.stops;
      judge(*call, roles_->of(call->thread));
      if (watched_.stops % look_every_stops != 0) {
        continue;
      }
    } else if (!notifier_->has_anybody()) {
      ::poll(nullptr, 0, 1);  // They are on their way to be reaped.
    } else if (call.error() == ENOENT) {
      ++watched_.perturbed;
    }
    look_around();
  }
}

void Watch::look_around() {
  reap();
  if (!watched_.interrupted && options_.is_interrupted()) {
    watched_.interrupted = true;
    kill_tree();
  }
  if (root_ended_ && !ended_at_) {
    ended_at_ = seconds_now();
  }
  const std::chrono::duration<double> grace = options_.grace;
  if (!ended_at_ || seconds_now() - *ended_at_ < grace.count()) {
    return;
  }
  if (!std::exchange(is_late_, true)) {
    for (const int process : children_of(::getpid())) {
      watched_.stayed.push_back(roles_->of(process));
    }
  }
  kill_tree();
}

/// The thread goes into a stop when the call is over, before any instruction of its own. Its
/// process dies there, when it is seen; until then it does nothing.
void Watch::kill_after(const Notification& call, int process) {
  const bool will_stop = ::ptrace(PTRACE_SEIZE, call.thread, nullptr, nullptr) == 0 &&
                         ::ptrace(PTRACE_INTERRUPT, call.thread, nullptr, nullptr) == 0;
  if (!will_stop) {
    ++watched_.perturbed;
    notifier_->let_go(call.id);
    return;
  }
  dies_after_[call.thread] = process;
  notifier_->let_go(call.id);
}

void Watch::reap() {
  int status = 0;
  int process = 0;
  while ((process = ::waitpid(-1, &status, WNOHANG | __WALL)) > 0) {
    if (WIFSTOPPED(status)) {
      if (const auto doomed = dies_after_.find(process); doomed != dies_after_.end()) {
        ::kill(doomed->second, SIGKILL);
      }
    } else if (process == root_) {
      root_ended_ = true;
      watched_.root = WIFSIGNALED(status)
                          ? os::ChildExit{.code = WTERMSIG(status), .killed = true}
                          : os::ChildExit{.code = WEXITSTATUS(status), .killed = false};
    }
  }
}

void Watch::kill_tree() {
  // Each of them may just have had another one.
  for (std::vector<os::Pid> all = children_of(::getpid()); !all.empty();) {
    const int process = all.back();
    all.pop_back();
    std::ranges::copy(children_of(process), std::back_inserter(all));
    ::kill(process, SIGKILL);
  }
}

/// Where nobody asks for its name, it is not read.
bool Watch::needs_object(const SyscallRow& row) const {
  const bool is_struck = std::ranges::any_of(options_.faults, [&](const TreeFault& fault) {
    return fault.call == row.name && fault.object != "*";
  });
  return options_.wants_calls || is_struck || row.effect == Effect::makes ||
         row.effect == Effect::moves || row.effect == Effect::opens;
}

std::string Watch::object_of(const Notification& call, const SyscallRow& row) {
  if (row.first.path >= 0) {
    return path_at(call, row.first).value_or("");
  }
  return row.descriptor < 0
             ? std::string()
             : descriptor_at(
                   call.thread,
                   static_cast<int>(call.arguments[static_cast<std::size_t>(row.descriptor)]));
}

void Watch::judge(const Notification& call, ProcessSeen& who) {
  const Known& known = known_.at(call.number);
  const SyscallRow& row = *known.row;
  CallSeen seen{.role = who.role, .call = row.name, .object = {}};
  if (known.needs_object) {
    seen.object = object_of(call, row);
    if (!notifier_->is_waiting(call.id)) {
      ++watched_.perturbed;  // What was read may be of another process with this number.
      return;
    }
    const std::uint64_t before = hash_of(seen.role) * 31 + static_cast<unsigned>(call.number);
    seen.k = ++counts_[before * 31 + hash_of(seen.object)];
    note_names(call, row, seen);
  }
  if (row.effect == Effect::ends) {
    roles_->ends(who.process);
  }
  if (row.effect == Effect::runs) {
    who.is_title_old = true;
  }
  if (options_.wants_calls) {
    watched_.calls.push_back(seen);
  }
  if (!strike(call, who, seen) && !notifier_->let_go(call.id)) {
    ++watched_.perturbed;
  }
}

void Watch::note_names(const Notification& call, const SyscallRow& row, const CallSeen& seen) {
  const auto maker = [&] {
    return fmt::format("{}/{}({})#{}", seen.role, seen.call, seen.object, seen.k);
  };
  const bool has_two = row.second.path >= 0;
  const auto flags =
      row.flags < 0 ? 0U
                    : static_cast<unsigned>(call.arguments[static_cast<std::size_t>(row.flags)]);
  const bool creates = (flags & O_CREAT) != 0;
  if (row.effect == Effect::moves) {
    if (const auto to = path_at(call, row.second)) {
      names_.moves(seen.object, *to, maker);
    }
  } else if (row.effect == Effect::makes || (row.effect == Effect::opens && creates)) {
    if (const auto path = has_two ? path_at(call, row.second) : std::optional(seen.object)) {
      names_.makes(*path, maker);
    }
  }
}

/// The first fault that is at this call; true if the call is answered.
bool Watch::strike(const Notification& call, const ProcessSeen& who, const CallSeen& seen) {
  bool answered = false;
  for (std::size_t at = 0; at < options_.faults.size(); ++at) {
    const TreeFault& fault = options_.faults[at];
    if (fault.call != seen.call || !matches(fault.role, seen.role) ||
        !matches(fault.object, seen.object)) {
      continue;
    }
    const std::uint64_t hit = ++hits_[at];
    const bool strikes = fault.strike == Strike::fail_always ? hit >= fault.k : hit == fault.k;
    if (!strikes || answered) {
      continue;
    }
    watched_.struck[at] = true;
    answered = true;
    switch (fault.strike) {
      case Strike::fail:
      case Strike::fail_always:
        notifier_->fail(call.id, fault.error);
        break;
      case Strike::kill:
        ::kill(who.process, SIGKILL);
        break;
      case Strike::kill_after:
        kill_after(call, who.process);
        break;
      case Strike::kill_tree:
        kill_tree();
        break;
    }
  }
  return answered;
}

void Watch::finish() {
  watched_.processes = roles_->all();
  watched_.leftovers = names_.leftovers();
}

}  // namespace

Result<Watched> watch(const WatchOptions& options) {
  return Watch(options).run();
}

}  // namespace lastref::harness::warden
