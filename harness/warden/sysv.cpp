#include "harness/warden/sysv.hpp"

#include <fstream>
#include <sstream>

#include <fmt/format.h>

namespace lastref::harness::warden {

std::map<std::string, int> sysv_objects() {
  std::map<std::string, int> all;
  for (const std::string kind : {"shm", "sem", "msg"}) {
    std::ifstream file("/proc/sysvipc/" + kind);
    std::string line;
    std::getline(file, line);  // The column headers
    while (std::getline(file, line)) {
      // key, id, rights; for shared memory also size and maker
      std::istringstream words(line);
      std::string key, id, rights, size;
      int maker = 0;
      words >> key >> id >> rights;
      if (kind == "shm") {
        words >> size >> maker;
      }
      all[fmt::format("{}:{}", kind, id)] = maker;
    }
  }
  return all;
}

}  // namespace lastref::harness::warden
