// SysvMakers: which calls of a watched tree made objects of System V. A call gives a key and no
// name, so the objects are compared before and after it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "harness/warden/names_ledger.hpp"
#include "harness/warden/sysv.hpp"

namespace lastref::harness::warden {

/// A call that may make an object, such as msgget(2).
struct SysvCall {
  int thread = 0;
  int process = 0;
  std::string kind;  ///< "shm", "sem", "msg"
  int key = 0;
  std::string maker;  ///< "child.1/msgget()#1"
};

class SysvMakers {
 public:
  /// The call is about to be made.
  void makes(SysvCall call);
  /// The call of this thread is over.
  void settle(int thread);
  /// What the tree made and exists now, after all calls have ended.
  std::vector<Leftover> leftovers();
  /// The semaphores that the tree made without a key: other programs do not find them.
  std::set<int> own_semaphores();

 private:
  /// Gives each new object to the call that may have made it. An object that no call may have made
  /// is one of another program.
  void match();

  std::map<std::string, SysvObject> known_ = sysv_objects();
  std::vector<SysvCall> calls_;  ///< Those that may not have ended, in their order
  std::map<std::string, std::string> makers_;
};

}  // namespace lastref::harness::warden
