#include "bench/growth_receiver.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <type_traits>

#include <lastref/reducers.hpp>
#include <lastref/tracker_client.hpp>
#include <lastref/worker.hpp>

namespace lastref::bench {
namespace {

constexpr char hold_verb = 'h';
constexpr char release_verb = 'r';
constexpr char array_verb = 'a';

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

}  // namespace

void give_up(const std::string& why) {
  std::fprintf(stderr, "growth: %s\n", why.c_str());
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

OtherMember::OtherMember(const std::string& tree) {
  std::array<int, 2> there{-1, -1};
  std::array<int, 2> back{-1, -1};
  if (::pipe2(there.data(), O_CLOEXEC) != 0 || ::pipe2(back.data(), O_CLOEXEC) != 0) {
    give_up("no pipe");
  }
  child_ = ::fork();
  if (child_ == 0) {
    ::dup2(there[0], STDIN_FILENO);
    ::dup2(back[1], STDOUT_FILENO);
    ::execl(this_program, "growth", "--receive", tree.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(there[0]);
  ::close(back[1]);
  to_ = there[1];
  from_ = back[0];
}

OtherMember::~OtherMember() {
  ::close(to_);
  ::close(from_);
  ::waitpid(child_, nullptr, 0);
}

void OtherMember::ask(char verb, os::Bytes bytes) {
  std::vector<std::byte> message{static_cast<std::byte>(verb)};
  message.insert(message.end(), bytes.begin(), bytes.end());
  write_message(to_, message);
  if (!read_message(from_)) {
    give_up("the receiver has ended");
  }
}

void OtherMember::hold(const std::string& path) {
  ask(hold_verb, os::bytes_of(path));
}

void OtherMember::release(const std::string& path) {
  ask(release_verb, os::bytes_of(path));
}

void OtherMember::send(const std::vector<std::byte>& reduction) {
  ask(array_verb, reduction);
}

int receive_for(os::Os& os, const std::string& tree) {
  const std::shared_ptr<tracker::Client> client = must(tracker::Client::join(os, tree));
  Receiver receiver(os, references_of(client));
  while (const auto message = read_message(STDIN_FILENO)) {
    const os::Bytes body = os::Bytes(*message).subspan(1);
    const auto name = [&] {
      return Resource{ResourceType::file,
                      {reinterpret_cast<const char*>(body.data()), body.size()}};
    };
    std::optional<Array> array;
    switch (std::to_integer<char>(message->front())) {
      case hold_verb:
        must(client->hold(name()));
        break;
      case release_verb:
        must(client->release(name()));
        break;
      case array_verb:
        array = must(receiver.rebuild(must(decode_reduction(body))));
        break;
      default:
        give_up("an unknown message");
    }
    write_message(STDOUT_FILENO, {});
  }
  return 0;
}

}  // namespace lastref::bench
