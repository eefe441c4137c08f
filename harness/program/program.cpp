#include "harness/program/program.hpp"

#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "harness/platform/child_process.hpp"

namespace lastref::harness {

namespace {

void call_each_second(int process, const std::function<void()>& work) {
  const UniqueFd ends = open_pidfd(process);
  pollfd item{.fd = ends.get(), .events = POLLIN, .revents = 0};
  constexpr int second = 1000;  // milliseconds
  for (int ready = 0; ends && ready <= 0 && (ready == 0 || errno == EINTR);) {
    ready = ::poll(&item, 1, second);
    if (ready == 0) {
      work();
    }
  }
}

}  // namespace

Result<std::optional<int>> run_program(const std::string& path,
                                       std::vector<std::string> arguments,
                                       const std::function<void()>& each_second) {
  arguments.insert(arguments.begin(), path);
  const std::vector<char*> words = pointers_to(arguments);
  pid_t pid = 0;
  // Not with os::Os, which detaches its children: setpriv below asks for the death of the parent.
  if (const int error = ::posix_spawnp(&pid, path.c_str(), nullptr, nullptr, words.data(), environ);
      error != 0) {
    return failure(std::errc{error}, path, Call::spawn);
  }
  if (each_second) {
    call_each_second(pid, each_second);
  }
  const std::optional<int> status = reap(pid);
  if (!status) {
    return failure(std::errc{errno}, path, Call::wait_child);
  }
  return WIFEXITED(*status) ? std::optional(WEXITSTATUS(*status)) : std::nullopt;
}

Error become_program(const std::string& path, std::vector<std::string> arguments) {
  ::execv(path.c_str(), pointers_to(arguments).data());
  return {.code = std::errc{errno}, .call = Call::spawn, .subject = path};
}

Result<std::optional<int>> run_command(const std::string& folder,
                                       const std::string& command,
                                       const std::string& log,
                                       int seconds,
                                       const std::function<void()>& each_second) {
  // The shell gets the caller's arguments only as arguments, never as code. With setpriv the
  // command does not outlive us if we are killed during the minutes that it takes, except for a
  // process that a shell is forking at that moment with all signals blocked. timeout(1) ends
  // without its command if it is ended before it knows it, so the command begins when timeout
  // sleeps; its process is `$$`.
  constexpr const char* script =
      R"(cd -- "$1" && exec $(command -v setpriv >/dev/null && echo setpriv --pdeathsig TERM) )"
      R"(timeout --kill-after=5 "$4" sh -c )"
      R"('state=; until [ "$state" = S ]; do read -r _ _ state _ <"/proc/$0/stat" || exit; )"
      R"([ "$state" != Z ] || exit; done; exec sh -c "$1"' "$$" "$2" >"$3" 2>&1 </dev/null)";
  return run_program(
      "/bin/sh", {"-c", script, "sh", folder, command, log, std::to_string(seconds)}, each_second);
}

}  // namespace lastref::harness
