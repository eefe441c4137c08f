// server: the fork server's loop: a request, a run, a judgement, an answer.
#pragma once

#include <string>

#include "harness/kernel/kernel_world.hpp"

namespace lastref::harness {

/// One message, a length and then bytes, on a blocking stream. False at its end.
bool send_message(int socket, const std::string& message) noexcept;
bool receive_message(int socket, std::string& into) noexcept;

/// A server: a fork of this process, in namespaces of its own if that is permitted, and the stream
/// to it. Its life ends with the stream; so does this object's, once its folders are gone.
class ServerProcess {
 public:
  /// Never comes back. `missing` is what it has to do without.
  using Serve = void (*)(int socket, const void* with, const std::string& missing);

  ServerProcess(Serve serve, const void* with);
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;
  ~ServerProcess();

  int pid() const noexcept { return pid_; }
  int socket() const noexcept { return socket_; }

 private:
  int pid_ = -1;
  int socket_ = -1;
};

/// In a server, first of all: the stream is at harness_fd::request from now on, no other descriptor
/// above the standard three is open, and the program's ways to end are not its own.
void settle_in(int socket) noexcept;

/// The server's whole life. Its first message says what it has to do without; it ends with the
/// stream.
[[noreturn]] void serve_runs(int socket, const KernelOptions& options, const std::string& missing);

}  // namespace lastref::harness
