#include "harness/warden/launch.hpp"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <iterator>
#include <new>
#include <sstream>

#include <fmt/format.h>

#include <lastref/kernel_os.hpp>

#include "harness/platform/child_process.hpp"

namespace lastref::harness::warden {

/// Shared memory between the supervisor and the child that becomes the program. They cannot use a
/// call that a filter may stop: it is not answered until the supervisor has the listener.
struct Start {
  static constexpr int no_listener_yet = -2;

  std::atomic<int> listener = no_listener_yet;  ///< Its number in the child; -1: there is none
  std::atomic<int> may_go = 0;
  std::atomic<int> error = 0;  ///< Why there is no listener, or no program
};

namespace {

void wait_while(const std::atomic<int>& word, int value) noexcept {
  constexpr timespec time{.tv_sec = 0, .tv_nsec = 20'000'000};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, value, &time, nullptr, 0);
}

void set(std::atomic<int>& word, int value) noexcept {
  word = value;
  ::syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

/// The path where a shell finds the program; `word` itself if it contains a "/", or is not found.
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

/// We ignore SIGXFSZ later, and an external program does not expect that. os::KernelOs
const bool size_signal_was_ignored = [] {
  struct sigaction action {};
  ::sigaction(SIGXFSZ, nullptr, &action);
  return action.sa_handler == SIG_IGN;
}();

/// The arguments of execv(3), and those with which a shell runs a script that has no "#!" line.
struct Program {
  const char* path;
  char* const* words;
  char* const* words_for_shell;
};

void run(const Program& program) noexcept {
  ::execv(program.path, program.words);
  if (errno == ENOEXEC) {
    ::execv(program.words_for_shell[0], program.words_for_shell);
  }
}

/// In the child: installs the filter, waits until it may continue, and becomes the program.
[[noreturn]] void become(const Program& program, const Filter& filter, Start& start) noexcept {
  constexpr int not_run = 127;
  // Without a supervisor each call that stops would fail, and the program would continue with the
  // errors.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int listener = take_filter(filter);
  start.error = listener < 0 ? errno : 0;
  set(start.listener, listener);
  while (listener >= 0 && start.may_go == 0) {
    wait_while(start.may_go, 0);
  }
  if (!size_signal_was_ignored) {
    ::signal(SIGXFSZ, SIG_DFL);
  }
  if (listener >= 0) {
    run(program);
    start.error = errno;
  }
  ::_exit(not_run);
}

using ResourceRow = std::pair<std::string_view, __rlimit_resource>;
constexpr std::array resources = {
    ResourceRow{"as", RLIMIT_AS},
    ResourceRow{"core", RLIMIT_CORE},
    ResourceRow{"cpu", RLIMIT_CPU},
    ResourceRow{"data", RLIMIT_DATA},
    ResourceRow{"fsize", RLIMIT_FSIZE},
    ResourceRow{"memlock", RLIMIT_MEMLOCK},
    ResourceRow{"msgqueue", RLIMIT_MSGQUEUE},
    ResourceRow{"nofile", RLIMIT_NOFILE},
    ResourceRow{"nproc", RLIMIT_NPROC},
    ResourceRow{"stack", RLIMIT_STACK},
};

}  // namespace

Result<Limit> parse_limit(std::string_view text) {
  const std::size_t mark = text.find('=');
  const auto row = std::ranges::find_if(
      resources, [&](const auto& each) { return each.first == text.substr(0, mark); });
  if (row == resources.end()) {
    std::string names;
    for (const auto& [name, resource] : resources) {
      names += (names.empty() ? "" : ", ") + std::string(name);
    }
    return failure(std::errc::invalid_argument, fmt::format("{}: none of {}", text, names));
  }
  std::uint64_t value = 0;
  const std::string_view digits = mark == std::string_view::npos ? "" : text.substr(mark + 1);
  const char* const end = digits.data() + digits.size();
  const auto [at, error] = std::from_chars(digits.data(), end, value);
  constexpr std::string_view letters = "kmg";
  const std::size_t letter = at == end ? 0 : letters.find(static_cast<char>(std::tolower(*at))) + 1;
  const int bits = 10 * static_cast<int>(letter);
  const bool is_read = error == std::errc{} && !digits.empty() &&
                       (at == end || (letter != 0 && at + 1 == end)) && value >> (63 - bits) == 0;
  if (!is_read) {
    return failure(std::errc::invalid_argument,
                   fmt::format("{}: after = comes a number, such as 64 or 1m", text));
  }
  return Limit{.resource = static_cast<int>(row->second), .value = value << bits};
}

Launch::Launch() noexcept
    : start_(static_cast<Start*>(::mmap(
          nullptr, sizeof(Start), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
  LASTREF_ASSERT(start_ != MAP_FAILED);
  new (start_) Start;
}

Launch::~Launch() {
  ::munmap(start_, sizeof(Start));
}

Status Launch::start(std::vector<std::string> command,
                     const Filter& filter,
                     const std::vector<Limit>& limits,
                     bool has_own_pids) {
  const std::vector<char*> arguments = pointers_to(command);
  std::string program = program_of(command.front());
  std::string shell = "/bin/sh";
  std::vector<char*> for_shell = {shell.data(), program.data()};
  for_shell.insert(for_shell.end(), arguments.begin() + 1, arguments.end());
  root_ = has_own_pids ? init_.fork() : ::fork();
  if (root_ < 0) {
    return failure(std::errc{errno}, has_own_pids ? "a pid namespace with a /proc" : "a process");
  }
  if (root_ == 0) {
    become(
        {.path = program.c_str(), .words = arguments.data(), .words_for_shell = for_shell.data()},
        filter,
        *start_);
  }
  while (start_->listener == Start::no_listener_yet &&
         !is_dead(root_, std::chrono::milliseconds(0))) {
    wait_while(start_->listener, Start::no_listener_yet);
  }
  const int listener = start_->listener;
  int error = start_->error;
  if (listener >= 0) {
    listener_ = copy_fd_of(root_, listener);
    error = errno;
  }
  Status started = !listener_ ? failure(std::errc{error},
                                        error == EBUSY ? "another process watches us already"
                                                       : "watching a program")
                              : limit(limits);
  if (!started) {
    ::kill(root_, SIGKILL);
    reap(root_);
  }
  return started;
}

Status Launch::limit(const std::vector<Limit>& limits) const {
  for (const Limit& each : limits) {
    const rlimit both{.rlim_cur = each.value, .rlim_max = each.value};
    const auto resource = static_cast<__rlimit_resource>(each.resource);
    if (::prlimit(root_, resource, &both, nullptr) != 0) {
      const int error = errno;
      rlimit now{};
      ::prlimit(root_, resource, nullptr, &now);
      return failure(
          std::errc{error},
          fmt::format("--limit {}={}: at most {} here",
                      std::ranges::find(resources, resource, &ResourceRow::second)->first,
                      each.value,
                      now.rlim_max));
    }
  }
  return ok();
}

void Launch::go() noexcept {
  set(start_->may_go, 1);
}

int Launch::error() const noexcept {
  return start_->error;
}

}  // namespace lastref::harness::warden
