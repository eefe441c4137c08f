// kernel_os_spawn: the attributes and descriptors of a new process, and its start.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <climits>

#include <lastref/kernel_os.hpp>
#include <lastref/spawned.hpp>

#include "impl/os/kernel_os_birth.hpp"
#include "impl/os/kernel_os_error.hpp"
#include "impl/os/kernel_os_limits.hpp"
#include "impl/os/kernel_os_numbers.hpp"
#include "impl/os/kernel_os_signals.hpp"
#include "impl/os/within_memory.hpp"

namespace lastref::os {
namespace {

/// Whether this program runs with more rights than its caller has: getauxval(3), AT_SECURE.
bool is_privileged() noexcept {
  return ::getauxval(AT_SECURE) != 0;
}

/// The file of this program, if it is called lastref.
std::string this_program() {
  std::array<char, PATH_MAX> buffer{};
  const ssize_t size = ::readlink("/proc/self/exe", buffer.data(), buffer.size());
  const std::string path(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return path.ends_with("/lastref") ? path : std::string();
}

/// The attributes of a child: these signals are blocked in addition to those that the program
/// blocks.
///
/// posix_spawn(3) runs the child with all signals blocked until it sets this mask, directly before
/// exec, which gives every signal with a handler its default action. Signals that the program
/// ignores stay ignored, also SIGPIPE; those that only we ignore do not.
class Attributes {
 public:
  Attributes() noexcept { error_ = ::posix_spawnattr_init(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  ~Attributes() { ::posix_spawnattr_destroy(&attributes_); }

  const posix_spawnattr_t* get() const noexcept { return &attributes_; }
  int error() const noexcept { return error_; }

  void block(std::span<const Signal> signals) noexcept {
    sigset_t blocked = blocked_for_program();
    for (const Signal signal : signals) {
      ::sigaddset(&blocked, number_of(signal));
    }
    sigset_t defaults;
    ::sigemptyset(&defaults);
    if (is_size_signal_ours()) {
      ::sigaddset(&defaults, SIGXFSZ);
    }
    note(::posix_spawnattr_setsigmask(&attributes_, &blocked));
    note(::posix_spawnattr_setsigdefault(&attributes_, &defaults));
    note(::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  }

 private:
  void note(int error) noexcept { error_ = error_ == 0 ? error : error_; }

  posix_spawnattr_t attributes_{};
  int error_ = 0;
};

/// The descriptors of the child: these under their numbers, and nothing else above 2.
class FdActions {
 public:
  FdActions() noexcept { error_ = ::posix_spawn_file_actions_init(&actions_); }
  FdActions(const FdActions&) = delete;
  FdActions& operator=(const FdActions&) = delete;
  ~FdActions() { ::posix_spawn_file_actions_destroy(&actions_); }

  const posix_spawn_file_actions_t* get() const noexcept { return &actions_; }
  int error() const noexcept { return error_; }

  void pass(std::span<const PassedFd> fds) noexcept {
    int above = standard_numbers;   // All numbers in the child are less than this one,
    int beyond = standard_numbers;  // and all numbers of both processes are less than this one.
    bool overlaps = false;
    for (const PassedFd& fd : fds) {
      LASTREF_ASSERT(fd.number_there >= standard_numbers);
      above = std::max(above, fd.number_there + 1);
      beyond = std::max({beyond, above, number(fd.here) + 1});
      overlaps =
          overlaps || std::ranges::any_of(fds, [&](const PassedFd& other) {
            return other.number_there == number(fd.here) && other.number_there != fd.number_there;
          });
    }
    // If a number of ours is also one in the child, all are first duplicated to higher numbers.
    int aside = beyond;
    for (const PassedFd& fd : fds) {
      duplicate(number(fd.here), overlaps ? aside++ : fd.number_there);
    }
    aside = beyond;
    for (const PassedFd& fd : fds) {
      if (overlaps) {
        duplicate(aside++, fd.number_there);
      }
    }
    close_all_but(fds, above);
    fill_standard();
  }

 private:
  /// Also clears close-on-exec if both numbers are the same.
  void duplicate(int from, int to) noexcept {
    note(::posix_spawn_file_actions_adddup2(&actions_, from, to));
  }

  /// Our descriptors are close-on-exec; those of the program around us may not be. They would keep
  /// pipes and files open while the child runs.
  void close_all_but(std::span<const PassedFd> fds, int above) noexcept {
    for (int i = standard_numbers; i < above; ++i) {
      if (std::ranges::find(fds, i, &PassedFd::number_there) == fds.end()) {
        note(::posix_spawn_file_actions_addclose(&actions_, i));
      }
    }
    note(::posix_spawn_file_actions_addclosefrom_np(&actions_, above));
  }

  /// The child has all three, even if the program has not, or not for others: no file that it opens
  /// shall be taken for them.
  void fill_standard() noexcept {
    for (int i = 0; i < standard_numbers; ++i) {
      if (!is_standard(i)) {
        note(::posix_spawn_file_actions_addopen(&actions_, i, "/dev/null", O_RDWR, 0));
      }
    }
  }

  void note(int error) noexcept { error_ = error_ == 0 ? error : error_; }

  posix_spawn_file_actions_t actions_{};
  int error_ = 0;
};

/// Strings in the format of exec: pointers that are valid while the strings are, and a null pointer
/// at the end.
std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (std::string& string : strings) {
    pointers.push_back(string.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

/// Our environment and `added`, which takes precedence. A set-user-id program's environment, which
/// its caller controls, is left out.
std::vector<std::string> environment_with(
    std::span<const std::pair<std::string, std::string>> added) {
  std::vector<std::string> strings;
  if (is_privileged()) {
    strings.emplace_back("PATH=/usr/sbin:/usr/bin:/sbin:/bin");
  }
  for (char** at = is_privileged() ? nullptr : environ; at != nullptr && *at != nullptr; ++at) {
    strings.emplace_back(*at);
  }
  for (const auto& [name, value] : added) {
    LASTREF_ASSERT(!name.empty());
    LASTREF_ASSERT(name.find('=') == std::string::npos);
    const std::string prefix = name + '=';
    std::erase_if(strings, [&](const std::string& string) { return string.starts_with(prefix); });
    strings.push_back(prefix + value);
  }
  return strings;
}

/// About the size of the stack that posix_spawn(3) maps for a child before exec.
constexpr std::size_t spawn_stack = std::size_t{64} << 10U;

tl::unexpected<Error> spawn_failure(int error, Call call, const std::string& program) {
  const std::string_view limit = error == ENOMEM ? limit_of_addresses(spawn_stack) : "";
  if (limit.empty()) {
    return failed_with_code(error, call, program);
  }
  return failed_with_code(error, call, std::string(program).append(" (").append(limit).append(")"));
}

}  // namespace

Result<Child> KernelOs::spawn(const SpawnOptions& options) noexcept {
  return within_memory("spawn", [&] { return spawn_within_memory(options); });
}

Result<Child> KernelOs::spawn_within_memory(const SpawnOptions& options) {
  // Of a set-user-id program, too: it is only refused for it.
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  if (const char* const role = std::getenv(spawned_marker)) {
    return not_guarded(role, Call::spawn);
  }
  std::string program = program_.empty() ? this_program() : program_;
  if (program.empty()) {
    program = "lastref";
  }
  if (is_privileged() && !program.starts_with('/')) {
    return failure(std::errc::permission_denied,
                   program + " (a set-user-id program starts only what has an absolute path)",
                   Call::spawn);
  }
  std::vector<std::string> strings = {"lastref", options.entry};
  strings.insert(strings.end(), options.arguments.begin(), options.arguments.end());
  std::vector<std::string> variables = environment_with(options.environment);

  const StandardNumbers kept;
  Attributes attributes;
  attributes.block(options.blocked);
  FdActions actions;
  actions.pass(options.fds);
  if (const int error = std::max(attributes.error(), actions.error()); error != 0) {
    return failed_with_code(error, Call::spawn, program);
  }
  const std::vector<char*> argument_pointers = pointers_to(strings);
  const std::vector<char*> variable_pointers = pointers_to(variables);
  Birth birth{.program = program.c_str(),
              .is_searched = program.find('/') == std::string::npos,
              .actions = actions.get(),
              .attributes = attributes.get(),
              .arguments = argument_pointers.data(),
              .variables = variable_pointers.data(),
              .many_fds = options.many_fds};
  const bool is_childs_end_needed = options.end_wanted && !tells_how_nobodys_end();
  if (is_childs_end_needed || !start_nobodys(birth)) {
    start_child(birth);
  }
  if (birth.error != 0) {
    return spawn_failure(birth.error, birth.failed, program);
  }
  const int process = above_standard(birth.process);
  if (process < 0) {
    auto why = failed_process(Call::spawn, birth.pid);
    return why;
  }
  if (!options.end_wanted) {
    reap_in_background(birth.pid, process);
  }
  return Child{.pid = birth.pid, .process = Fd{process}};
}

}  // namespace lastref::os
