// OtherProcess: a child that answers through a pair of pipes, for comparisons in the same run.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lastref::bench {

class OtherProcess {
 public:
  /// `body` gets the descriptors to read and to write. It runs in a fork: system calls only.
  explicit OtherProcess(const std::function<void(int, int)>& body);
  /// A program, with the pipes as its standard input and output.
  explicit OtherProcess(const std::vector<std::string>& arguments);
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;
  /// Closes the input of the child and waits for its end.
  ~OtherProcess();

  /// Sends one byte and reads one, `count` times. False if there is no answer.
  bool ping_pong(std::size_t count);
  /// Sends a line and reads one; nothing if there is no answer.
  std::optional<std::string> ask(const std::string& line);

 private:
  int to_ = -1;
  int from_ = -1;
  int child_ = -1;
};

}  // namespace lastref::bench
