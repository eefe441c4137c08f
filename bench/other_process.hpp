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
  /// `body` gets what it reads and what it writes, and runs in a fork: system calls only.
  explicit OtherProcess(const std::function<void(int, int)>& body);
  /// A program, with these as its standard input and output.
  explicit OtherProcess(const std::vector<std::string>& arguments);
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;
  /// It reads the end of its input, and is waited for.
  ~OtherProcess();

  /// One byte there and back, so many times. False if nobody answers.
  bool ping_pong(std::size_t count);
  /// A line there, a line back; none if nobody answers.
  std::optional<std::string> ask(const std::string& line);

 private:
  int to_ = -1;
  int from_ = -1;
  int child_ = -1;
};

}  // namespace lastref::bench
