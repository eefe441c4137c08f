// sysv: shared memory, semaphores and message queues of System V, which live until somebody removes
// them. proc_sysvipc(5)
#pragma once

#include <map>
#include <string>

namespace lastref::harness::warden {

/// All that are there, as "shm:5", "sem:0", "msg:7", with the process that made them; 0: the kernel
/// does not say.
std::map<std::string, int> sysv_objects();

}  // namespace lastref::harness::warden
