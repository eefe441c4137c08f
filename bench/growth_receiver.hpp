// OtherMember: a process that is a member of our tree, and gets arrays and names from us.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <lastref/os.hpp>

namespace lastref::bench {

/// Ends this program, with what went wrong on standard error. A bench that measures something else
/// than it says is worse than none.
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

/// A message through a pipe, whole; none at its end.
void write_message(int fd, os::Bytes message);
std::optional<std::vector<std::byte>> read_message(int fd);

class OtherMember {
 public:
  explicit OtherMember(const std::string& tree);
  OtherMember(const OtherMember&) = delete;
  OtherMember& operator=(const OtherMember&) = delete;
  ~OtherMember();

  void hold(const std::string& path);
  void release(const std::string& path);
  /// It has rebuilt the array when this returns, and lets go of it then.
  void send(const std::vector<std::byte>& reduction);

 private:
  void ask(char verb, os::Bytes bytes);

  int child_ = -1;
  int to_ = -1;
  int from_ = -1;
};

/// Receives arrays, and takes and gives back references, for a sender at the other end of standard
/// input and output, until that has gone.
int receive_for(os::Os& os, const std::string& tree);

}  // namespace lastref::bench
