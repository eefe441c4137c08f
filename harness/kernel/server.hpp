// server: the fork server's loop: a request, a run, a judgement, an answer.
#pragma once

#include <string>

#include "harness/kernel/kernel_world.hpp"

namespace lastref::harness {

/// One message, a length and then bytes, on a blocking stream. False at its end.
bool send_message(int socket, const std::string& message) noexcept;
bool receive_message(int socket, std::string& into) noexcept;

/// The server's whole life. Its first message says what it has to do without; it ends with the
/// stream.
[[noreturn]] void serve_runs(int socket, const KernelOptions& options, const std::string& missing);

}  // namespace lastref::harness
