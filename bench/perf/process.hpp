// process: runs other programs to their end, measures how long that takes, and ends them if this
// program is interrupted (Ctrl-C or SIGTERM), so that nothing is left.
//
// Failures are exceptions with a sentence for the user, which main prints.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace lastref::perf {

/// Throws std::runtime_error.
template <typename... Values>
[[noreturn]] void give_up(fmt::format_string<Values...> form, Values&&... values) {
  throw std::runtime_error(fmt::format(form, std::forward<Values>(values)...));
}

/// Prints a line to standard error. A write error does not matter.
void say(const std::string& line);

inline constexpr std::chrono::seconds usual_patience{600};

/// What to run. The output is not shown, except its last line if the program fails. If `log` is
/// empty, the program writes to our standard output and standard error.
struct ProcessOptions {
  std::vector<std::string> words;     ///< The first one is searched on PATH if it has no slash.
  std::filesystem::path folder = {};  ///< to run in; empty: ours
  /// Variables in addition to our own; they override ours of the same name.
  std::vector<std::pair<std::string, std::string>> environment = {};
  std::vector<std::string> without = {};           ///< Our variables that it does not get
  int kept_open = -1;                              ///< a descriptor of ours that it inherits
  std::filesystem::path log = "/dev/null";         ///< gets all its output; truncated first
  std::chrono::seconds patience = usual_patience;  ///< before its tree is killed
};

struct ProcessTimes {
  double wall_seconds = 0;
  /// In user code and in the kernel, for the program and all children that it has waited for.
  double processor_seconds = 0;
};

struct FailedProcess : std::runtime_error {
  enum class Why : std::uint8_t {
    not_started,  ///< `code` is an errno.
    exit_code,    ///< not 0
    killed,       ///< `code` is the signal.
    too_slow,     ///< `code` is the patience in seconds.
  };

  /// `said` is the last line of its log.
  FailedProcess(Why reason, int number, const std::string& program, const std::string& said = {});

  Why why;
  int code;
};

/// If there was a signal, throws Interrupted once the program has ended.
///
/// Throws          FailedProcess: any exit code except 0 is a failure.
ProcessTimes run_measured(const ProcessOptions& options);

/// The program's standard output. The log gets its standard error.
///
/// Throws          as run_measured
std::string output_of(ProcessOptions options);

/// A program in the folder of this one.
std::filesystem::path program_beside_us(const std::string& name);

/// This program has to end. It is not a std::exception, so that no handler of failures catches it.
struct Interrupted {
  int signal = 0;
};

/// Throws Interrupted if there was a signal. Code that waits calls it often.
void throw_if_interrupted();

struct EndedProgram {
  int status = 0;                ///< as waitpid(2) has it
  double processor_seconds = 0;  ///< as in ProcessTimes
};

/// A child of this process.
class StartedProgram {
 public:
  explicit StartedProgram(int process) noexcept : id_(process) {}

  int id() const noexcept { return id_; }
  /// Kills it and all its descendants.
  void kill() const;
  /// How it has ended, if it has. If a signal interrupts this process, sends that signal to the
  /// program and its descendants, and throws Interrupted when the program has ended. A program that
  /// outlives the signal by five seconds is killed.
  std::optional<EndedProgram> end();

 private:
  int id_;
  std::optional<std::chrono::steady_clock::time_point> killed_at_;  ///< Set after the first signal
};

/// Gives this program and its children the highest priority, if that is allowed. On a busy machine
/// the times of a pair then differ less, and fewer pairs are needed. Other programs wait meanwhile.
void be_first_in_line();

/// A new seed, short enough to be copied.
std::uint64_t new_seed();

}  // namespace lastref::perf
