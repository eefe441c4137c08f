// Keeper: the first process of a pid namespace, and what the kernel wants of it: it gives the
// namespace a /proc of its own, and asks how those ended whose parents are dead. When it dies, all
// die who are left there.
//
// It is no part of what is watched, and stays outside of the filter. pid_namespaces(7)
#pragma once

#include <optional>

namespace lastref::harness::warden {

class Keeper {
 public:
  /// Who has ended, by the number that we know it by, and how, as waitpid(2) says it.
  struct End {
    int process = 0;
    int status = 0;
  };

  Keeper() noexcept = default;
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;
  /// The end of the namespace, and of who is there.
  ~Keeper();

  /// As fork(2), but the child is in a new namespace with a keeper, who is a child of ours, too.
  /// -1 and errno: there is no such namespace, or nobody may have a /proc of its own.
  int fork() noexcept;
  /// -1: there is none.
  int process() const noexcept { return process_; }
  /// An orphan that it has reaped; none now. Does not wait.
  std::optional<End> hear() const noexcept;

 private:
  int process_ = -1;
  int socket_ = -1;
};

}  // namespace lastref::harness::warden
