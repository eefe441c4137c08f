// measured_process: runs a program to its end and measures how long that takes.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

namespace lastref::perf {

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

struct FailedProcess {
  enum class Why : std::uint8_t {
    not_started,  ///< `code` is an errno.
    exit_code,    ///< not 0
    killed,       ///< `code` is the signal.
    too_slow,     ///< `code` is the patience in seconds.
  };
  Why why = Why::not_started;
  int code = 0;
  std::string program = {};
  std::string said = {};  ///< the last line of its log
};

/// One line for the user.
std::string describe(const FailedProcess& failed);

/// Any exit code except 0 is a failure. If there was a signal, throws Interrupted once the program
/// has ended.
tl::expected<ProcessTimes, FailedProcess> run_measured(const ProcessOptions& options);

/// The program's standard output, if it ends with 0. The log gets its standard error.
tl::expected<std::string, FailedProcess> output_of(ProcessOptions options);

/// A program in the folder of this one; or a message for the user why there is none.
tl::expected<std::filesystem::path, std::string> program_beside_us(const std::string& name);

/// A new temporary folder, which the destructor removes with its contents.
class ScratchFolder {
 public:
  ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();

  /// Throws std::filesystem::filesystem_error if it could not be made.
  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace lastref::perf
