#include "bench/other_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <utility>

#include <lastref/worker.hpp>

namespace lastref::bench {
namespace {

bool write_all(int fd, const void* from, std::size_t size) {
  const char* at = static_cast<const char*>(from);
  while (size > 0) {
    const ssize_t written = ::write(fd, at, size);
    if (written <= 0) {
      return false;
    }
    at += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

bool read_all(int fd, void* into, std::size_t size) {
  char* at = static_cast<char*>(into);
  while (size > 0) {
    const ssize_t read = ::read(fd, at, size);
    if (read <= 0) {
      return false;
    }
    at += read;
    size -= static_cast<std::size_t>(read);
  }
  return true;
}

[[noreturn]] void become(std::vector<std::string> arguments, int from, int to) {
  std::vector<char*> pointers;
  for (std::string& argument : arguments) {
    pointers.push_back(argument.data());
  }
  pointers.push_back(nullptr);
  ::dup2(from, STDIN_FILENO);
  ::dup2(to, STDOUT_FILENO);
  ::execv(pointers.front(), pointers.data());
  ::_exit(127);
}

}  // namespace

void give_up(const std::string& why) {
  std::fprintf(stderr, "bench: %s\n", why.c_str());
  ::_exit(2);
}

void write_message(int fd, os::Bytes message) {
  const std::uint64_t size = message.size();
  if (!write_all(fd, &size, sizeof size) || !write_all(fd, message.data(), message.size())) {
    give_up("no process reads the message");
  }
}

std::optional<std::vector<std::byte>> read_message(int fd) {
  std::uint64_t size = 0;
  if (!read_all(fd, &size, sizeof size)) {
    return std::nullopt;
  }
  std::vector<std::byte> message(size);
  return read_all(fd, message.data(), size) ? std::optional(std::move(message)) : std::nullopt;
}

OtherProcess::OtherProcess(const std::function<void(int, int)>& body) {
  std::array<int, 2> there{-1, -1};
  std::array<int, 2> back{-1, -1};
  if (::pipe2(there.data(), O_CLOEXEC) != 0 || ::pipe2(back.data(), O_CLOEXEC) != 0) {
    return;
  }
  child_ = ::fork();
  if (child_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
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

int OtherProcess::end() {
  if (child_ < 0) {
    return -1;
  }
  ::close(to_);
  ::close(from_);
  int status = -1;
  ::waitpid(std::exchange(child_, -1), &status, 0);
  return status;
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

OtherMember::OtherMember(const std::string& tree) : process_({this_program, "--receive", tree}) {}

void OtherMember::ask(char verb, os::Bytes bytes) {
  std::vector<std::byte> message{static_cast<std::byte>(verb)};
  message.insert(message.end(), bytes.begin(), bytes.end());
  process_.send(message);
  if (!process_.receive()) {
    give_up("the receiver has ended");
  }
}

}  // namespace lastref::bench
