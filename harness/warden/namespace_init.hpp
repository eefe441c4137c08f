// NamespaceInit: the first process of a pid namespace. It gives the namespace its own /proc and
// reaps orphans, as the kernel requires. When it dies, the kernel kills all other processes there.
//
// It is not watched and runs without the filter. pid_namespaces(7)
#pragma once

#include <optional>

#include "harness/platform/unique_fd.hpp"

namespace lastref::harness::warden {

class NamespaceInit {
 public:
  /// A process that has ended, by its number in our namespace, and its wait status. waitpid(2)
  struct End {
    int process = 0;
    int status = 0;
  };

  NamespaceInit() noexcept = default;
  NamespaceInit(const NamespaceInit&) = delete;
  NamespaceInit& operator=(const NamespaceInit&) = delete;
  /// Ends the namespace and all processes in it.
  ~NamespaceInit();

  /// As fork(2), but the child is in a new namespace with an init process, which is also our
  /// child. -1 and errno: there can be no such namespace, or it cannot have its own /proc.
  int fork() noexcept;
  /// -1: there is none.
  int process() const noexcept { return process_; }
  /// An orphan that the init process has reaped; absent: none at present. Does not wait.
  std::optional<End> receive() const noexcept;

 private:
  int process_ = -1;
  UniqueFd socket_;
};

}  // namespace lastref::harness::warden
