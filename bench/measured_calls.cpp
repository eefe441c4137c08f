#include "bench/measured_calls.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "bench/times.hpp"

namespace lastref::bench {
namespace {

constexpr std::string_view verb = "make-calls";

// The folders of the path do not exist either: the kernel fails at the first one.
constexpr const char* name = "/no-such-folder/below/name";
constexpr const char* other_name = "/no-such-folder/below/other-name";
constexpr const char* relative_name = "no-such-folder/below/name";

constexpr std::array calls = {
    MeasuredCall{
        .name = "flock",
        .system_call = "flock",
        .number = SYS_flock,
        .make = [] { ::syscall(SYS_flock, -1, LOCK_UN); },
    },
    MeasuredCall{
        .name = "getppid",
        .system_call = "getppid",
        .number = SYS_getppid,
        .make = [] { ::syscall(SYS_getppid); },
    },
    MeasuredCall{
        .name = "mkdir",
        .system_call = "mkdir",
        .number = SYS_mkdir,
        .make = [] { ::syscall(SYS_mkdir, name, 0700); },
    },
    MeasuredCall{
        .name = "openat",
        .system_call = "openat",
        .number = SYS_openat,
        .make = [] { ::syscall(SYS_openat, AT_FDCWD, name, O_RDONLY); },
    },
    MeasuredCall{
        .name = "openat_below",
        .system_call = "openat",
        .number = SYS_openat,
        .make = [] { ::syscall(SYS_openat, AT_FDCWD, relative_name, O_RDONLY); },
    },
    MeasuredCall{
        .name = "rename",
        .system_call = "rename",
        .number = SYS_rename,
        .make = [] { ::syscall(SYS_rename, name, other_name); },
    },
    MeasuredCall{
        .name = "unlink",
        .system_call = "unlink",
        .number = SYS_unlink,
        .make = [] { ::syscall(SYS_unlink, name); },
    },
};

}  // namespace

std::span<const MeasuredCall> measured_calls() noexcept {
  return calls;
}

const MeasuredCall& measured_call_named(std::string_view name) {
  return *std::ranges::find(calls, name, &MeasuredCall::name);
}

std::vector<std::string> command_that_makes(const MeasuredCall& call, std::size_t count, int tell) {
  // Resolved here, because under strace the link would be that of another program.
  static const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  return {
      self, std::string(verb), std::string(call.name), std::to_string(count), std::to_string(tell)};
}

bool makes_calls(std::span<char* const> arguments) {
  constexpr std::size_t words = 5;
  if (arguments.size() != words || arguments[1] != verb) {
    return false;
  }
  const MeasuredCall& call = measured_call_named(arguments[2]);
  const auto count = static_cast<std::size_t>(std::atol(arguments[3]));
  const auto make_all = [&] {
    for (std::size_t made = 0; made < count; ++made) {
      call.make();
    }
  };
  make_all();
  const double each = seconds(make_all) / static_cast<double>(count);
  static_cast<void>(!::write(std::atoi(arguments[4]), &each, sizeof each));
  return true;
}

}  // namespace lastref::bench
