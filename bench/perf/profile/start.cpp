#include "bench/perf/profile/start.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <iterator>

#include "bench/perf/interrupted.hpp"
#include "harness/cli/interruption.hpp"

namespace lastref::perf {

std::optional<int> StartedProgram::end() {
  const auto now = std::chrono::steady_clock::now();
  if (harness::Interruption::happened() && !killed_at_) {
    signal_tree(id_, harness::Interruption::signal());
    killed_at_ = now + grace;
  }
  if (killed_at_ && now >= *killed_at_) {
    signal_tree(id_, SIGKILL);
  }
  int how = 0;
  if (::waitpid(id_, &how, WNOHANG) == 0) {
    return std::nullopt;
  }
  throw_if_interrupted();
  return how;
}

Result<StartedProgram> start_program(const std::vector<std::string>& command,
                                     const std::optional<std::array<int, 2>>& go) {
  std::vector<char*> words;
  std::ranges::transform(command, std::back_inserter(words), [](const std::string& word) {
    return const_cast<char*>(word.c_str());
  });
  words.push_back(nullptr);
  const int child = ::fork();
  if (child < 0) {
    return failure(std::errc{errno}, "fork");
  }
  if (child > 0) {
    return StartedProgram(child);
  }
  if (go) {
    ::close((*go)[1]);
    char byte = 0;
    static_cast<void>(!::read((*go)[0], &byte, 1));
  }
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  ::execvp(words.front(), words.data());
  ::_exit(127);
}

}  // namespace lastref::perf
