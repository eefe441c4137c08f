// OtherProcess: a child that answers through a pair of pipes, for comparisons in the same run.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <lastref/owners.hpp>

namespace lastref::bench {

/// Writes the reason to standard error and ends this program. A benchmark that measures something
/// else than it claims is worse than none.
[[noreturn]] void give_up(const std::string& why);

template <typename T>
auto must(T result) {
  if (!result.has_value()) {
    give_up(describe(result.error()));
  }
  if constexpr (!std::is_void_v<typename T::value_type>) {
    return *std::move(result);
  }
}

/// A whole message through a pipe; nothing at the end of the pipe.
void write_message(int fd, os::Bytes message);
std::optional<std::vector<std::byte>> read_message(int fd);

class OtherProcess {
 public:
  /// `body` gets the descriptors to read and to write. It runs in a fork: system calls only.
  explicit OtherProcess(const std::function<void(int, int)>& body);
  /// A program, with the pipes as its standard input and output.
  explicit OtherProcess(const std::vector<std::string>& arguments);
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;
  ~OtherProcess() { end(); }

  /// Sends one byte and reads one, `count` times. False if there is no answer.
  bool ping_pong(std::size_t count);
  /// Sends a line and reads one; nothing if there is no answer.
  std::optional<std::string> ask(const std::string& line);
  void send(os::Bytes message) { write_message(to_, message); }
  std::optional<std::vector<std::byte>> receive() { return read_message(from_); }
  /// Closes the input of the child and waits for its end. Returns its wait status.
  int end();

 private:
  int to_ = -1;
  int from_ = -1;
  int child_ = -1;
};

/// Another process in our tree, which gets arrays and names from us.
class OtherMember {
 public:
  static constexpr char hold_verb = 'h';
  static constexpr char release_verb = 'r';
  static constexpr char array_verb = 'a';

  /// This program, with --receive and the tree as its arguments.
  explicit OtherMember(const std::string& tree);

  void hold(const std::string& path) { ask(hold_verb, os::bytes_of(path)); }
  void release(const std::string& path) { ask(release_verb, os::bytes_of(path)); }
  /// When this returns, the other process has rebuilt the array and released it.
  void send(const std::vector<std::byte>& reduction) { ask(array_verb, reduction); }

 private:
  void ask(char verb, os::Bytes bytes);

  OtherProcess process_;
};

}  // namespace lastref::bench
