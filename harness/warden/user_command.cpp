#include "harness/warden/user_command.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "harness/program/program.hpp"

namespace lastref::harness::warden {
namespace {

/// A file without a name, for what a command says: no folder of the program's is touched.
class Log {
 public:
  Log() noexcept : file_(::memfd_create("log", MFD_CLOEXEC)) {}
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  ~Log() { ::close(file_); }

  std::string path() const { return fmt::format("/proc/{}/fd/{}", ::getpid(), file_); }
  std::string text() const {
    const off_t size = ::lseek(file_, 0, SEEK_END);
    std::string text(static_cast<std::size_t>(std::max<off_t>(size, 0)), ' ');
    const ssize_t got = ::pread(file_, text.data(), text.size(), 0);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return text;
  }

 private:
  int file_;
};

constexpr int seconds_max = 600;

std::string how_of(const Result<std::optional<int>>& code) {
  constexpr int too_long = 124;  // timeout(1)
  if (!code) {
    return describe(code.error());
  }
  if (!*code) {
    return "killed";
  }
  return **code == too_long ? fmt::format("no end in {} s", seconds_max)
                            : fmt::format("exit {}", **code);
}

}  // namespace

std::optional<CommandFailure> failure_of(const std::string& option, const std::string& command) {
  if (command.empty()) {
    return std::nullopt;
  }
  const Log log;
  const auto code = run_command(".", command, log.path(), seconds_max);
  if (code && *code == 0) {
    return std::nullopt;
  }
  return CommandFailure{
      .option = option, .command = command, .how = how_of(code), .output = log.text()};
}

}  // namespace lastref::harness::warden
