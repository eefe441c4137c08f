#include "harness/warden/user_command.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include <fmt/format.h>

#include "harness/platform/child_process.hpp"
#include "harness/platform/names.hpp"

namespace lastref::harness::warden {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds time_max{600};
/// The time that a command has to clean up after SIGTERM.
constexpr std::chrono::seconds goodbye{5};
constexpr std::chrono::milliseconds between_looks{20};

/// A file without a name, for a command's output: the program's folders are not touched.
class Log {
 public:
  /// Uses a number above those of the shell's standard descriptors, which may be closed in us.
  Log() noexcept {
    const UniqueFd file(::memfd_create("log", MFD_CLOEXEC));
    file_.reset(::fcntl(file.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  }

  int file() const noexcept { return file_.get(); }
  std::string text() const {
    constexpr off_t part = 1500;  // bytes, at both ends
    const off_t size = std::max<off_t>(::lseek(file_.get(), 0, SEEK_END), 0);
    std::string text = bytes(0, std::min(size, part));
    if (size > 2 * part) {
      text += fmt::format("\n[{} bytes]\n", size - 2 * part);
    }
    text += bytes(std::max(part, size - part), size);
    std::ranges::replace_if(
        text,
        [](char byte) {
          const auto code = static_cast<unsigned char>(byte);
          return (code < ' ' && byte != '\n' && byte != '\t') || code == 0x7f;
        },
        '?');
    return text;
  }

 private:
  std::string bytes(off_t from, off_t to) const {
    std::string text(static_cast<std::size_t>(std::max<off_t>(to - from, 0)), ' ');
    const ssize_t got = ::pread(file_.get(), text.data(), text.size(), from);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return text;
  }

  UniqueFd file_;
};

/// In the child, which leads its own process group and does not outlive us.
int become_shell(const char* command, int log) noexcept {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::execl("/bin/sh", "sh", "-c", command, nullptr);
  constexpr int not_run = 127;
  return not_run;
}

/// In the child, as above; it may clean up when we die.
int become_program(char* const* words, const CommandFiles& files) noexcept {
  constexpr int not_run = 127;
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  int input = ::open(files.input.c_str(), O_RDONLY);
  if (input < 0) {
    input = ::memfd_create("empty", 0);  // There may be no /dev/null.
  }
  const int output = ::open(files.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, S_IRUSR | S_IWUSR);
  if (input < 0 || output < 0) {
    return not_run;
  }
  ::dup2(input, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  ::execv(words[0], words);
  return not_run;
}

/// Whether the process ends before this time, and before we are interrupted.
bool ends_by(int process, Clock::time_point end, const std::function<int()>& interrupted_by) {
  pollfd item{.fd = process, .events = POLLIN, .revents = 0};
  while (Clock::now() < end && interrupted_by() == 0) {
    if (::poll(&item, 1, static_cast<int>(between_looks.count())) > 0) {
      return true;
    }
  }
  return false;
}

/// Waits until the child may be reaped. Returns why we have ended its process group; empty: it
/// ended by itself.
std::string early_end_of(int child,
                         std::chrono::seconds time_limit,
                         const std::function<int()>& interrupted_by) {
  const UniqueFd process = open_pidfd(child);
  if (ends_by(process.get(), Clock::now() + time_limit, interrupted_by)) {
    return "";
  }
  const bool is_late = interrupted_by() == 0;
  ::kill(-child, SIGTERM);
  ends_by(process.get(), Clock::now() + goodbye, [] { return 0; });
  ::kill(-child, SIGKILL);
  return is_late ? fmt::format("no end in {} s", time_limit.count()) : "interrupted";
}

/// How it ended; empty: successfully.
std::string end_of(int child, const std::function<int()>& interrupted_by) {
  std::string early = early_end_of(child, time_max, interrupted_by);
  const int status = reap(child).value_or(0);
  if (!early.empty()) {
    return early;
  }
  if (WIFSIGNALED(status)) {
    return "killed by SIG" + name_of_signal(WTERMSIG(status));
  }
  return WEXITSTATUS(status) == 0 ? "" : fmt::format("exit {}", WEXITSTATUS(status));
}

}  // namespace

CommandEnd end_of_command(const std::string& command, const std::function<int()>& interrupted_by) {
  const Log log;
  const int child = start_child([&] { return become_shell(command.c_str(), log.file()); });
  std::string how = child < 0 ? ::strerrordesc_np(errno) : end_of(child, interrupted_by);
  return {.how = std::move(how), .output = log.text()};
}

std::optional<int> exit_code_of(std::vector<std::string> words,
                                const CommandFiles& files,
                                std::chrono::seconds time_limit,
                                const std::function<int()>& interrupted_by) {
  const std::vector<char*> arguments = pointers_to(words);
  const int child = start_child([&] { return become_program(arguments.data(), files); });
  if (child < 0) {
    return std::nullopt;
  }
  const bool has_ended = early_end_of(child, time_limit, interrupted_by).empty();
  const int status = reap(child).value_or(SIGKILL);
  return has_ended && WIFEXITED(status) ? std::optional(WEXITSTATUS(status)) : std::nullopt;
}

std::optional<CommandFailure> failure_of(const std::string& option,
                                         const std::string& command,
                                         const std::function<int()>& interrupted_by) {
  if (command.empty()) {
    return std::nullopt;
  }
  CommandEnd end = end_of_command(command, interrupted_by);
  if (end.how.empty()) {
    return std::nullopt;
  }
  return CommandFailure{.option = option,
                        .command = command,
                        .how = std::move(end.how),
                        .output = std::move(end.output)};
}

}  // namespace lastref::harness::warden
