#include "bench/other_process.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

namespace lastref::bench {
namespace {

void become(const std::vector<std::string>& arguments, int from, int to) {
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) {
    pointers.push_back(const_cast<char*>(argument.c_str()));
  }
  pointers.push_back(nullptr);
  ::dup2(from, STDIN_FILENO);
  ::dup2(to, STDOUT_FILENO);
  ::execv(pointers.front(), pointers.data());
}

}  // namespace

OtherProcess::OtherProcess(const std::function<void(int, int)>& body) {
  std::array<int, 2> there{-1, -1};
  std::array<int, 2> back{-1, -1};
  if (::pipe2(there.data(), O_CLOEXEC) != 0 || ::pipe2(back.data(), O_CLOEXEC) != 0) {
    return;
  }
  child_ = ::fork();
  if (child_ == 0) {
    ::close(there[1]);
    ::close(back[0]);
    body(there[0], back[1]);
    ::_exit(0);
  }
  ::close(there[0]);
  ::close(back[1]);
  to_ = there[1];
  from_ = back[0];
}

OtherProcess::OtherProcess(const std::vector<std::string>& arguments)
    : OtherProcess([&](int from, int to) { become(arguments, from, to); }) {}

OtherProcess::~OtherProcess() {
  ::close(to_);
  ::close(from_);
  if (child_ > 0) {
    ::waitpid(child_, nullptr, 0);
  }
}

bool OtherProcess::ping_pong(std::size_t count) {
  char byte = 0;
  bool answers = true;
  for (std::size_t time = 0; answers && time < count; ++time) {
    answers = ::write(to_, &byte, 1) == 1 && ::read(from_, &byte, 1) == 1;
  }
  return answers;
}

std::optional<std::string> OtherProcess::ask(const std::string& line) {
  const std::string text = line + '\n';
  if (::write(to_, text.data(), text.size()) < 0) {
    return std::nullopt;
  }
  std::string answer;
  for (char byte = 0; ::read(from_, &byte, 1) == 1; answer += byte) {
    if (byte == '\n') {
      return answer;
    }
  }
  return std::nullopt;
}

}  // namespace lastref::bench
