// server: the fork server's loop: request, run, judgement, answer.
#pragma once

#include <string>

#include "harness/kernel/kernel_world.hpp"
#include "harness/platform/unique_fd.hpp"

namespace lastref::harness {

/// One message, a length and then bytes, on a blocking stream. False at its end.
bool send_message(int socket, const std::string& message) noexcept;
bool receive_message(int socket, std::string& into) noexcept;

/// A server: a fork of this process, in its own namespaces if permitted, and the stream to it. The
/// server ends with the stream. The destructor returns when the server's folders are removed.
class ServerProcess {
 public:
  /// Never returns. `missing` is what the server lacks.
  using Serve = void (*)(int socket, const void* with, const std::string& missing);

  ServerProcess(Serve serve, const void* with);
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;
  ~ServerProcess();

  int pid() const noexcept { return pid_; }
  int socket() const noexcept { return socket_.get(); }

 private:
  int pid_ = -1;
  UniqueFd socket_;
};

/// Called first in a server. From then on the stream is at harness_fd::request, no other descriptor
/// above the standard three is open, and signals that end the program are ignored.
void settle_in(int socket) noexcept;

/// Runs the server. Its first message lists what it lacks; it ends with the stream.
[[noreturn]] void serve_runs(int socket, const KernelOptions& options, const std::string& missing);

}  // namespace lastref::harness
