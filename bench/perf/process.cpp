#include "bench/perf/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iostream>
#include <system_error>

#include "bench/perf/files.hpp"
#include "harness/cli/interruption.hpp"
#include "harness/platform/child_process.hpp"
#include "harness/platform/proc.hpp"

namespace lastref::perf {
namespace {

using Clock = std::chrono::steady_clock;
using Why = FailedProcess::Why;

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

/// The time that a program has to clean up after the signal. Then its tree is killed.
constexpr std::chrono::seconds grace{5};
/// How often a wait checks for an interruption: a signal may arrive just before the wait.
constexpr int look_every_ms = 200;

/// Sends a signal to a process and to all its descendants.
void signal_tree(int process, int signal) {
  // A process that has lost its parent meanwhile is not found.
  for (const int child : harness::children_of(process)) {
    signal_tree(child, signal);
  }
  ::kill(process, signal);
}

/// Sets the standard descriptors and the folder of a child. `actions` are initialised.
void prepare(posix_spawn_file_actions_t& actions,
             const ProcessOptions& options,
             const std::filesystem::path& output) {
  const auto open = [&](int fd, const std::filesystem::path& path, int flags) {
    ::posix_spawn_file_actions_addopen(&actions, fd, path.c_str(), flags, 0600);
  };
  constexpr int create = O_WRONLY | O_CREAT | O_TRUNC;
  open(STDIN_FILENO, "/dev/null", O_RDONLY);
  if (!options.log.empty()) {
    open(STDERR_FILENO, options.log, create | O_APPEND);
  }
  if (!output.empty()) {
    open(STDOUT_FILENO, output, create);
  } else if (!options.log.empty()) {
    ::posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  }
  if (options.kept_open >= 0) {
    // Copied to itself, the descriptor stays open over execve(2).
    // posix_spawn_file_actions_adddup2(3p)
    ::posix_spawn_file_actions_adddup2(&actions, options.kept_open, options.kept_open);
  }
  if (!options.folder.empty()) {
    ::posix_spawn_file_actions_addchdir_np(&actions, options.folder.c_str());
  }
}

ProcessTimes run_with(const ProcessOptions& options, const std::filesystem::path& output) {
  std::vector<std::string> words = options.words;
  std::vector<std::string> variables = environment_for(options);
  const std::string& program = options.words.front();
  posix_spawn_file_actions_t actions{};
  ::posix_spawn_file_actions_init(&actions);
  prepare(actions, options, output);
  pid_t process = 0;
  const auto began = Clock::now();
  const int error = ::posix_spawnp(&process,
                                   program.c_str(),
                                   &actions,
                                   nullptr,
                                   harness::pointers_to(words).data(),
                                   harness::pointers_to(variables).data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    throw FailedProcess(Why::not_started, error, program);
  }
  StartedProgram started(process);
  const harness::UniqueFd fd = harness::open_pidfd(process);
  pollfd item{.fd = fd.get(), .events = POLLIN, .revents = 0};
  bool is_in_time = true;
  std::optional<EndedProgram> ended;
  while (!(ended = started.end())) {
    if (is_in_time && Clock::now() - began >= options.patience) {
      is_in_time = false;
      started.kill();
    }
    ::poll(&item, 1, look_every_ms);
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
  const auto fail = [&](Why why, int code) {
    throw FailedProcess(why, code, program, last_line_of(options.log));
  };
  if (!is_in_time) {
    fail(Why::too_slow, static_cast<int>(options.patience.count()));
  }
  if (!WIFEXITED(ended->status)) {
    fail(Why::killed, WTERMSIG(ended->status));
  }
  if (WEXITSTATUS(ended->status) != 0) {
    fail(Why::exit_code, WEXITSTATUS(ended->status));
  }
  return {.wall_seconds = seconds, .processor_seconds = ended->processor_seconds};
}

std::string outcome_of(Why why, int code) {
  switch (why) {
    case Why::not_started:
      return "cannot be started: " + std::generic_category().message(code);
    case Why::exit_code:
      return fmt::format("ended with exit code {}", code);
    case Why::killed:
      return fmt::format("was killed by signal {}", code);
    case Why::too_slow:
      break;
  }
  return fmt::format("did not end within {} s", code);
}

}  // namespace

void say(const std::string& line) {
  std::cerr << line << std::endl;
}

FailedProcess::FailedProcess(Why reason,
                             int number,
                             const std::string& program,
                             const std::string& said)
    : runtime_error(program + ' ' + outcome_of(reason, number) + (said.empty() ? "" : ": " + said)),
      why(reason),
      code(number) {}

ProcessTimes run_measured(const ProcessOptions& options) {
  return run_with(options, {});
}

std::string output_of(ProcessOptions options) {
  const ScratchFolder scratch;
  const std::filesystem::path output = scratch.path() / "output";
  if (options.log == "/dev/null") {
    options.log = scratch.path() / "log";
  }
  run_with(options, output);
  return text_of(output).value_or("");
}

std::filesystem::path program_beside_us(const std::string& name) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  std::filesystem::path program = self.parent_path() / name;
  if (error || !std::filesystem::exists(program, error)) {
    give_up("{} is not built; it has to be in the folder of this program", name);
  }
  return program;
}

void throw_if_interrupted() {
  if (const int signal = harness::Interruption::signal(); signal != 0) {
    throw Interrupted{signal};
  }
}

void StartedProgram::kill() const {
  signal_tree(id_, SIGKILL);
}

std::optional<EndedProgram> StartedProgram::end() {
  const auto now = Clock::now();
  if (harness::Interruption::happened() && !killed_at_) {
    signal_tree(id_, harness::Interruption::signal());
    killed_at_ = now + grace;
  }
  if (killed_at_ && now >= *killed_at_) {
    kill();
  }
  EndedProgram ended;
  rusage usage{};
  const int waited = ::wait4(id_, &ended.status, WNOHANG, &usage);
  if (waited == 0) {
    return std::nullopt;
  }
  if (waited < 0) {
    throw std::system_error(errno, std::generic_category(), "a program cannot be waited for");
  }
  throw_if_interrupted();
  ended.processor_seconds = seconds_in(usage.ru_utime) + seconds_in(usage.ru_stime);
  return ended;
}

void be_first_in_line() {
  constexpr int first = -20;
  ::setpriority(PRIO_PROCESS, 0, first);
}

std::uint64_t new_seed() {
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  return (static_cast<std::uint64_t>(now) / 1000 + static_cast<std::uint64_t>(::getpid()) * 7919) %
         1'000'000;
}

}  // namespace lastref::perf
