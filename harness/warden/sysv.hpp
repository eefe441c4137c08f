// sysv: shared memory, semaphores and message queues of System V, which exist until a process
// removes them. proc_sysvipc(5)
#pragma once

#include <map>
#include <string>

namespace lastref::harness::warden {

struct SysvObject {
  int key = 0;
  int maker = 0;  ///< The process; 0: the kernel does not report it.
};

/// All existing objects, as "shm:5", "sem:0", "msg:7".
std::map<std::string, SysvObject> sysv_objects();

}  // namespace lastref::harness::warden
