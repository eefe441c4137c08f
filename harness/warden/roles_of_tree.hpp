// RolesOfTree: names for the processes of a watched tree, the same in every run of a program that
// starts the same processes. The first is "root", its second child "child.2", whose first child
// "child.2.1".
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace lastref::harness::warden {

struct ProcessSeen {
  std::string role;
  std::string title;  ///< When it was seen last
  std::string words;  ///< And its arguments
  int process = 0;
  bool is_title_old = false;  ///< It may run another program by now.
  bool has_ended = false;     ///< By a call of its own
  bool is_gone = false;
  std::string born;  ///< When, as the kernel says; its number may be another's later.
};

class RolesOfTree {
 public:
  explicit RolesOfTree(int root);

  /// Of the process of a thread that waits for the warden. Numbers its parent's children up to it,
  /// those in front of it as well: they may not have called yet.
  /// nullptr: the thread is gone, or nothing can be read of it.
  ProcessSeen* of(int thread);
  /// The process is about to end: its children get their numbers while it is known whose they are.
  void ends(int process);
  /// Forgets the numbers of processes and threads that are gone: they may be others' soon.
  void forget_the_gone();

  /// In the order in which they were first seen.
  std::vector<ProcessSeen> all() const;
  /// The numbers that its processes have, or had.
  std::set<int> ever() const;
  /// Of who lives; "a process" if it was never seen.
  std::string role_of(int process) const;

 private:
  void number_children(int parent);
  ProcessSeen& add(int process, std::string role);

  bool is_known(int process);

  std::map<int, int> process_of_;    ///< Of threads
  std::map<int, std::size_t> seen_;  ///< Where they are in all_
  std::map<int, int> children_;      ///< So many of each process have a number.
  std::deque<ProcessSeen> all_;
  int orphans_ = 0;
};

}  // namespace lastref::harness::warden
