#include "bench/perf/measured_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "bench/perf/interrupted.hpp"
#include "harness/cli/interruption.hpp"

namespace lastref::perf {
namespace {

using Clock = std::chrono::steady_clock;
using Why = FailedProcess::Why;

/// Sets the standard descriptors and the folder of a child.
class FileActions {
 public:
  FileActions() { ::posix_spawn_file_actions_init(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }

  void open(int fd, const std::string& path, int flags) {
    constexpr mode_t mode = 0600;
    ::posix_spawn_file_actions_addopen(&actions_, fd, path.c_str(), flags, mode);
  }
  void copy(int from, int to) { ::posix_spawn_file_actions_adddup2(&actions_, from, to); }
  void enter(const std::string& folder) {
    ::posix_spawn_file_actions_addchdir_np(&actions_, folder.c_str());
  }
  const posix_spawn_file_actions_t* get() const noexcept { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

/// A list as execve(2) needs it. The words have to outlive it.
std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) {
    pointers.push_back(word.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> environment_for(const ProcessOptions& options) {
  std::vector<std::string> hidden = options.without;
  for (const auto& [name, value] : options.environment) {
    hidden.push_back(name);
  }
  std::vector<std::string> all;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (std::ranges::find(hidden, text.substr(0, text.find('='))) == hidden.end()) {
      all.emplace_back(text);
    }
  }
  for (const auto& [name, value] : options.environment) {
    all.push_back(fmt::format("{}={}", name, value));
  }
  return all;
}

std::string last_line_of(const std::filesystem::path& log) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(log, error)) {
    return {};
  }
  std::ifstream file(log);
  std::string last;
  for (std::string line; std::getline(file, line);) {
    last = line.empty() ? last : line;
  }
  return last;
}

double seconds_in(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

/// How often a wait checks for an interruption: a signal may arrive just before the wait.
constexpr std::chrono::milliseconds look_every{200};

/// Waits until the process ends, without reaping it. False if it did not end in time, or before
/// `is_over`.
bool ends_within(
    pid_t process, std::chrono::seconds patience, bool (*is_over)() = [] { return false; }) {
  const auto fd = static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
  if (fd < 0) {
    return true;  // An old kernel has no pidfd: wait without a limit.
  }
  const auto until = Clock::now() + patience;
  pollfd item{.fd = fd, .events = POLLIN, .revents = 0};
  bool has_ended = false;
  do {
    has_ended = ::poll(&item, 1, static_cast<int>(look_every.count())) == 1;
  } while (!has_ended && Clock::now() < until && !is_over());
  ::close(fd);
  return has_ended;
}

/// Sends the signal that we got, so that the process cleans up as it would at a terminal.
void interrupt(pid_t process) {
  signal_tree(process, harness::Interruption::signal());
  if (!ends_within(process, grace)) {
    signal_tree(process, SIGKILL);
  }
}

tl::expected<ProcessTimes, FailedProcess> run_with(const ProcessOptions& options,
                                                   const std::filesystem::path& output) {
  std::vector<std::string> words = options.words;
  std::vector<std::string> variables = environment_for(options);
  FileActions actions;
  actions.open(STDIN_FILENO, "/dev/null", O_RDONLY);
  if (!options.log.empty()) {
    actions.open(STDERR_FILENO, options.log.string(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND);
  }
  if (output.empty() && !options.log.empty()) {
    actions.copy(STDERR_FILENO, STDOUT_FILENO);
  } else if (!output.empty()) {
    actions.open(STDOUT_FILENO, output.string(), O_WRONLY | O_CREAT | O_TRUNC);
  }
  if (options.kept_open >= 0) {
    // Copied to itself, the descriptor stays open over execve(2).
    // posix_spawn_file_actions_adddup2(3p)
    actions.copy(options.kept_open, options.kept_open);
  }
  if (!options.folder.empty()) {
    actions.enter(options.folder.string());
  }
  FailedProcess failed{.program = words.front()};
  pid_t process = 0;
  const auto began = Clock::now();
  failed.code = ::posix_spawnp(&process,
                               words.front().c_str(),
                               actions.get(),
                               nullptr,
                               pointers_to(words).data(),
                               pointers_to(variables).data());
  if (failed.code != 0) {
    return tl::unexpected<FailedProcess>(std::move(failed));
  }
  const bool is_in_time = ends_within(process, options.patience, harness::Interruption::happened);
  if (harness::Interruption::happened()) {
    interrupt(process);
  } else if (!is_in_time) {
    signal_tree(process, SIGKILL);
  }
  int status = 0;
  rusage usage{};
  while (::wait4(process, &status, 0, &usage) < 0) {
    if (errno != EINTR) {
      failed.code = errno;
      return tl::unexpected<FailedProcess>(std::move(failed));
    }
  }
  throw_if_interrupted();
  const ProcessTimes times{
      .wall_seconds = std::chrono::duration<double>(Clock::now() - began).count(),
      .processor_seconds = seconds_in(usage.ru_utime) + seconds_in(usage.ru_stime)};
  if (is_in_time && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    return times;
  }
  failed.why = !is_in_time ? Why::too_slow : WIFEXITED(status) ? Why::exit_code : Why::killed;
  failed.code = !is_in_time         ? static_cast<int>(options.patience.count())
                : WIFEXITED(status) ? WEXITSTATUS(status)
                                    : WTERMSIG(status);
  failed.said = last_line_of(options.log);
  return tl::unexpected<FailedProcess>(std::move(failed));
}

}  // namespace

std::string describe(const FailedProcess& failed) {
  std::string said = failed.said.empty() ? "" : ": " + failed.said;
  switch (failed.why) {
    case Why::not_started:
      return fmt::format(
          "{} cannot be started: {}", failed.program, std::generic_category().message(failed.code));
    case Why::exit_code:
      return fmt::format("{} ended with exit code {}{}", failed.program, failed.code, said);
    case Why::killed:
      return fmt::format("{} was killed by signal {}{}", failed.program, failed.code, said);
    case Why::too_slow:
      return fmt::format("{} did not end within {} s{}", failed.program, failed.code, said);
  }
  return said;
}

tl::expected<ProcessTimes, FailedProcess> run_measured(const ProcessOptions& options) {
  return run_with(options, {});
}

tl::expected<std::string, FailedProcess> output_of(ProcessOptions options) {
  const ScratchFolder scratch;
  const std::filesystem::path output = scratch.path() / "output";
  if (options.log == "/dev/null") {
    options.log = scratch.path() / "log";
  }
  if (auto times = run_with(options, output); !times) {
    return tl::unexpected<FailedProcess>(std::move(times.error()));
  }
  std::ifstream file(output, std::ios::binary);
  return std::string{std::istreambuf_iterator<char>(file), {}};
}

tl::expected<std::filesystem::path, std::string> program_beside_us(const std::string& name) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  std::filesystem::path program = self.parent_path() / name;
  if (error || !std::filesystem::exists(program, error)) {
    return tl::unexpected<std::string>(name + " is not built; it belongs beside this program");
  }
  return program;
}

ScratchFolder::ScratchFolder() {
  std::string name = std::filesystem::temp_directory_path() / "lastref-perf-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) {
    throw std::filesystem::filesystem_error(
        "no folder for what is measured", name, std::error_code(errno, std::generic_category()));
  }
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace lastref::perf
