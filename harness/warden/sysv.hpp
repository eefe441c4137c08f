// sysv: shared memory, semaphores and message queues of System V, which exist until a process
// removes them. proc_sysvipc(5)
#pragma once

#include <map>
#include <string>

namespace lastref::harness::warden {

/// All existing objects, as "shm:5", "sem:0", "msg:7", with the process that made them; 0: the
/// kernel does not report it.
std::map<std::string, int> sysv_objects();

}  // namespace lastref::harness::warden
