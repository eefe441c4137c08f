// OtherMember: another process in our tree, which gets arrays and names from us.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <lastref/os.hpp>

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

class OtherMember {
 public:
  explicit OtherMember(const std::string& tree);
  OtherMember(const OtherMember&) = delete;
  OtherMember& operator=(const OtherMember&) = delete;
  ~OtherMember();

  void hold(const std::string& path);
  void release(const std::string& path);
  /// When this returns, the other process has rebuilt the array and released it.
  void send(const std::vector<std::byte>& reduction);

 private:
  void ask(char verb, os::Bytes bytes);

  int child_ = -1;
  int to_ = -1;
  int from_ = -1;
};

/// Receives arrays, and holds and releases references, for a sender at the other end of standard
/// input and output, until the sender ends.
int receive_for(os::Os& os, const std::string& tree);

}  // namespace lastref::bench
