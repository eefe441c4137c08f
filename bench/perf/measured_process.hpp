// measured_process: runs a program to its end, and says how long that took.
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

/// What to run. Nothing of what it says is seen, but the end of it when it fails; or all of it,
/// beside what we say, where its log is empty.
struct ProcessOptions {
  std::vector<std::string> words;     ///< The first one is looked for on PATH, if it has no slash.
  std::filesystem::path folder = {};  ///< to run in; empty: ours
  /// Variables besides our own, whose value of the same name it does not see.
  std::vector<std::pair<std::string, std::string>> environment = {};
  std::vector<std::string> without = {};           ///< Variables of our own that it does not see
  int kept_open = -1;                              ///< a descriptor of ours that it has, too
  std::filesystem::path log = "/dev/null";         ///< where all that it says goes; begun anew
  std::chrono::seconds patience = usual_patience;  ///< before its tree is killed
};

struct ProcessTimes {
  double wall_seconds = 0;
  /// In user code and in the kernel, of the program and of all children that it has waited for.
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

/// One line for people.
std::string describe(const FailedProcess& failed);

/// Ends with exit code 0, or it has failed. Throws Interrupted, when the program has ended.
tl::expected<ProcessTimes, FailedProcess> run_measured(const ProcessOptions& options);

/// What the program says on standard output, if it ends well. The log takes what it says besides.
tl::expected<std::string, FailedProcess> output_of(ProcessOptions options);

/// A program that is built beside this one; or why there is none, for people.
tl::expected<std::filesystem::path, std::string> program_beside_us(const std::string& name);

/// A folder of its own among temporary files, which goes with all that is in it.
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
